//! Authentication of callers over HTTP.

use std::collections::{HashMap, HashSet};
use std::fmt;

use candor_protocol::Principal;
use futures_util::future::BoxFuture;
use http::HeaderValue;
use http::header::AUTHORIZATION;
use http::request::Parts;
use sha2::{Digest, Sha256};

pub use candor_engine::{Claims, Identity};
/// The types of an HTTP request's head, which an [`Authenticator`] reads.
pub use http;

/// Finds the caller of a request, or refuses it. For [`Server::authenticator`](crate::Server::authenticator).
///
/// ```
/// use candor_server::auth::http::{HeaderValue, request::Parts};
/// use candor_server::auth::{Authenticator, Identity, Unauthorized};
/// use candor_server::{BoxFuture, protocol::Principal};
///
/// /// What the proxy knows about a user. A handler reads it with `ctx.claims::<Staff>()`.
/// struct Staff {
///     team: String,
/// }
///
/// /// A proxy in front has authenticated the user, and nothing else can reach this server.
/// struct Proxy;
///
/// impl Authenticator for Proxy {
///     fn authenticate<'a>(&'a self, request: &'a Parts) -> BoxFuture<'a, Result<Identity, Unauthorized>> {
///         let header = |name| request.headers.get(name).and_then(|value| value.to_str().ok());
///         let team = header("x-team").unwrap_or_default().to_owned();
///         let user = header("x-user").map(|name| Identity::new(Principal::new(name)).with_claims(Staff { team }));
///         let challenge = HeaderValue::from_static("Bearer");
///         Box::pin(async move { user.ok_or(Unauthorized { challenge }) })
///     }
///
///     fn is_operator(&self, principal: &Principal) -> bool {
///         principal.as_str() == "olga"
///     }
/// }
/// ```
pub trait Authenticator: Send + Sync + 'static {
    /// Finds the caller from the request's head.
    fn authenticate<'a>(
        &'a self,
        request: &'a Parts,
    ) -> BoxFuture<'a, Result<Identity, Unauthorized>>;

    /// Returns true if a principal may answer approval requests and read the history of all callers. By default, no principal may.
    fn is_operator(&self, principal: &Principal) -> bool {
        let _ = principal;
        false
    }
}

/// A request without a known principal. The server answers with 401 and this challenge.
#[derive(Debug, Clone)]
pub struct Unauthorized {
    /// The `WWW-Authenticate` header.
    pub challenge: HeaderValue,
}

/// Static bearer tokens. Only their hashes are stored.
///
/// ```
/// use candor_server::auth::BearerTokens;
///
/// let tokens = BearerTokens::from_lines("alice sha256:2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b")?;
/// # Ok::<(), candor_server::auth::TokenError>(())
/// ```
#[derive(Clone, Default)]
pub struct BearerTokens {
    by_hash: HashMap<[u8; 32], Principal>,
    operators: HashSet<Principal>,
}

/// The principal of a user with the launch token of a console.
pub const OPERATOR: &str = "operator";

/// The prefix of principals over stdio on Unix. The user's number follows.
pub const UID: &str = "uid:";

/// The prefix of principals over stdio where users have no numbers. The user's name follows.
pub const USER: &str = "user:";

/// Returns the owner of a name that only the server itself may assign, or `None` for other names. A token with such a name would be
/// taken for that owner, in every ledger that both write to.
///
/// ```
/// use candor_server::auth::reserved;
///
/// assert_eq!(reserved("uid:1000"), Some("a user of the operating system, who calls over stdio"));
/// assert_eq!(reserved("alice"), None);
/// ```
#[must_use]
pub fn reserved(name: &str) -> Option<&'static str> {
    if name == OPERATOR {
        Some("the holder of the console's launch token")
    } else if Principal::new(name).is_anonymous() {
        Some("a caller without a token")
    } else if [UID, USER].iter().any(|prefix| name.starts_with(prefix)) {
        Some("a user of the operating system, who calls over stdio")
    } else {
        None
    }
}

/// An invalid line: not `NAME sha256:HEX`, or with a reserved name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenError {
    line: usize,
    /// The reserved name, and its owner.
    reserved: Option<(String, &'static str)>,
}

impl fmt::Display for TokenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((name, whose)) = &self.reserved {
            return write!(
                f,
                "line {}: {name} is a name of the server's own, for {whose}; give the token another",
                self.line
            );
        }
        write!(
            f,
            "line {} is not `NAME sha256:` and 64 hexadecimal digits, and perhaps `operator`; make one with `candor token NAME`",
            self.line
        )
    }
}

impl std::error::Error for TokenError {}

impl BearerTokens {
    /// Parses lines of `NAME sha256:HEX`, with `operator` at the end for a principal that is an operator. Skips empty lines and `#`
    /// comments.
    pub fn from_lines(text: &str) -> Result<Self, TokenError> {
        let mut tokens = Self::default();
        for (i, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let refuse = TokenError { line: i + 1, reserved: None };
            let (line, operator) = match line.strip_suffix("operator") {
                Some(rest) if rest.ends_with(char::is_whitespace) => (rest.trim_end(), true),
                _ => (line, false),
            };
            let (name, hash) = entry(line).ok_or(refuse)?;
            if let Some(whose) = reserved(name) {
                return Err(TokenError { line: i + 1, reserved: Some((name.to_owned(), whose)) });
            }
            tokens.by_hash.insert(hash, Principal::new(name));
            if operator {
                tokens.operators.insert(Principal::new(name));
            }
        }
        Ok(tokens)
    }

    /// Accepts a token.
    #[must_use]
    pub fn token(mut self, token: &str, principal: Principal) -> Self {
        self.by_hash.insert(hash(token), principal);
        self
    }

    /// Makes a principal an operator.
    #[must_use]
    pub fn operator(mut self, principal: Principal) -> Self {
        self.operators.insert(principal);
        self
    }

    /// Returns the line for a token that [`BearerTokens::from_lines`] parses.
    #[must_use]
    pub fn line(name: &str, token: &str) -> String {
        let hex: String = hash(token).iter().map(|byte| format!("{byte:02x}")).collect();
        format!("{name} sha256:{hex}")
    }

    /// Returns true if no token is accepted.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.by_hash.is_empty()
    }
}

fn entry(line: &str) -> Option<(&str, [u8; 32])> {
    let (name, hash) = line.split_once(char::is_whitespace)?;
    let hex = hash.trim().strip_prefix("sha256:")?;
    if hex.len() != 64 || !hex.is_ascii() {
        return None;
    }
    let mut bytes = [0; 32];
    for (byte, pair) in bytes.iter_mut().zip(hex.as_bytes().chunks_exact(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
    }
    Some((name, bytes))
}

/// Hashes a token. Tokens are long and random, so a plain hash is enough. The lookup by hash leaks nothing about the token through
/// its timing.
fn hash(token: &str) -> [u8; 32] {
    Sha256::digest(token.as_bytes()).into()
}

impl Authenticator for BearerTokens {
    fn authenticate<'a>(
        &'a self,
        request: &'a Parts,
    ) -> BoxFuture<'a, Result<Identity, Unauthorized>> {
        let mut headers = request.headers.get_all(AUTHORIZATION).iter();
        let sent = match (headers.next(), headers.next()) {
            (Some(header), None) => bearer_token(header),
            _ => None,
        };
        let principal = sent.and_then(|token| self.by_hash.get(&hash(token)));
        let challenge = if request.headers.contains_key(AUTHORIZATION) {
            r#"Bearer realm="candor", error="invalid_token""#
        } else {
            r#"Bearer realm="candor""#
        };
        let refused = Unauthorized { challenge: HeaderValue::from_static(challenge) };
        let identity = principal.cloned().map(Identity::new).ok_or(refused);
        Box::pin(std::future::ready(identity))
    }

    fn is_operator(&self, principal: &Principal) -> bool {
        self.operators.contains(principal)
    }
}

/// Returns the token in a header `Authorization`.
#[doc(hidden)] // for the console, which has tokens of its own
#[must_use]
pub fn bearer_token(header: &HeaderValue) -> Option<&str> {
    let (scheme, token) = header.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

impl fmt::Debug for BearerTokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BearerTokens({})", self.by_hash.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn token_file_marks_operators() {
        let line = BearerTokens::line("olga", "secret");
        let tokens = BearerTokens::from_lines(&format!(
            "{line} operator\n{}\n",
            BearerTokens::line("alice", "other")
        ))
        .unwrap();
        assert!(tokens.is_operator(&Principal::new("olga")));
        assert!(!tokens.is_operator(&Principal::new("alice")));
        assert!(BearerTokens::from_lines(&format!("{line} operators")).is_err());
    }
}
