//! Why a request of an operator fails: one place for the codes and the sentences.

use std::fmt;

use candor_ledger::{ApprovalChannel, EventReply, StoreError};

use crate::display::shown::{cut, shown};
use crate::state::StateWord;

/// The reason why a request of an operator fails. Unless its sentence says otherwise, nothing was recorded.
///
/// The sentences are safe to show. They name no command and no page: the caller adds what to do next.
#[derive(Debug)]
pub enum OperatorError {
    /// The ledger failed.
    Store(StoreError),
    /// No operation has this ID or key.
    UnknownOperation {
        /// The ID or key that the operator named.
        wanted: String,
        /// The minimum number of digits, if the name is an ID with fewer.
        least_digits: Option<usize>,
    },
    /// Several operations have this ID or key.
    Ambiguous {
        /// The ID or key that the operator named.
        wanted: String,
        /// The operations that match.
        candidates: Vec<CandidateOperation>,
        /// There may be further operations that match.
        more: bool,
    },
    /// The operation has no pending approval request.
    NotPending {
        /// The shown digits of its ID.
        id: String,
        /// Its state.
        state: &'static str,
    },
    /// The request changed after it was shown.
    RequestChanged {
        /// The shown digits of its ID.
        id: String,
    },
    /// The request cannot be read, so it cannot be approved.
    RequestUnreadable,
    /// Another reviewer was faster.
    AlreadyDecided {
        /// The shown digits of its ID.
        id: String,
        /// The other reviewer.
        by: String,
        /// The channel of the other answer.
        via: ApprovalChannel,
        /// Whether the other answer was an approval.
        is_approval: bool,
    },
    /// The request expired, or its call has started.
    RequestEnded {
        /// The shown digits of its ID.
        id: String,
        /// The state of its operation.
        state: &'static str,
    },
    /// The outcome of the operation is known.
    AlreadyResolved {
        /// The shown digits of its ID.
        id: String,
        /// Its state.
        state: &'static str,
    },
    /// The operation changed after it was shown.
    OperationChanged {
        /// The shown digits of its ID.
        id: String,
        /// Its state.
        state: &'static str,
    },
    /// The call is approved, but the ledger did not record the grant.
    GrantNotRecorded {
        /// The shown digits of the request's ID.
        id: String,
        /// The reason.
        error: StoreError,
    },
    /// The ledger gave a reply that does not belong to the request.
    UnexpectedReply(Box<EventReply>),
}

/// An operation that an ambiguous name may mean.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CandidateOperation {
    /// Enough digits of its ID to tell it from the other candidates.
    pub digits: String,
    /// Its tool.
    pub tool: String,
    /// Its key.
    pub key: String,
    /// Its caller.
    pub principal: String,
    /// Its state.
    pub state: StateWord,
}

impl OperatorError {
    /// Returns the code for programs.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Store(_) => "ledger_unavailable",
            Self::UnknownOperation { .. } => "not_found",
            Self::RequestChanged { .. } => "request_changed",
            Self::RequestUnreadable => "request_unreadable",
            Self::AlreadyResolved { .. } => "already_resolved",
            Self::Ambiguous { .. }
            | Self::NotPending { .. }
            | Self::AlreadyDecided { .. }
            | Self::RequestEnded { .. }
            | Self::OperationChanged { .. }
            | Self::GrantNotRecorded { .. }
            | Self::UnexpectedReply(_) => "conflict",
        }
    }
}

/// Writes the sentence for users.
impl fmt::Display for OperatorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Store(error) => error.fmt(f),
            Self::UnknownOperation { wanted, least_digits } => {
                write!(f, "no operation has the id or the key `{}`", shown(wanted))?;
                match least_digits {
                    Some(least) => write!(f, "; an id has at least {least} digits"),
                    None => Ok(()),
                }
            }
            Self::Ambiguous { wanted, candidates, more } => {
                let (wanted, count) = (shown(wanted), candidates.len());
                let more = if *more { " or more" } else { "" };
                write!(
                    f,
                    "`{wanted}` may be one of {count}{more} operations; name one by its id:"
                )?;
                candidates.iter().try_for_each(|candidate| write!(f, "\n  {candidate}"))
            }
            Self::NotPending { id, state } => {
                write!(f, "{id} is not an approval request. State: {state}.")
            }
            Self::RequestChanged { id } => {
                write!(f, "Not recorded: request {id} changed. Review it again")
            }
            Self::RequestUnreadable => f.write_str(
                "Not recorded: this version cannot read the request, so it can only be denied",
            ),
            Self::AlreadyDecided { id, by, via, is_approval } => write!(
                f,
                "Not recorded: {} already {} {id}{}.",
                shown(by),
                if *is_approval { "approved" } else { "denied" },
                if *via == ApprovalChannel::Client { " via client" } else { "" },
            ),
            Self::RequestEnded { id, state } => {
                write!(f, "Not recorded: request {id} has ended. State: {state}.")
            }
            Self::AlreadyResolved { id, state } => write!(
                f,
                "Not recorded: only an unknown outcome can be resolved. State of {id}: {state}"
            ),
            Self::OperationChanged { id, state } => {
                write!(f, "Not recorded: operation {id} changed. State: {state}.")
            }
            Self::GrantNotRecorded { id, error } => write!(
                f,
                "{id} is approved, but the grant was not recorded: {}",
                shown(&error.to_string())
            ),
            Self::UnexpectedReply(reply) => write!(f, "the ledger refused it: {reply:?}"),
        }
    }
}

impl std::error::Error for OperatorError {}

impl From<StoreError> for OperatorError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// Writes the line of a list. Long texts are cut.
impl fmt::Display for CandidateOperation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { digits, tool, key, principal, state } = self;
        let (tool, key, principal) = (cut(tool, 24), cut(key, 40), cut(principal, 20));
        write!(f, "{digits}  {tool}  {key}  {principal}  {state}")
    }
}

#[cfg(test)]
mod tests {
    use candor_ledger::EventReply;

    use super::*;

    #[test]
    fn every_reason_has_its_code_and_sentence() {
        let id = || "0123abcd".to_owned();
        let candidate = CandidateOperation {
            digits: id(),
            tool: "pay".to_owned(),
            key: "order-17".to_owned(),
            principal: "ada\u{1b}".to_owned(),
            state: StateWord::Running,
        };
        let decided = |via, is_approval| OperatorError::AlreadyDecided {
            id: id(),
            by: "olga\u{202e}".to_owned(),
            via,
            is_approval,
        };
        let unknown = |wanted: &str, least_digits| OperatorError::UnknownOperation {
            wanted: wanted.to_owned(),
            least_digits,
        };
        for (error, code, sentence) in [
            (
                OperatorError::Store(StoreError::Absent),
                "ledger_unavailable",
                StoreError::Absent.to_string().as_str(),
            ),
            (
                unknown("a\u{1b}", None),
                "not_found",
                r"no operation has the id or the key `a\u{1b}`",
            ),
            (
                unknown("abc", Some(4)),
                "not_found",
                "no operation has the id or the key `abc`; an id has at least 4 digits",
            ),
            (
                OperatorError::Ambiguous {
                    wanted: "order-17".to_owned(),
                    candidates: vec![candidate.clone(), candidate],
                    more: false,
                },
                "conflict",
                "`order-17` may be one of 2 operations; name one by its id:\n  \
                 0123abcd  pay  order-17  ada\\u{1b}  Running\n  \
                 0123abcd  pay  order-17  ada\\u{1b}  Running",
            ),
            (
                OperatorError::NotPending { id: id(), state: "Succeeded" },
                "conflict",
                "0123abcd is not an approval request. State: Succeeded.",
            ),
            (
                OperatorError::RequestChanged { id: id() },
                "request_changed",
                "Not recorded: request 0123abcd changed. Review it again",
            ),
            (
                OperatorError::RequestUnreadable,
                "request_unreadable",
                "Not recorded: this version cannot read the request, so it can only be denied",
            ),
            (
                decided(ApprovalChannel::Operator, true),
                "conflict",
                r"Not recorded: olga\u{202e} already approved 0123abcd.",
            ),
            (
                decided(ApprovalChannel::Client, false),
                "conflict",
                r"Not recorded: olga\u{202e} already denied 0123abcd via client.",
            ),
            (
                OperatorError::RequestEnded { id: id(), state: "Running" },
                "conflict",
                "Not recorded: request 0123abcd has ended. State: Running.",
            ),
            (
                OperatorError::AlreadyResolved { id: id(), state: "Failed" },
                "already_resolved",
                "Not recorded: only an unknown outcome can be resolved. State of 0123abcd: Failed",
            ),
            (
                OperatorError::OperationChanged { id: id(), state: "Running" },
                "conflict",
                "Not recorded: operation 0123abcd changed. State: Running.",
            ),
            (
                OperatorError::GrantNotRecorded { id: id(), error: StoreError::Absent },
                "conflict",
                &format!(
                    "0123abcd is approved, but the grant was not recorded: {}",
                    StoreError::Absent
                ),
            ),
            (
                OperatorError::UnexpectedReply(Box::new(EventReply::Done)),
                "conflict",
                "the ledger refused it: Done",
            ),
        ] {
            assert_eq!((error.code(), error.to_string().as_str()), (code, sentence));
        }
    }
}
