//! Tools as they were when the user agreed to call them: definition and effect.
//!
//! Users agree to a call by what its tool declares. A known attack waits for that agreement and then declares the tool harmless.

use std::collections::BTreeMap;

use candor::hints::{DeclaredHints, Effect, EffectiveHints, HintSource, Hints};
use candor::operator::shown::shown;
use candor_client::{EffectSource, Explanation, KnownTool};
use candor_schema::canonical;
use serde_json::Value;

use crate::accepted::AcceptedStore;
use crate::digest;
use crate::targets::{CliEnvironment, ResolvedTarget};
use candor_client::config::Target;

/// A file in the state folder, with a line for each tool and each change: the tool and its server, its definition, its effect, its
/// name.
const FILE: &str = "tools";

/// A file in the state folder, with a line for each server that announced an approval and ran a call without one.
const SKIPPED: &str = "skipped-approvals";

pub(super) struct Pins {
    remembered: AcceptedStore,
    skipped: AcceptedStore,
    /// The address or the program, and its folder.
    server: [String; 2],
}

/// What the user agreed to.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Pin {
    definition: String,
    /// `None` in lines of an earlier version.
    effect: Option<PinnedEffect>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct PinnedEffect {
    /// What the server reported of the call, trusted or not: the user may change the trust later.
    hints: Hints,
    /// True if the hints were only assumed.
    unclassified: bool,
    /// The calls that this effect covers: those without a different choice for one of these arguments.
    choices: Choices,
    /// The digest of the schema that distinguished the calls.
    schema: String,
}

impl Pins {
    pub(super) fn of(found: &ResolvedTarget, here: &CliEnvironment) -> Self {
        let folder = match &found.target {
            Target::Url { .. } => String::new(),
            Target::Program { cwd, .. } => {
                cwd.as_ref().unwrap_or(&here.folder).to_string_lossy().into_owned()
            }
        };
        Self {
            remembered: AcceptedStore::of(here, FILE),
            skipped: AcceptedStore::of(here, SKIPPED),
            server: [found.to_string(), folder],
        }
    }

    fn tool(&self, tool: &KnownTool) -> String {
        let [server, folder] = &self.server;
        digest::of(&[server, folder, tool.name()])
    }

    /// Returns everything that the user agreed to for this tool, the latest last.
    fn of_tool(&self, tool: &KnownTool) -> Vec<Pin> {
        let known = self.tool(tool);
        let text = self.remembered.text();
        let lines = text.lines().filter_map(|line| line.split_once(' '));
        lines.filter(|(tool, _)| *tool == known).filter_map(|(_, rest)| Pin::read(rest)).collect()
    }

    /// Returns a line for the user if the tool is no longer what they agreed to.
    pub(super) fn change_of(&self, tool: &KnownTool) -> Option<String> {
        let last = self.of_tool(tool).pop()?;
        (last.definition != definition(tool)).then(|| {
            let name = shown(tool.name());
            format!("The definition of {name} has changed since you last agreed to a call of it")
        })
    }

    /// Returns what the user agreed to, in words, if the server now reports a milder effect for such a call.
    pub(super) fn agreed_to_more(
        &self,
        tool: &KnownTool,
        arguments: &Value,
        now: &Explanation,
    ) -> Option<String> {
        let (definition, choices) = (definition(tool), choices(tool, arguments, now));
        let schema = schema(tool);
        let pins = self.of_tool(tool);
        let of_such_calls = pins.iter().filter_map(|pin| {
            let effect = pin.effect.as_ref()?;
            // Under another schema, calls cannot be distinguished, so all count as the same.
            let is_told_apart = effect.schema == schema && choices.differ(&effect.choices);
            (!is_told_apart).then_some((pin, effect))
        });
        // The user agreed to an effect as mild as this one, for the tool as it is and with the same choices. A missing choice could
        // be any: agreement to it does not cover all values, nor the other way around.
        let accepted = |pin: &Pin, effect: &PinnedEffect| {
            pin.definition == definition
                && effect.choices == choices
                && effect.hints.is_at_most(now.said.hints)
        };
        if of_such_calls.clone().any(|(pin, effect)| accepted(pin, effect)) {
            return None;
        }
        let mut more = of_such_calls.filter(|(_, effect)| !effect.hints.is_at_most(now.said.hints));
        more.next_back().map(|(_, effect)| effect.summary())
    }

    /// Stores that the user agreed to such a call.
    pub(super) fn keep(&self, tool: &KnownTool, arguments: &Value, agreed: &Explanation) {
        let effect = PinnedEffect {
            hints: agreed.said.hints,
            unclassified: agreed.said.is_unclassified(),
            choices: choices(tool, arguments, agreed),
            schema: schema(tool),
        };
        let pin = Pin { definition: definition(tool), effect: Some(effect) };
        // If the tool had another definition in between, store this agreement anew.
        let known = self.of_tool(tool);
        let since = known.iter().rev().take_while(|old| old.definition == pin.definition);
        if !since.into_iter().any(|old| *old == pin) {
            // Without a state folder, the user confirms as before, but gets no warning of changes.
            let line = format!("{} {} {}", self.tool(tool), pin.written(), shown(tool.name()));
            let _ = self.remembered.add(&line);
        }
    }

    /// Returns true if the server announced an approval before, and ran a call without one.
    pub(super) fn has_skipped_approval(&self) -> bool {
        let server = self.server();
        self.skipped.text().lines().any(|line| line == server)
    }

    /// Stores that the server ran a call without the approval that it had announced.
    pub(super) fn keep_skipped_approval(&self) {
        if !self.has_skipped_approval() {
            let _ = self.skipped.add(&self.server());
        }
    }

    fn server(&self) -> String {
        let [server, folder] = &self.server;
        digest::of(&[server, folder])
    }
}

impl Pin {
    /// Parses the rest of a line, after the tool.
    fn read(line: &str) -> Option<Self> {
        let mut words = line.split(' ');
        let definition = words.next()?.to_owned();
        let effect = words.next().and_then(|word| PinnedEffect::read(word.strip_prefix(EFFECT)?));
        Some(Self { definition, effect })
    }

    fn written(&self) -> String {
        let effect = self.effect.as_ref().map(PinnedEffect::written).unwrap_or_default();
        format!("{} {EFFECT}{effect}", self.definition)
    }
}

/// The prefix of the word for an effect. Lines of an earlier version have the tool's name in this position.
const EFFECT: &str = "effect:";

impl PinnedEffect {
    /// Parses five digits and the word for the effect, then the choices, then the schema. Lines of an earlier version lack the
    /// word.
    fn read(word: &str) -> Option<Self> {
        let (bits, rest) = word.split_once(':')?;
        let (bits, effect) = bits.split_at_checked(5)?;
        let (choices, schema) = rest.split_once(':')?;
        let bits: Vec<bool> = bits.bytes().map(|bit| bit == b'1').collect();
        let [read_only, destructive, idempotent, open_world, unclassified] = bits[..] else {
            return None;
        };
        let declared = DeclaredHints {
            effect: Effect::from_word(effect),
            ..Hints::new(read_only, destructive, idempotent, open_world).declared()
        };
        Some(Self {
            hints: declared.effective().hints,
            unclassified,
            choices: Choices::read(choices),
            schema: schema.to_owned(),
        })
    }

    fn written(&self) -> String {
        let Self { hints, unclassified, choices, schema } = self;
        let bits = [
            hints.is_read_only(),
            hints.is_destructive(),
            hints.is_idempotent(),
            hints.is_open_world(),
            *unclassified,
        ];
        let bits: String = bits.map(|bit| if bit { '1' } else { '0' }).iter().collect();
        format!("{bits}{}:{}:{schema}", hints.effect().as_str(), choices.written())
    }

    fn summary(&self) -> String {
        let source = if self.unclassified { HintSource::Default } else { HintSource::Declared };
        EffectiveHints { hints: self.hints, sources: [source; 4] }.summary()
    }
}

fn definition(tool: &KnownTool) -> String {
    let whole = serde_json::to_value(tool.definition()).unwrap_or_default();
    digest::of(&[&canonical(&whole)])
}

fn schema(tool: &KnownTool) -> String {
    digest::of(&[&canonical(tool.input_schema())])
}

/// The choices among the arguments of a call, each a digest of its name with a digest of its value.
///
/// Effects depend on choices (an enum, a constant, a boolean): a read after a deletion is not a milder deletion.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Choices(BTreeMap<String, String>);

impl Choices {
    /// Returns true if both have an argument, with different values. A missing argument may mean any value.
    fn differ(&self, other: &Self) -> bool {
        self.0.iter().any(|(name, value)| other.0.get(name).is_some_and(|known| known != value))
    }

    /// Parses the choices. Without a valid one, calls are not distinguished.
    fn read(word: &str) -> Self {
        let choices = word.split(',').filter_map(|choice| choice.split_once('='));
        Self(choices.map(|(name, value)| (name.to_owned(), value.to_owned())).collect())
    }

    fn written(&self) -> String {
        let choices = self.0.iter().map(|(name, value)| format!("{name}={value}"));
        choices.collect::<Vec<_>>().join(",")
    }
}

/// Returns the choices that an effect depends on; none if the server did not evaluate these arguments.
fn choices(tool: &KnownTool, arguments: &Value, effect: &Explanation) -> Choices {
    if effect.basis != EffectSource::Asked {
        return Choices::default();
    }
    let is_choice = |schema: &Value| {
        ["enum", "const"].iter().any(|name| schema.get(name).is_some())
            || schema.get("type").is_some_and(|kind| kind == "boolean")
    };
    let properties = tool.input_schema().get("properties").and_then(Value::as_object);
    let choices = properties.into_iter().flatten().filter(|(_, schema)| is_choice(schema));
    let short = |text: &str| digest::of(&[text])[..16].to_owned();
    let chosen = choices
        .filter_map(|(name, _)| Some((short(name), short(&canonical(arguments.get(name)?)))));
    Choices(chosen.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pin_reads_back_as_written() {
        for choices in ["", "a1=c0ffee", "a1=c0ffee,b2=d0"].map(Choices::read) {
            for hints in [Hints::READS, Hints::ADDS.closed_world(), Hints::CHANGES, Hints::WORST] {
                let (choices, schema) = (choices.clone(), "5c".to_owned());
                let effect = PinnedEffect { hints, unclassified: false, choices, schema };
                let pin = Pin { definition: "d1".to_owned(), effect: Some(effect) };
                assert_eq!(Pin::read(&format!("{} name", pin.written())), Some(pin));
            }
        }
        let old = Pin { definition: "d1".to_owned(), effect: None };
        assert_eq!(Pin::read("d1 wipe"), Some(old));
    }
}
