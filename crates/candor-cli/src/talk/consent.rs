//! The question before a call that may do harm: all that will be sent, and only a clear yes is one.

use std::sync::Arc;

use candor::desk::json;
use candor::desk::shown::shown;
use candor_client::{Basis, Proposal, Trust};

use super::progress::Progress;
use super::question::Person;
use super::safe;
use super::trouble::Trouble;
use crate::exit::Exit;

/// Who says yes.
pub(super) struct Consent {
    pub(super) person: Option<Arc<Person>>,
    pub(super) progress: Arc<Progress>,
    /// They have said so beforehand.
    pub(super) yes: bool,
}

/// What came of a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answer {
    /// A person was asked, and said it.
    Yes,
    /// The user agreed beforehand.
    Unasked,
    /// Also where nobody was there to ask.
    No,
}

impl Consent {
    pub(super) async fn to(self, proposal: Proposal) -> Answer {
        if self.yes {
            return Answer::Unasked;
        }
        let Some(person) = &self.person else { return Answer::No };
        let _quiet = self.progress.pause();
        let mut terminal = person.0.lock().await;
        eprintln!("\n{}", in_words(&proposal));
        match terminal.agrees("\nMay it run?").await {
            Ok(true) => Answer::Yes,
            Ok(false) | Err(_) => Answer::No,
        }
    }
}

/// Nobody was there to ask.
pub(super) fn nobody_there(trust: Trust, decision_changed: bool) -> Trouble {
    let why = match trust {
        _ if decision_changed => "the server no longer asks for approval of this call",
        Trust::Known => "this call may delete or overwrite something",
        Trust::Stranger => {
            "this server is a stranger, and each call of a stranger's tool is asked about"
        }
    };
    let message = format!("{why}, and there is no terminal to ask on; nothing was called");
    let trouble = Trouble::new(Exit::Refused, "refused", message)
        .next("--yes says yes beforehand; `candor explain` shows what the call would do");
    match trust {
        Trust::Known => trouble,
        Trust::Stranger => trouble.next("--trust known, if you know this server"),
    }
}

/// What a person is asked, all of it safe to show.
fn in_words(proposal: &Proposal) -> String {
    let Proposal { tool, arguments, foreseen, preview, .. } = proposal;
    let known = match (proposal.trust, foreseen.basis) {
        (Trust::Known, Basis::Asked) => "the server says so for exactly these arguments".to_owned(),
        (Trust::Known, Basis::Declared) => "the tool declares so for all its calls".to_owned(),
        (Trust::Stranger, Basis::Asked | Basis::Declared) => format!(
            "assumed, because it is a stranger; it says: {}",
            foreseen.said.hints.in_words()
        ),
        _ => "nobody says what it does, so the worst is assumed".to_owned(),
    };
    let mut words = format!(
        "{}  {}\n  ({known})\narguments\n{}",
        shown(tool.name()),
        foreseen.hints.in_words(),
        json::pretty(&arguments.to_string(), "  ")
    );
    if proposal.decision_changed {
        words
            .push_str("\nThe server no longer asks for approval of this call: only you are asked.");
    }
    if let Some(preview) = preview {
        words.push_str("\nwhat its preview shows\n");
        words.push_str(&safe::quoted(preview));
    }
    words
}
