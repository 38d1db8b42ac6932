//! What becomes of a call, before it is made.

use candor::protocol::names::extension;
use candor_client::{Client, Foreseen, Judgement, Trust};

/// What happens next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    Runs,
    AskedHere,
    /// The server asks a person, and here nobody is asked a second time.
    Approval,
    /// Here, and then by the server: its word that it will ask is that of a stranger.
    AskedTwice,
    RefusedHere,
    RefusedThere,
}

impl Next {
    pub(super) fn of(client: &Client, foreseen: &Foreseen) -> Self {
        let server = foreseen.server;
        match foreseen.judgement {
            Judgement::Deny => Self::RefusedHere,
            _ if server == Some(Judgement::Deny) => Self::RefusedThere,
            Judgement::Ask if asks_itself(client, foreseen) => Self::Approval,
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

/// Whether the server puts this very call to a person, so that nobody here is asked the same twice: it is known, it has approvals
/// as our servers have them, and it says of these arguments, or of all calls of the tool, that it asks.
pub(super) fn asks_itself(client: &Client, foreseen: &Foreseen) -> bool {
    let extensions = client.capabilities().extensions;
    client.trust() == Trust::Known
        && foreseen.server == Some(Judgement::Ask)
        && extensions.is_some_and(|known| known.contains_key(extension::APPROVAL))
}
