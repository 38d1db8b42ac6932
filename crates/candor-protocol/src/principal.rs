//! The identity of a caller.

use std::fmt;
use std::sync::Arc;

/// The name of every caller without credentials.
const ANONYMOUS: &str = "anonymous";

/// The identity of a caller.
///
/// Everything that must not leak from one caller to another (lists, keys, approvals, history) is bound to the principal. It
/// comes from an authenticator or from the operating system, never from a message.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Principal(Arc<str>);

impl Principal {
    /// Creates a principal by name.
    pub fn new(name: impl Into<Arc<str>>) -> Self {
        Self(name.into())
    }

    /// Returns the principal of all callers of an HTTP endpoint that has no authenticator.
    #[must_use]
    pub fn anonymous() -> Self {
        Self::new(ANONYMOUS)
    }

    /// Returns true if the caller has no credentials, so that it may be anyone.
    #[must_use]
    pub fn is_anonymous(&self) -> bool {
        &*self.0 == ANONYMOUS
    }

    /// Returns the name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Principal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
