//! Which operations, and which rows of the audit: what a person asks for, and what the ledger's own filter cannot tell.

use std::str::FromStr;

use candor_ledger::{AuditRow, Entry, Filter, Moment, OutcomeKind, State, StateKind};

use super::words;

/// Which of many.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Filters {
    /// Of this tool.
    pub tool: Option<String>,
    /// Of this caller.
    pub principal: Option<String>,
    /// Under this key.
    pub key: Option<String>,
    /// Those that stand so; of rows of the audit, those by which one came to stand so.
    pub state: Option<Standing>,
    /// Last changed then or later.
    pub since: Option<Moment>,
    /// Last changed earlier than that.
    pub before: Option<Moment>,
}

/// Where an operation may stand, in the words of a list; the ledger's own words do, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// It did what it was asked.
    Done,
    /// It failed, and said so.
    Failed,
    /// It ended, but its result breaks its own schema.
    Invalid,
    /// Any of the three.
    Ended,
    /// About to start.
    Starting,
    /// It runs.
    Running,
    /// A person is asked whether it may start.
    Waiting,
    /// A person has said yes, and it has not started yet.
    Approved,
    /// A person has said no.
    Denied,
    /// It has asked something.
    Asking,
    /// It was started, and nobody knows what came of it.
    Unknown,
    /// An operator closed it.
    Abandoned,
    /// It ended; its result is no longer kept, its key still refused.
    Expired,
    /// Nothing happened: it may be started.
    NotDone,
}

impl Standing {
    /// All of them, with the word for each, the ledger's own word where that is another one, and what it means.
    pub const ALL: [(Self, &str, Option<&str>, &str); 14] = [
        (Self::Done, "done", None, "It did what it was asked"),
        (Self::Failed, "failed", None, "It failed, and said so"),
        (Self::Invalid, "invalid", None, "It ended, but its result breaks its own schema"),
        (Self::Ended, "ended", Some("completed"), "Any of the three"),
        (Self::Starting, "starting", Some("claimed"), "About to start"),
        (Self::Running, "running", Some("dispatched"), "It runs"),
        (Self::Waiting, "waiting", None, "A person is asked whether it may start"),
        (Self::Approved, "approved", None, "A person has said yes, and it has not started yet"),
        (Self::Denied, "denied", None, "A person has said no"),
        (Self::Asking, "asking", Some("suspended"), "It has asked something"),
        (
            Self::Unknown,
            "unknown",
            Some("indeterminate"),
            "It was started, and nobody knows what came of it",
        ),
        (Self::Abandoned, "abandoned", None, "An operator closed it"),
        (
            Self::Expired,
            "expired",
            Some("tombstone"),
            "It ended; its result is no longer kept, its key still refused",
        ),
        (Self::NotDone, "not-done", Some("open"), "Nothing happened: it may be started"),
    ];

    fn kind(self) -> StateKind {
        match self {
            Self::Done | Self::Failed | Self::Invalid | Self::Ended => StateKind::Completed,
            Self::Starting => StateKind::Claimed,
            Self::Running => StateKind::Dispatched,
            Self::Waiting => StateKind::Waiting,
            Self::Approved => StateKind::Approved,
            Self::Denied => StateKind::Denied,
            Self::Asking => StateKind::Suspended,
            Self::Unknown => StateKind::Indeterminate,
            Self::Abandoned => StateKind::Abandoned,
            Self::Expired => StateKind::Tombstone,
            Self::NotDone => StateKind::Open,
        }
    }

    fn has(self, outcome: OutcomeKind) -> bool {
        match self {
            Self::Done => outcome == OutcomeKind::Success,
            Self::Failed => outcome == OutcomeKind::Failure,
            Self::Invalid => outcome == OutcomeKind::Invalid,
            Self::Ended => true,
            _ => false,
        }
    }

    /// Whether calls that failed are among them.
    fn has_failed(self) -> bool {
        matches!(self, Self::Failed | Self::Ended)
    }
}

impl FromStr for Standing {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found =
            Self::ALL.iter().find(|(_, word, alias, _)| *word == text || *alias == Some(text));
        found.map(|(standing, ..)| *standing).ok_or_else(|| {
            let words: Vec<_> = Self::ALL.iter().map(|(_, word, ..)| *word).collect();
            format!("it is one of {}", words.join(", "))
        })
    }
}

impl Filters {
    /// For records.
    #[must_use]
    pub fn of_records(&self) -> Filter {
        // The stored state of a call that failed without an effect is `open`, so failures are found by [`Filters::has_entry`].
        let state = self.state.filter(|standing| !standing.has_failed());
        Filter { state: state.map(Standing::kind), ..self.of_any() }
    }

    /// The same, of which nobody knows.
    #[must_use]
    pub fn of_unknown(&self) -> Filter {
        Filter { state: Some(StateKind::Indeterminate), ..self.of_any() }
    }

    /// For rows. One that ended without a record has an outcome and no state, so those are told by [`Filters::has_row`].
    #[must_use]
    pub fn of_rows(&self) -> Filter {
        let state = self.state.map(Standing::kind);
        Filter { state: state.filter(|kind| *kind != StateKind::Completed), ..self.of_any() }
    }

    fn of_any(&self) -> Filter {
        let Self { tool, principal, key, since, before, .. } = self.clone();
        Filter { since, before, principal, tool, state: None, key }
    }

    /// Whether a record that the ledger's filter has let through is meant.
    #[must_use]
    pub fn has_entry(&self, entry: &Entry) -> bool {
        // Its time is over: it is only not swept yet.
        let Some(record) = &entry.seen else { return false };
        let Some(standing) = self.state else { return true };
        match &record.state {
            State::Completed { outcome, .. } => standing.has(outcome.kind),
            _ if words::has_failed(record) => standing.has_failed(),
            state => standing.kind() == state.kind(),
        }
    }

    /// The same for a row.
    #[must_use]
    pub fn has_row(&self, row: &AuditRow) -> bool {
        match self.state {
            Some(standing) if standing.kind() == StateKind::Completed => {
                let has_failed = row.event == "discard" && row.circumstances.error.is_some();
                row.outcome.is_some_and(|outcome| standing.has(outcome))
                    || (has_failed && standing.has_failed())
            }
            _ => true,
        }
    }
}
