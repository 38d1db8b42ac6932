//! Grants: temporary permissions that an operator can see and revoke. A grant is for one tool and one caller, for matching
//! arguments, until it expires.
//!
//! The ledger stores a grant and knows whether it is in force. The pattern of the arguments is text to the ledger: the server
//! decides which calls match.

use std::time::Duration;

use crate::id::{Binding, GrantId, Moment, Scope};

/// A grant to be given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewGrant {
    /// The caller, the server, the instance and the tool. Nothing in it is a pattern.
    pub scope: Scope,
    /// What else the grant is bound to: the binding of the approval request that it is made from. If the tool changes, the
    /// reviewer is asked again.
    pub binding: Binding,
    /// The pattern of the arguments, in the server's words.
    pub pattern: String,
    /// The reviewer that gives it.
    pub by: String,
    /// How long it is in force.
    pub lasts: Duration,
}

/// A grant, as stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// The id of the grant.
    pub id: GrantId,
    /// The caller, the server, the instance and the tool.
    pub scope: Scope,
    /// What else the grant is bound to. `None` if a program of schema 1.2 gave it, which did not bind grants. Such a grant
    /// covers no call.
    pub binding: Option<Binding>,
    /// The pattern of the arguments, in the server's words.
    pub pattern: String,
    /// The reviewer that gave it.
    pub by: String,
    /// When it was given, on the store's clock.
    pub since: Moment,
    /// When it expires, unless an operator revokes it.
    pub until: Moment,
    /// The operator that revoked it, and when.
    pub revoked: Option<(String, Moment)>,
}

impl Grant {
    /// Creates a grant that is in force from `now` on.
    pub(crate) fn new(id: GrantId, granting: NewGrant, now: Moment) -> Self {
        let NewGrant { scope, binding, pattern, by, lasts } = granting;
        let (since, until) = (now, now.after(lasts));
        Self { id, scope, binding: Some(binding), pattern, by, since, until, revoked: None }
    }

    /// Returns true if the grant is for a tool with this binding. A grant without a binding covers nothing.
    #[must_use]
    pub fn covers(&self, binding: Binding) -> bool {
        self.binding.is_some_and(|bound| bound.is_about(&binding))
    }

    /// Returns true if the grant is in force, whatever it covers. It is not, if the clock is set back to before the grant was
    /// given.
    #[must_use]
    pub fn is_in_force(&self, now: Moment) -> bool {
        self.revoked.is_none() && self.since <= now && now <= self.until
    }
}
