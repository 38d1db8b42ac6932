//! The caller of a request, as an authenticator knows it.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use candor_protocol::Principal;

/// The caller of a request: its principal, and what else the authenticator knows about it.
///
/// ```
/// use candor_server::auth::Identity;
/// use candor_server::protocol::Principal;
///
/// struct Staff {
///     team: String,
/// }
///
/// let ada = Identity::new(Principal::new("ada")).with_claims(Staff { team: "billing".to_owned() });
/// assert_eq!(ada.claims::<Staff>().unwrap().team, "billing");
/// ```
#[derive(Debug, Clone)]
pub struct Identity {
    /// The name that keys, approvals and history are bound to.
    pub principal: Principal,
    /// What else the authenticator knows.
    pub claims: Claims,
}

impl Identity {
    /// Returns an identity without claims.
    #[must_use]
    pub fn new(principal: Principal) -> Self {
        Self { principal, claims: Claims::default() }
    }

    /// Adds what else the authenticator knows, as one value of any type. Handlers read it with [`Ctx::claims`](crate::Ctx::claims).
    #[must_use]
    pub fn with_claims<T: Send + Sync + 'static>(mut self, claims: T) -> Self {
        self.claims = Claims(Some(Arc::new(claims)));
        self
    }

    /// Returns the claims, if they have this type.
    #[must_use]
    pub fn claims<T: 'static>(&self) -> Option<&T> {
        self.claims.get()
    }
}

impl From<Principal> for Identity {
    fn from(principal: Principal) -> Self {
        Self::new(principal)
    }
}

/// What an authenticator knows about a caller besides its principal: one value of any type, or nothing. Cloning shares it.
#[derive(Clone, Default)]
pub struct Claims(Option<Arc<dyn Any + Send + Sync>>);

impl Claims {
    /// Returns the value, if it has this type.
    #[must_use]
    pub fn get<T: 'static>(&self) -> Option<&T> {
        self.0.as_ref()?.downcast_ref()
    }
}

impl fmt::Debug for Claims {
    /// Omits the value, because it may hold a secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Claims(…)" } else { "Claims(none)" })
    }
}
