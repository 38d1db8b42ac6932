//! What becomes of a call, before it is made.

use candor_client::{Foreseen, Judgement};

/// What happens next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    Runs,
    AskedHere,
    /// The server asks for approval, and the CLI does not ask as well.
    Approval,
    /// The CLI asks, then the server: it is untrusted, or cannot promise that it asks.
    AskedTwice,
    RefusedHere,
    RefusedThere,
}

impl Next {
    pub(super) fn of(foreseen: &Foreseen) -> Self {
        let server = foreseen.server;
        match foreseen.judgement {
            Judgement::Deny => Self::RefusedHere,
            _ if server == Some(Judgement::Deny) => Self::RefusedThere,
            Judgement::Ask if foreseen.defers => Self::Approval,
            Judgement::Ask if server == Some(Judgement::Ask) => Self::AskedTwice,
            Judgement::Ask => Self::AskedHere,
            Judgement::Allow if server == Some(Judgement::Ask) => Self::Approval,
            Judgement::Allow => Self::Runs,
        }
    }

    pub(super) fn in_words(self) -> &'static str {
        match self {
            Self::Runs => "runs without asking",
            Self::AskedHere => "would be asked here first",
            Self::Approval => "waits for approval",
            Self::AskedTwice => "would be asked here first, then waits for approval",
            Self::RefusedHere => "refused here",
            Self::RefusedThere => "the server refuses it",
        }
    }

    /// For programs.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Runs => "runs",
            Self::AskedHere => "asked_here",
            Self::Approval => "waits_for_approval",
            Self::AskedTwice => "asked_here_then_waits_for_approval",
            Self::RefusedHere => "refused_here",
            Self::RefusedThere => "refused_by_server",
        }
    }
}
