//! Who is asking.

use std::fmt;
use std::sync::Arc;

/// The name of nobody in particular.
const ANONYMOUS: &str = "anonymous";

/// The party on whose behalf a request is made.
///
/// Everything that must not leak from one party to another (lists, keys, approvals, history) is
/// bound to it. It comes from an authenticator or from the operating system, never from a message.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Principal(Arc<str>);

impl Principal {
    /// A principal by name.
    pub fn new(name: impl Into<Arc<str>>) -> Self {
        Self(name.into())
    }

    /// Whoever reaches an HTTP endpoint that has no authenticator.
    #[must_use]
    pub fn anonymous() -> Self {
        Self::new(ANONYMOUS)
    }

    /// Whether it is nobody in particular: no credential stands behind it, so anybody may be who asks.
    #[must_use]
    pub fn is_anonymous(&self) -> bool {
        &*self.0 == ANONYMOUS
    }

    /// The name.
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
