//! The name of a replica, which is the prefix of its legacy session ids.

use std::fmt;
use std::str::FromStr;

/// The name of one of several processes behind a proxy: up to 32 letters, digits, `-` and `_`.
///
/// A legacy session lives in one process. Its id begins with the name and a dot, so a proxy can route each request to its process.
///
/// ```
/// use candor_server::transport::http::Replica;
///
/// assert_eq!("a".parse::<Replica>().map(|name| name.to_string()), Ok("a".to_owned()));
/// assert!("a.b".parse::<Replica>().is_err(), "the dot ends the name");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replica(String);

/// Bounds the length of session ids, which proxies compare.
const LONGEST: usize = 32;

impl Replica {
    /// Returns a session id of this replica.
    pub(super) fn session_id(&self, random: &str) -> String {
        format!("{}.{random}", self.0)
    }
}

impl FromStr for Replica {
    type Err = &'static str;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
        match name {
            "" => Err("it is empty; give each replica a name, such as a"),
            name if name.len() > LONGEST => Err("it has more than 32 characters"),
            name if name.chars().all(is_plain) => Ok(Self(name.to_owned())),
            _ => Err("it may have letters, digits, - and _"),
        }
    }
}

impl fmt::Display for Replica {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
