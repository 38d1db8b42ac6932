//! A standing permission that a person can see and take back: this tool, for this caller, with arguments like these, until then.
//!
//! The ledger keeps it and knows whether it is in force; what "like these" means is text to it, and the server's to judge.

use std::time::Duration;

use crate::id::{GrantId, Moment, Scope};

/// What a person would permit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Granting {
    /// Which tool, where, for which caller. Nothing in it is a pattern.
    pub scope: Scope,
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
    pub(crate) fn new(id: GrantId, granting: Granting, now: Moment) -> Self {
        let Granting { scope, pattern, by, lasts } = granting;
        Self { id, scope, pattern, by, since: now, until: now.after(lasts), revoked: None }
    }

    /// Whether it is in force. A clock that is set back to before it was given does not help it.
    #[must_use]
    pub fn is_in_force(&self, now: Moment) -> bool {
        self.revoked.is_none() && self.since <= now && now <= self.until
    }
}
