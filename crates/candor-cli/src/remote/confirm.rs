//! The confirmation before a call that may do harm. It shows everything that will be sent, and only a clear yes counts.

use std::sync::{Arc, Mutex, PoisonError};

use candor::operator::json;
use candor::operator::shown::shown;
use candor_client::hints::HintSource;
use candor_client::{ConfirmRequest, EffectSource, KnownTool, Trust};
use serde_json::{Map, Value};

use super::error::CliError;
use super::progress::Progress;
use super::question::TerminalUser;
use super::safe;
use crate::exit::Exit;
use crate::width::cut;

/// How the user confirms a call.
pub(super) struct Consent {
    pub(super) person: Option<Arc<TerminalUser>>,
    pub(super) progress: Arc<Progress>,
    /// True if the user confirmed in advance.
    pub(super) yes: bool,
    /// What the user should know of the decision.
    pub(super) notes: Notes,
}

/// What the user should know of a decision, each a line that is safe to show.
pub(super) type Notes = Arc<Mutex<Vec<String>>>;

/// The answer to a confirmation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answer {
    /// The user was asked and agreed.
    Yes,
    /// The user agreed in advance.
    Unasked,
    /// The user declined, or there was no terminal to ask at.
    No,
}

impl Consent {
    pub(super) async fn to(self, proposal: ConfirmRequest) -> Answer {
        let notes = self.notes.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if self.yes {
            self.progress.note(&notes);
            return Answer::Unasked;
        }
        let Some(person) = &self.person else { return Answer::No };
        let (_quiet, _open) = (self.progress.pause(), self.progress.confirming());
        let mut terminal = person.0.lock().await;
        eprintln!("\n{}", summary(&proposal));
        notes.iter().for_each(|note| eprintln!("{note}"));
        match terminal.agrees(&question(&proposal)).await {
            Ok(true) => Answer::Yes,
            Ok(false) | Err(_) => Answer::No,
        }
    }
}

/// A confirmation that could not be asked.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct UnaskedConfirmation {
    pub(super) destructive: bool,
    pub(super) decision_changed: bool,
}

/// Returns the error for a call that needs confirmation if there is no terminal.
pub(super) fn nobody_there(
    trust: Trust,
    UnaskedConfirmation { destructive, decision_changed }: UnaskedConfirmation,
    notes: Vec<String>,
) -> CliError {
    let why = match trust {
        _ if decision_changed => "the server no longer asks for approval of this call",
        Trust::Trusted if !destructive => "this call needs your confirmation",
        Trust::Trusted => "this call may delete or overwrite something",
        Trust::Untrusted => "this server is untrusted, so every call of it needs confirmation",
    };
    let message = format!("{why}, and no terminal is available. Nothing was run.");
    let trouble = CliError::new(Exit::Refused, "refused", message)
        .next("--yes confirms in advance; `candor explain` shows the call's effect");
    let trouble = notes.into_iter().fold(trouble, CliError::next);
    match trust {
        Trust::Trusted => trouble,
        Trust::Untrusted => trouble.next("--trust hints, if you know this server"),
    }
}

/// More of a description would push the arguments out of sight.
const DESCRIPTION: safe::Extent = safe::Extent { lines: 12, columns: 200 };

/// The maximum number of arguments that the question repeats, and the columns of each name and value.
const TELLING: usize = 4;
const COLUMNS: usize = 40;

/// Returns the last line, where the user types the answer. It repeats what matters: the lines above may be out of sight.
fn question(proposal: &ConfirmRequest) -> String {
    let ConfirmRequest { tool, arguments, explanation, .. } = proposal;
    let empty = Map::new();
    let given = arguments.as_object().unwrap_or(&empty);
    // Short values say the most: paths, names, choices, numbers.
    let telling = given
        .iter()
        .filter(|(name, value)| !value.is_array() && !value.is_object() && !is_secret(tool, name));
    let told: Vec<_> = telling
        .take(TELLING)
        .map(|(name, value)| format!("{}={}", cut(name, COLUMNS), cut(&value.to_string(), COLUMNS)))
        .collect();
    let more = match given.len() - told.len() {
        0 => String::new(),
        1 => " and 1 more argument".to_owned(),
        more => format!(" and {more} more arguments"),
    };
    let with = if told.is_empty() { "without arguments".to_owned() } else { told.join(" ") };
    let with = if given.is_empty() || !told.is_empty() { with } else { "with".to_owned() };
    let (name, effect) = (cut(tool.name(), COLUMNS), explanation.summary());
    format!("\n{name} ({effect}) {with}{more}. May it run?")
}

/// Returns true if only the handler may see an argument.
fn is_secret(tool: &KnownTool, name: &str) -> bool {
    let schema = tool.input_schema().get("properties").and_then(|known| known.get(name));
    schema.is_some_and(|schema| {
        let is = |keyword: &str| schema.get(keyword) == Some(&Value::Bool(true));
        is("writeOnly") || is("x-secret") || schema.get("format").is_some_and(|f| f == "password")
    })
}

/// Returns the text of the confirmation, all of it safe to show.
fn summary(proposal: &ConfirmRequest) -> String {
    let ConfirmRequest { tool, arguments, explanation, preview, .. } = proposal;
    let known = match (proposal.trust, explanation.basis) {
        (Trust::Trusted, EffectSource::Asked) => {
            "evaluated by the server for exactly these arguments".to_owned()
        }
        (Trust::Trusted, EffectSource::Declared)
            if explanation.said.sources.contains(&HintSource::Default) =>
        {
            "the tool declares some hints for all its calls; each missing hint counts as the worst case"
                .to_owned()
        }
        (Trust::Trusted, EffectSource::Declared) => {
            "declared by the tool for all its calls".to_owned()
        }
        (Trust::Untrusted, EffectSource::Asked | EffectSource::Declared) => format!(
            "assumed, because the server is untrusted; it reports: {}",
            explanation.said.hints.summary()
        ),
        _ => "the tool is unclassified, so the worst case applies".to_owned(),
    };
    let described = match tool.description() {
        Some(text) => safe::excerpt(text, DESCRIPTION),
        None => "  (the tool has no description)".to_owned(),
    };
    let undo = proposal.undo_in_words();
    let undo = undo.map(|words| format!("{}\n", safe::line(&words))).unwrap_or_default();
    let mut words = format!(
        "{}  {}\n  ({known})\n{described}\n{undo}arguments\n{}",
        shown(tool.name()),
        explanation.summary(),
        json::pretty(&arguments.to_string(), "  ")
    );
    if proposal.decision_changed {
        words
            .push_str("\nThe server no longer asks for approval of this call: only you are asked.");
    }
    if let Some(preview) = preview {
        words.push_str("\npreview\n");
        words.push_str(&safe::excerpt(preview, safe::PREVIEW));
    }
    words
}
