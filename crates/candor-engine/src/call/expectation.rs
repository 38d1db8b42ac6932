//! The precondition of a call: the caller states the decision that it expects, and the call runs only if that still holds.

use super::id::DecisionId;

/// What a caller expects of the server's decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expectation {
    /// The server asks for approval.
    Approval,
    /// The decision is the one with this id.
    Decision(DecisionId),
}

impl Expectation {
    /// Reads an expectation: `ask`, or the id of a decision.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "ask" => Some(Self::Approval),
            other => DecisionId::parse(other).map(Self::Decision),
        }
    }
}
