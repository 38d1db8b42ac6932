//! A standing permission that a person can see and take back: this tool, for this caller, with arguments like these, until then.
//!
//! The ledger keeps it and knows whether it is in force; what "like these" means is text to it, and the server's to judge.

use std::time::Duration;

use crate::id::{Binding, GrantId, Moment, Scope};

/// What a person would permit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewGrant {
    /// Which tool, where, for which caller. Nothing in it is a pattern.
    pub scope: Scope,
    /// What it is bound to beyond that: the binding of the question that it is made from. When the tool has become another, a person is
    /// asked again.
    pub binding: Binding,
    /// Which arguments, in the server's words.
    pub pattern: String,
    /// Who permits it.
    pub by: String,
    /// For how long.
    pub lasts: Duration,
}

/// What a person has permitted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// Its name.
    pub id: GrantId,
    /// Which tool, where, for which caller.
    pub scope: Scope,
    /// What it is bound to. `None`: a program of schema 1.2 has given it, which bound grants to nothing; it covers no call.
    pub binding: Option<Binding>,
    /// Which arguments, in the server's words.
    pub pattern: String,
    /// Who has permitted it.
    pub by: String,
    /// When, on the store's clock.
    pub since: Moment,
    /// How long it is in force, unless it is taken back.
    pub until: Moment,
    /// Who has taken it back and when, if somebody has.
    pub revoked: Option<(String, Moment)>,
}

impl Grant {
    /// As it is given now.
    pub(crate) fn new(id: GrantId, granting: NewGrant, now: Moment) -> Self {
        let NewGrant { scope, binding, pattern, by, lasts } = granting;
        let (since, until) = (now, now.after(lasts));
        Self { id, scope, binding: Some(binding), pattern, by, since, until, revoked: None }
    }

    /// Whether it is for a tool that stands like this. What nobody has bound is for none.
    #[must_use]
    pub fn covers(&self, binding: Binding) -> bool {
        self.binding.is_some_and(|bound| bound.is_about(&binding))
    }

    /// Whether it is in force, for whatever it covers. A clock that is set back to before it was given does not help it.
    #[must_use]
    pub fn is_in_force(&self, now: Moment) -> bool {
        self.revoked.is_none() && self.since <= now && now <= self.until
    }
}
