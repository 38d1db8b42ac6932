//! The words for the state of an operation and for its outcome. REST, the pages and the command line all take them from here.
//!
//! The ledger stores other words. They stay inside it, so a ledger of an earlier version needs no migration.

use std::fmt;
use std::str::FromStr;

use candor_ledger::{OutcomeKind, Record, RecordState, StateKind};

/// The state of an operation, as users see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum StateWord {
    /// Nothing has run.
    NotRun,
    /// A reviewer must approve the call before it starts.
    ApprovalRequired,
    /// A reviewer approved the call, and it has not started.
    Approved,
    /// A reviewer denied the call.
    Denied,
    /// The server is about to start the handler.
    Starting,
    /// The handler runs.
    Running,
    /// The handler waits for an answer of the caller's client.
    InputRequired,
    /// The call ended with a result.
    Succeeded,
    /// The call ended with an error.
    Failed,
    /// The call ended with a result that its output schema does not allow.
    ResultInvalid,
    /// The handler started, and no result is recorded.
    OutcomeUnknown,
    /// The call ended, and its result is no longer stored.
    ResultExpired,
    /// An operator closed the operation without an outcome.
    Abandoned,
    /// The record is no longer stored.
    Purged,
}

/// The texts for a state: the word for programs, the label for users, and the meaning.
struct Words {
    word: &'static str,
    label: &'static str,
    meaning: &'static str,
}

impl StateWord {
    /// All states, in the order of a list of filters.
    pub const ALL: [Self; 14] = [
        Self::Succeeded,
        Self::Failed,
        Self::ResultInvalid,
        Self::NotRun,
        Self::ApprovalRequired,
        Self::Approved,
        Self::Denied,
        Self::Starting,
        Self::Running,
        Self::InputRequired,
        Self::OutcomeUnknown,
        Self::ResultExpired,
        Self::Abandoned,
        Self::Purged,
    ];

    const fn words(self) -> Words {
        let (word, label, meaning) = match self {
            Self::NotRun => ("not_run", "Not run", "Nothing has run"),
            Self::ApprovalRequired => {
                ("approval_required", "Needs approval", "A reviewer must approve the call")
            }
            Self::Approved => (
                "approved",
                "Approved, not started",
                "A reviewer approved the call, and it has not started",
            ),
            Self::Denied => ("denied", "Denied", "A reviewer denied the call"),
            Self::Starting => ("starting", "Starting", "The server is about to start the handler"),
            Self::Running => ("running", "Running", "The handler runs"),
            Self::InputRequired => (
                "input_required",
                "Needs input",
                "The handler waits for an answer of the caller's client",
            ),
            Self::Succeeded => ("succeeded", "Succeeded", "The call ended with a result"),
            Self::Failed => ("failed", "Failed", "The call ended with an error"),
            Self::ResultInvalid => {
                ("result_invalid", "Invalid result", "The result breaks the tool's output schema")
            }
            Self::OutcomeUnknown => (
                "outcome_unknown",
                "Outcome unknown",
                "The handler started, and no result is recorded",
            ),
            Self::ResultExpired => (
                "result_expired",
                "Result expired",
                "The result is no longer stored, and the key is still refused",
            ),
            Self::Abandoned => {
                ("abandoned", "Abandoned", "An operator closed the operation without an outcome")
            }
            Self::Purged => ("purged", "Purged", "The record is no longer stored"),
        };
        Words { word, label, meaning }
    }

    /// Returns the word for programs.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        self.words().word
    }

    /// Returns the label for users.
    #[must_use]
    pub const fn label(self) -> &'static str {
        self.words().label
    }

    /// Returns what the state means, in a sentence without a period.
    #[must_use]
    pub const fn meaning(self) -> &'static str {
        self.words().meaning
    }

    /// Returns the state of a record. `None`: the record is no longer stored.
    #[must_use]
    pub fn of(record: Option<&Record>) -> Self {
        let Some(record) = record else { return Self::Purged };
        match &record.state {
            RecordState::Completed { outcome, .. } => Self::of_outcome(outcome.kind),
            _ if has_failed(record) => Self::Failed,
            state => Self::of_kind(state.kind()).unwrap_or(Self::Succeeded),
        }
    }

    /// Returns the state of this outcome.
    #[must_use]
    pub const fn of_outcome(outcome: OutcomeKind) -> Self {
        match outcome {
            OutcomeKind::Success => Self::Succeeded,
            OutcomeKind::Failure => Self::Failed,
            OutcomeKind::Invalid => Self::ResultInvalid,
        }
    }

    /// Returns the state of a stored kind. `None`: it is complete, so its outcome determines the state.
    #[must_use]
    pub const fn of_kind(kind: StateKind) -> Option<Self> {
        Some(match kind {
            StateKind::Absent => Self::Purged,
            StateKind::Open => Self::NotRun,
            StateKind::Waiting => Self::ApprovalRequired,
            StateKind::Approved => Self::Approved,
            StateKind::Denied => Self::Denied,
            StateKind::Claimed => Self::Starting,
            StateKind::Dispatched => Self::Running,
            StateKind::Suspended => Self::InputRequired,
            StateKind::Completed => return None,
            StateKind::Indeterminate => Self::OutcomeUnknown,
            StateKind::Tombstone => Self::ResultExpired,
            StateKind::Abandoned => Self::Abandoned,
        })
    }

    /// Returns the stored kind of the state.
    #[must_use]
    pub const fn kind(self) -> StateKind {
        match self {
            Self::NotRun => StateKind::Open,
            Self::ApprovalRequired => StateKind::Waiting,
            Self::Approved => StateKind::Approved,
            Self::Denied => StateKind::Denied,
            Self::Starting => StateKind::Claimed,
            Self::Running => StateKind::Dispatched,
            Self::InputRequired => StateKind::Suspended,
            Self::Succeeded | Self::Failed | Self::ResultInvalid => StateKind::Completed,
            Self::OutcomeUnknown => StateKind::Indeterminate,
            Self::ResultExpired => StateKind::Tombstone,
            Self::Abandoned => StateKind::Abandoned,
            Self::Purged => StateKind::Absent,
        }
    }
}

/// Writes the label.
impl fmt::Display for StateWord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.label())
    }
}

/// The word for every call that ended, whatever its outcome.
pub const COMPLETED: &str = "completed";

/// Returns the word for programs of a stored kind, with the outcome if it is known.
#[must_use]
pub fn word(kind: StateKind, outcome: Option<OutcomeKind>) -> &'static str {
    let state = StateWord::of_kind(kind).or_else(|| outcome.map(StateWord::of_outcome));
    state.map_or(COMPLETED, StateWord::as_str)
}

/// Returns the label of a stored kind, without its outcome.
#[must_use]
pub fn label(kind: StateKind) -> &'static str {
    StateWord::of_kind(kind).map_or("Completed", StateWord::label)
}

/// Returns the word for programs of an outcome.
#[must_use]
pub const fn outcome(kind: OutcomeKind) -> &'static str {
    StateWord::of_outcome(kind).as_str()
}

/// Returns true if the last attempt failed without an effect, so that the key may be used again.
#[must_use]
pub fn has_failed(record: &Record) -> bool {
    matches!(record.state, RecordState::Open { .. }) && record.error.is_some()
}

/// The states that a list shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StateFilter {
    /// Operations in this state.
    Is(StateWord),
    /// Operations that ended, whatever the outcome.
    Completed,
}

/// Words that a filter accepts besides its own: those that a ledger stores, and those of earlier versions.
const ALIASES: [(&str, StateFilter); 14] = [
    ("open", StateFilter::Is(StateWord::NotRun)),
    ("not-done", StateFilter::Is(StateWord::NotRun)),
    ("waiting", StateFilter::Is(StateWord::ApprovalRequired)),
    ("claimed", StateFilter::Is(StateWord::Starting)),
    ("dispatched", StateFilter::Is(StateWord::Running)),
    ("suspended", StateFilter::Is(StateWord::InputRequired)),
    ("asking", StateFilter::Is(StateWord::InputRequired)),
    ("done", StateFilter::Is(StateWord::Succeeded)),
    ("invalid", StateFilter::Is(StateWord::ResultInvalid)),
    ("indeterminate", StateFilter::Is(StateWord::OutcomeUnknown)),
    ("unknown", StateFilter::Is(StateWord::OutcomeUnknown)),
    ("tombstone", StateFilter::Is(StateWord::ResultExpired)),
    ("expired", StateFilter::Is(StateWord::ResultExpired)),
    ("ended", StateFilter::Completed),
];

impl StateFilter {
    /// Returns all filters, in the order of a list. No list shows a purged record.
    pub fn all() -> impl Iterator<Item = Self> {
        let states = StateWord::ALL.into_iter().filter(|state| *state != StateWord::Purged);
        states.map(Self::Is).chain([Self::Completed])
    }

    /// Returns the word for programs.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Is(state) => state.as_str(),
            Self::Completed => COMPLETED,
        }
    }

    /// Returns the label for users.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Is(state) => state.label(),
            Self::Completed => "Completed",
        }
    }

    /// Returns what the filter means, in a sentence without a period.
    #[must_use]
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Is(state) => state.meaning(),
            Self::Completed => "The call ended: succeeded, failed or result_invalid",
        }
    }

    /// Returns the other words that are accepted for it.
    pub fn aliases(self) -> impl Iterator<Item = &'static str> {
        ALIASES.into_iter().filter(move |(_, filter)| *filter == self).map(|(alias, _)| alias)
    }

    /// Returns the stored kind that the filter needs.
    pub(crate) const fn kind(self) -> StateKind {
        match self {
            Self::Is(state) => state.kind(),
            Self::Completed => StateKind::Completed,
        }
    }

    /// Returns true if calls with this outcome match.
    pub(crate) fn has(self, outcome: OutcomeKind) -> bool {
        match self {
            Self::Is(state) => state == StateWord::of_outcome(outcome),
            Self::Completed => true,
        }
    }

    /// Returns true if calls that failed match.
    pub(crate) fn has_failed(self) -> bool {
        self.has(OutcomeKind::Failure)
    }
}

impl FromStr for StateFilter {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let alias = ALIASES.iter().find(|(alias, _)| *alias == text).map(|(_, filter)| *filter);
        Self::all().find(|filter| filter.as_str() == text).or(alias).ok_or_else(|| {
            let words: Vec<_> = Self::all().map(Self::as_str).collect();
            format!("must be one of {}", words.join(", "))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_state_has_its_own_word_and_label() {
        let distinct =
            |words: Vec<&str>| words.iter().collect::<std::collections::HashSet<_>>().len();
        assert_eq!(distinct(StateWord::ALL.iter().map(|state| state.as_str()).collect()), 14);
        assert_eq!(distinct(StateWord::ALL.iter().map(|state| state.label()).collect()), 14);
        for state in StateWord::ALL {
            let of_kind = StateWord::of_kind(state.kind());
            assert!(of_kind.is_none_or(|other| other == state), "{state:?}");
        }
    }

    #[test]
    fn filter_accepts_the_stored_words_and_no_others() {
        for filter in StateFilter::all() {
            assert_eq!(filter.as_str().parse(), Ok(filter));
        }
        for kind in StateKind::ALL.into_iter().filter(|kind| *kind != StateKind::Absent) {
            let filter: StateFilter = kind.as_str().parse().unwrap();
            assert_eq!(filter.kind(), kind, "{}", kind.as_str());
        }
        for wrong in ["", "purged", "absent", "Failed", "not run"] {
            let error = wrong.parse::<StateFilter>().unwrap_err();
            assert!(error.contains("outcome_unknown, result_expired"), "{error}");
        }
    }

    #[test]
    fn completed_filter_matches_every_outcome() {
        for outcome in [OutcomeKind::Success, OutcomeKind::Failure, OutcomeKind::Invalid] {
            assert!(StateFilter::Completed.has(outcome));
            let own = StateFilter::Is(StateWord::of_outcome(outcome));
            let matching: Vec<_> =
                StateFilter::all().filter(|filter| filter.has(outcome)).collect();
            assert_eq!(matching, [own, StateFilter::Completed]);
        }
    }
}
