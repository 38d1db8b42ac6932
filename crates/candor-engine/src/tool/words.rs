//! The sentences that a tool's declarations add to its description, so that declarations and description cannot disagree.
//!
//! If the effect depends on the arguments, the description of the whole tool has a sentence only if it is true for every call. The
//! parts of a split tool have the sentences that are true for them. A tool that only reads gets no sentence about previews, undo,
//! alternatives or retries.

use candor_hints::{DeclaredHints, EffectiveHints};
use candor_protocol::Undo;

use super::entry::RegisteredTool;
use super::safeguards::Sentence;
use super::{Effects, Idempotency, KEY_ARGUMENT};

/// Returns the author's text, followed by what was declared and the text does not contain yet, word for word. `None`: nothing to
/// add.
pub(super) fn described(
    text: Option<&str>,
    entry: &RegisteredTool,
    of: Described,
    needs_approval: bool,
) -> Option<String> {
    let text = text.unwrap_or_default().trim_end();
    // Line breaks in the author's text do not matter.
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut described = text.to_owned();
    for sentence in Sentence::ALL {
        let said = entry.safeguards.says(sentence).then(|| of.say(sentence, entry, needs_approval));
        let Some(said) = said.flatten().filter(|said| !flat.contains(said.as_str())) else {
            continue;
        };
        if !described.is_empty() {
            described.push_str(if described.ends_with(['.', '!', '?', ')']) { " " } else { ". " });
        }
        described.push_str(&said);
    }
    (described != text).then_some(described)
}

/// The subject of a description.
#[derive(Clone, Copy)]
pub(super) enum Described {
    /// A whole tool.
    Whole,
    /// A part whose calls have these hints.
    Part(DeclaredHints),
}

impl Described {
    fn say(
        self,
        sentence: Sentence,
        entry: &RegisteredTool,
        needs_approval: bool,
    ) -> Option<String> {
        let declared = &entry.safeguards;
        if sentence == Sentence::Rate {
            return declared.rate.map(|rate| format!("Max {rate}."));
        }
        if sentence == Sentence::Approval {
            return needs_approval.then(|| "Requires human approval before executing.".into());
        }
        let known = self.known(entry);
        if known.read_only == Some(true) {
            return None;
        }
        match sentence {
            Sentence::Preview => {
                let preview = entry.preview_name.as_ref()?;
                Some(format!("Call {preview} first to review changes."))
            }
            Sentence::Undo => match &declared.undo {
                Some(undo) => Some(format!("Can be reverted with `{undo}`.")),
                None if known.destructive == Some(true) => Some(FINAL.into()),
                None => None,
            },
            Sentence::Instead => {
                let instead = declared.instead.as_ref()?;
                Some(format!("Prefer `{instead}` if it is sufficient."))
            }
            Sentence::Retry => retry(known, entry.idempotency),
            Sentence::Approval | Sentence::Rate => None,
        }
    }

    /// Returns the hints that hold for every call. A hint that is not declared stays unset.
    fn known(self, entry: &RegisteredTool) -> DeclaredHints {
        match (self, &entry.effects) {
            (Self::Part(declared), _) => declared,
            (Self::Whole, Effects::Fixed(declared)) => *declared,
            (Self::Whole, Effects::Unclassified) => DeclaredHints::default(),
            (Self::Whole, Effects::Table(_) | Effects::Function(_) | Effects::Asked { .. }) => {
                let worst = entry.effects.worst().hints;
                let surely = |so: bool| so.then_some(true);
                DeclaredHints {
                    read_only: surely(worst.is_read_only()),
                    idempotent: surely(worst.is_idempotent()),
                    ..DeclaredHints::default()
                }
            }
        }
    }
}

/// Returns what the declarations say about undoing one call, whose effect is known. `None`: nothing.
pub(crate) fn undo_of_call(entry: &RegisteredTool, effect: EffectiveHints) -> Option<Undo> {
    let of = match entry.effects.is_dynamic() {
        true => Described::Part(effect.hints.declared()),
        false => Described::Whole,
    };
    undo(entry, of)
}

/// Returns what the declarations say about undoing calls: the tool, or that no tool does. `None`: nothing.
pub(super) fn undo(entry: &RegisteredTool, of: Described) -> Option<Undo> {
    let known = of.known(entry);
    if known.read_only == Some(true) {
        return None;
    }
    let may_destroy = match of {
        Described::Whole if entry.effects.is_dynamic() => entry.worst().hints.is_destructive(),
        Described::Whole | Described::Part(_) => known.destructive == Some(true),
    };
    match &entry.safeguards.undo {
        Some(tool) => Some(Undo::With(tool.clone())),
        None => may_destroy.then_some(Undo::Impossible),
    }
}

/// Returns the sentence about retries. A call that is safe to retry by its effect needs no key.
fn retry(known: DeclaredHints, idempotency: Idempotency) -> Option<String> {
    // An omitted hint means no, but a tool without any hints has declared nothing.
    let is_classified = known.read_only.is_some() || known.destructive.is_some();
    Some(match (known.idempotent, idempotency) {
        (Some(true), _) | (_, Idempotency::Derived) => SAFE.into(),
        (_, Idempotency::Argument | Idempotency::Required) => {
            format!("Safe to retry with the same {KEY_ARGUMENT}.")
        }
        (Some(false), _) => NOT_SAFE.into(),
        (None, _) if is_classified => NOT_SAFE.into(),
        (None, _) => return None,
    })
}

const FINAL: &str = "This cannot be undone.";
const SAFE: &str = "Safe to retry with same inputs.";
const NOT_SAFE: &str = "Not safe to retry with same inputs.";

/// Returns one of our sentences in the author's text that contradicts the declarations.
pub(super) fn contradicted(entry: &RegisteredTool) -> Option<&'static str> {
    let text = entry.definition.description.as_deref()?;
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let known = Described::Whole.known(entry);
    let reads = known.read_only == Some(true);
    let retry = retry(known, entry.idempotency);
    let untrue = |sentence: &&str| match *sentence {
        FINAL => reads || entry.safeguards.undo.is_some(),
        other => !reads && retry.as_ref().is_some_and(|said| said != other),
    };
    [FINAL, SAFE, NOT_SAFE].into_iter().filter(|said| flat.contains(said)).find(untrue)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use candor_protocol::types::ToolAnnotations;
    use serde_json::json;

    use super::super::{JsonTool, ToolError};
    use super::*;

    fn entry(text: &str, change: impl FnOnce(JsonTool) -> JsonTool) -> RegisteredTool {
        let mut annotations = ToolAnnotations::new();
        annotations.destructive_hint = Some(true);
        let tool = JsonTool::new("act", &json!({"type": "object"}), |_, _| async {
            Ok::<_, ToolError>("done")
        });
        RegisteredTool::of(Arc::new(change(tool.description(text).annotations(annotations))))
            .unwrap()
    }

    #[test]
    fn description_states_that_the_policy_requires_approval() {
        let said = |entry: &RegisteredTool| {
            described(Some("Acts"), entry, Described::Whole, true).unwrap()
        };
        let told = said(&entry("Acts", |tool| tool.rate(super::super::RateLimit::per_day(2))));
        assert_eq!(
            told,
            "Acts. This cannot be undone. Not safe to retry with same inputs. Requires human approval before executing. Max \
             2 calls per day."
        );
        let omitted = said(&entry("Acts", |tool| tool.omit([Sentence::Approval])));
        assert!(!omitted.contains("approval"), "{omitted}");
    }

    #[test]
    fn description_that_contradicts_the_declaration_is_found() {
        let same = |tool| tool;
        assert_eq!(contradicted(&entry("It acts. This\n cannot be undone.", same)), None);
        let undone = entry("This cannot be undone.", |tool| tool.undo("act"));
        assert_eq!(contradicted(&undone), Some(FINAL));
        assert_eq!(contradicted(&entry("Safe to retry with same inputs.", same)), Some(SAFE));
        let keyed = |tool: JsonTool| tool.idempotency(Idempotency::Required);
        assert_eq!(
            contradicted(&entry("Not safe to retry with same inputs.", keyed)),
            Some(NOT_SAFE)
        );
        assert_eq!(contradicted(&entry("Not safe to retry with same inputs.", same)), None);
    }
}
