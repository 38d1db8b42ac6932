//! Where in the arguments to look.

use std::fmt;

use serde_json::Value;

/// A JSON Pointer that names a member of the arguments: `/action`, `/target/path`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Pointer(String);

impl Pointer {
    /// The value there, if there is one. `null` is none: it says as little.
    #[must_use]
    pub fn find<'a>(&self, arguments: &'a Value) -> Option<&'a Value> {
        arguments.pointer(&self.0).filter(|value| !value.is_null())
    }

    /// The name of the argument, if the pointer names an argument itself.
    #[must_use]
    pub fn argument(&self) -> Option<&str> {
        self.0.strip_prefix('/').filter(|name| !name.contains(['/', '~']))
    }

    /// The pointer as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&str> for Pointer {
    /// From a pointer, or from the bare name of an argument.
    fn from(text: &str) -> Self {
        if text.starts_with('/') {
            Self(text.to_owned())
        } else {
            Self(format!("/{}", text.replace('~', "~0").replace('/', "~1")))
        }
    }
}

impl fmt::Display for Pointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
