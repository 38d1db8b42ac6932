//! The decision on a call, before it is sent.

use candor::operator::shown::shown;
use candor_client::{EffectSource, Explanation, KnownTool, Trust, Verdict};
use serde_json::Value;

use super::error::CliError;
use super::pins::Pins;

/// What happens next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NextStep {
    Runs,
    AskedHere,
    /// The server asks for approval, and the CLI does not ask as well.
    Approval,
    /// The CLI asks, then the server: it is untrusted, or cannot promise that it asks.
    AskedTwice,
    RefusedHere,
    RefusedThere,
}

impl NextStep {
    pub(super) fn of(explanation: &Explanation) -> Self {
        let server = explanation.server;
        match explanation.verdict {
            Verdict::Deny => Self::RefusedHere,
            _ if server == Some(Verdict::Deny) => Self::RefusedThere,
            Verdict::Ask if explanation.defers => Self::Approval,
            Verdict::Ask if server == Some(Verdict::Ask) => Self::AskedTwice,
            Verdict::Ask => Self::AskedHere,
            Verdict::Allow if server == Some(Verdict::Ask) => Self::Approval,
            Verdict::Allow => Self::Runs,
        }
    }

    pub(super) fn summary(self) -> &'static str {
        match self {
            Self::Runs => "Runs now",
            Self::AskedHere => "Needs confirmation",
            Self::Approval => "Needs approval",
            Self::AskedTwice => "Needs confirmation, then approval",
            Self::RefusedHere => "Refused by this host",
            Self::RefusedThere => "Refused by the server",
        }
    }

    /// Returns the word for programs.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Runs => "run",
            Self::AskedHere => "confirm",
            Self::Approval => "ask",
            Self::AskedTwice => "confirm_then_ask",
            Self::RefusedHere => "refused_by_host",
            Self::RefusedThere => "refused_by_server",
        }
    }
}

/// Applies what the user agreed to before, and returns what they should know of the decision, each a line that is safe to show.
///
/// `call` decides by this and `explain` prints it, so that the one predicts the other.
pub(super) fn review(
    pins: &Pins,
    trust: Trust,
    (tool, arguments): (&KnownTool, &Value),
    explanation: &mut Explanation,
) -> Vec<String> {
    let mut notes = Vec::new();
    let name = shown(tool.name());
    if let Some(agreed) = pins.agreed_to_more(tool, arguments, explanation) {
        let now = explanation.said.summary();
        explanation.require_confirmation();
        notes.push(format!("You agreed to {name} as: {agreed}. The server now says: {now}."));
    }
    if explanation.server == Some(Verdict::Ask) && pins.has_skipped_approval() {
        explanation.require_confirmation();
        notes.push(
            "This server once ran a call without the approval that it had announced, so you must confirm."
                .to_owned(),
        );
    }
    if let Some(error) = &explanation.failed {
        let reason = CliError::from(error.clone()).in_one_line();
        let counts = match (trust, explanation.basis) {
            (Trust::Trusted, EffectSource::Declared) => "the tool's own hints apply",
            _ => "the worst case applies",
        };
        notes.push(format!("The server could not explain this call ({reason}), so {counts}."));
    }
    notes
}
