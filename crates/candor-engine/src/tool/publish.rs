//! A tool as a client sees it: by what the client knows, and by the server's listing options.

use std::borrow::Cow;

use candor_hints::Hints;
use candor_protocol::json::{RawValue, raw};
use candor_protocol::names::extension;
use candor_protocol::types::{Tool as Definition, ToolAnnotations};
use serde_json::{Value, json};

use super::entry::RegisteredTool;
use super::split::{Split, SplitTool};
use super::words::{Described, described, undo};
use super::{Effects, effects};
use candor_hints::Verdict;

/// How a server publishes its tools to a client.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct ListingOptions {
    /// Optional arguments as plain types.
    pub plain_optionals: bool,
    /// Results that are not objects as they are, without a box.
    pub native_output: bool,
    /// Only output schemas of objects: earlier revisions know no others, and a client that finds a schema expects structured
    /// content.
    pub objects_only: bool,
    /// Tools are marked for clients that know the extension for tool resolution.
    pub resolution: bool,
    /// Tools whose effects depend on one argument are listed in parts.
    pub split: Option<Split>,
    /// Tells apart the policies of servers that share a set.
    pub policy: u64,
}

/// Returns the policy's verdict on all calls of a tool with these hints, as far as it is the same for every caller and time.
pub(crate) type ListedVerdict<'a> = &'a dyn Fn(&RegisteredTool, Hints) -> Verdict;

impl ListingOptions {
    /// Returns the definition of the whole tool.
    pub(super) fn whole<'a>(
        self,
        entry: &'a RegisteredTool,
        verdict: ListedVerdict<'_>,
    ) -> Cow<'a, Definition> {
        let mut definition = Cow::Borrowed(&entry.definition);
        if entry.is_dynamic() {
            let definition = definition.to_mut();
            // Computed, never written by hand.
            let annotations = definition.annotations.get_or_insert_with(ToolAnnotations::new);
            effects::write(entry.worst().hints.declared(), annotations);
            self.flag(definition);
        }
        if entry.effects.has_effect() {
            let mut about = json!({"effect": entry.worst().hints.effect().as_str()});
            if let Effects::Table(table) = &entry.effects {
                about["effects"] = table.summary().into();
            }
            add_meta(definition.to_mut(), extension::DYNAMIC_ANNOTATIONS, &about);
        }
        // If the arguments decide, the verdict must hold even for the least harmful call.
        let least = if entry.effects.is_dynamic() { Hints::READS } else { entry.worst().hints };
        let verdict = verdict(entry, least);
        say(&mut definition, entry, Described::Whole, verdict);
        name_neighbors(&mut definition, entry, Described::Whole);
        add_verdict(&mut definition, verdict, !entry.effects.is_dynamic());
        self.schemas(definition, entry)
    }

    /// Returns the definition of a part of a tool. Its hints are exact, unless the effect depends on the remaining arguments.
    pub(super) fn part<'a>(
        self,
        part: &'a SplitTool,
        entry: &RegisteredTool,
        verdict: ListedVerdict<'_>,
    ) -> Cow<'a, Definition> {
        let mut definition = Cow::Borrowed(&part.definition);
        if part.varies {
            self.flag(definition.to_mut());
        }
        let described = Described::Part(part.hints.declared());
        let verdict = verdict(entry, part.hints);
        say(&mut definition, entry, described, verdict);
        let about = json!({"effect": part.hints.effect().as_str()});
        add_meta(definition.to_mut(), extension::DYNAMIC_ANNOTATIONS, &about);
        name_neighbors(&mut definition, entry, described);
        add_verdict(&mut definition, verdict, !part.varies);
        self.schemas(definition, entry)
    }

    /// Reports that a call can be evaluated more precisely.
    fn flag(self, definition: &mut Definition) {
        definition.dynamic_annotations = Some(true);
        if self.resolution {
            add_meta(definition, extension::TOOL_RESOLUTION, &json!({"resolvable": true}));
        }
    }

    fn schemas<'a>(
        self,
        mut definition: Cow<'a, Definition>,
        entry: &RegisteredTool,
    ) -> Cow<'a, Definition> {
        if self.objects_only && !has_object_output(&definition) {
            definition.to_mut().output_schema = None;
        }
        if self.native_output
            && entry.boxed
            && let Some(schema) = definition.output_schema.as_deref().and_then(unboxed)
        {
            definition.to_mut().output_schema = Some(schema);
        }
        if self.plain_optionals
            && let Ok(schema) = serde_json::from_str(definition.input_schema.get())
        {
            definition.to_mut().input_schema = raw(&candor_schema::plain_optionals(&schema));
        }
        definition
    }
}

/// Adds to the author's description what was declared, and what the server's policy requires.
fn say(
    definition: &mut Cow<'_, Definition>,
    entry: &RegisteredTool,
    of: Described,
    verdict: Verdict,
) {
    let needs_approval = verdict == Verdict::Ask;
    if let Some(said) = described(definition.description.as_deref(), entry, of, needs_approval) {
        definition.to_mut().description = Some(said);
    }
}

/// Tells programs what the description tells models: which tool previews a call, whether the preview is required, and which tool
/// undoes a call.
fn name_neighbors(definition: &mut Cow<'_, Definition>, entry: &RegisteredTool, of: Described) {
    if let Some(preview) = &entry.preview_name {
        let required = entry.safeguards.requires_preview;
        let told = json!({"preview": preview, "required": required});
        add_meta(definition.to_mut(), extension::PLAN, &told);
    }
    if let Some(undo) = undo(entry, of) {
        add_meta(definition.to_mut(), extension::UNDO, &undo.to_value());
    }
}

/// Publishes the verdict, if it is the same for all calls and not `allow`.
fn add_verdict(definition: &mut Cow<'_, Definition>, verdict: Verdict, of_all: bool) {
    if of_all && verdict != Verdict::Allow {
        let told = json!({"verdict": verdict.as_str()});
        add_meta(definition.to_mut(), extension::APPROVAL, &told);
    }
}

fn add_meta(definition: &mut Definition, key: &str, value: &Value) {
    let meta = definition.meta.take().unwrap_or_default();
    definition.meta = Some(meta.with(key, value));
}

/// Returns true if there is no output schema, or one for an object.
fn has_object_output(definition: &Definition) -> bool {
    definition.output_schema.as_ref().is_none_or(|schema| {
        let schema: Result<Value, _> = serde_json::from_str(schema.get());
        schema.is_ok_and(|s| s.get("type").and_then(Value::as_str) == Some("object"))
    })
}

/// Returns the schema of the value in a box, with the definitions that it refers to.
fn unboxed(schema: &RawValue) -> Option<Box<RawValue>> {
    let mut schema: Value = serde_json::from_str(schema.get()).ok()?;
    let mut inner = schema["properties"][candor_schema::BOX_FIELD].take();
    if let Some(definitions) = schema.get_mut("$defs").map(Value::take) {
        inner.as_object_mut()?.insert("$defs".to_owned(), definitions);
    }
    Some(raw(&inner))
}
