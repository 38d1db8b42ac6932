//! A tool with everything that is known about it before a call.

use std::sync::{Arc, OnceLock};

use candor_hints::{AskLevel, EffectiveHints, HintSource, Hints};
use candor_protocol::json::{Decode as _, Object, RawValue, raw};
use candor_protocol::mirror::{Mirror, mirrors};
use candor_protocol::names::extension;
use candor_protocol::types::{Tool as Definition, ToolAnnotations};
use candor_schema::Schema;
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

use super::arguments::Arguments;
use super::fallback::{self, Derived, SchemaProblem, SchemaRole};
use super::idempotency::{self, Idempotency, KEY_ARGUMENT};
use super::safeguards::{PLAN_ARGUMENT, Safeguards};
use super::split::{self, SplitTool};
use super::{Effects, Tool, coverage, effects, secret, warning};

/// The warning for a tool without a description: models see only its name.
const UNDESCRIBED: &str = "it has no description, so models see no more than its name: write a comment (`///`) above the function, or \
     add `.description(…)`";

/// The error for a definition that promises what the tool cannot do.
const UNEVALUATED: &str = "its definition says `dynamicAnnotations: true`, but nothing evaluates its calls: declare effects that \
     depend on arguments, such as `.effects(table)` or `.effects_by(…)`, or remove the member";

/// A checked tool.
pub struct RegisteredTool {
    pub(crate) tool: Arc<dyn Tool>,
    /// The definition as listed: the author's, with what the framework adds.
    pub(crate) definition: Definition,
    /// The schema of the arguments, without those of the framework.
    pub(crate) input: Arc<Schema>,
    pub(crate) output: Option<Arc<Schema>>,
    pub(crate) mirrors: Vec<Mirror>,
    pub(crate) effects: Effects,
    /// How the server recognizes a repeated call.
    pub(crate) idempotency: Idempotency,
    /// Whether the author's function takes the key argument itself.
    pub(crate) takes_key: bool,
    /// The author's minimum ask level.
    pub(crate) ask: AskLevel,
    /// Whether results are in a box of one field.
    pub(crate) boxed: bool,
    pub(crate) safeguards: Safeguards,
    /// The tool that shows what a call would do.
    pub(crate) preview_name: Option<String>,
    /// Whether it replaces a tool that cannot be used.
    pub(super) broken: bool,
    /// The schemas of its types that cannot be used and are replaced.
    pub(crate) schema_problems: Vec<SchemaProblem>,
    digest: OnceLock<[u8; 32]>,
}

impl RegisteredTool {
    /// Checks a tool. Fails with what is wrong with it.
    pub(crate) fn of(tool: Arc<dyn Tool>) -> Result<Self, String> {
        let definition = tool.definition().clone();
        if definition.description.as_deref().is_none_or(|text| text.trim().is_empty()) {
            warning::once(&definition.name, UNDESCRIBED);
        }
        let (effects, derived) = (tool.effects(), tool.derived());
        let entry = Self::checked(tool, definition, effects, derived)?;
        entry.schema_problems.iter().for_each(|problem| problem.warn(entry.name()));
        Ok(entry)
    }

    /// Returns the entry for the replacement of a tool that cannot be used.
    pub(super) fn broken(tool: Arc<dyn Tool>) -> Result<Self, String> {
        let (definition, effects) = (tool.definition().clone(), tool.effects());
        let entry = Self::checked(tool, definition, effects, Derived::default())?;
        Ok(Self { broken: true, ..entry })
    }

    /// Returns the preview that is made with this tool: it takes the tool's arguments and runs `plan`.
    pub(super) fn preview(&self, plan: Arc<dyn Tool>) -> Result<Self, String> {
        let name = self.preview_name.clone().unwrap_or_default();
        if name.len() > split::LONGEST_NAME {
            return Err(format!(
                "the name of its preview, {name:?}, has more than {} characters",
                split::LONGEST_NAME
            ));
        }
        let mut definition = plan.definition().clone();
        definition.name = name;
        definition.input_schema = self.tool.definition().input_schema.clone();
        let token = match self.safeguards.requires_preview {
            true => format!(" Its answer has the {PLAN_ARGUMENT} that {} needs.", self.name()),
            false => String::new(),
        };
        definition.description = Some(format!(
            "Shows what {} would do with the same arguments, without doing it.{token}",
            self.name()
        ));
        // The preview of a local tool is local, too.
        let reads = match self.effects.worst().hints.is_open_world() {
            true => Hints::READS,
            false => Hints::READS.closed_world(),
        };
        definition.annotations = Some(effects::hint_annotations(reads));
        let derived = Derived { output: false, ..self.tool.derived() };
        Self::checked(plan, definition, Effects::Fixed(reads.declared()), derived)
    }

    fn checked(
        tool: Arc<dyn Tool>,
        mut definition: Definition,
        effects: Effects,
        derived: Derived,
    ) -> Result<Self, String> {
        let mistakes = tool.mistakes();
        if !mistakes.is_empty() {
            return Err(mistakes.join("; "));
        }
        warn_about_name(&definition.name);
        definition.drop_nulls();
        let (usable, mut schema_problems) = usable_input(&mut definition, derived)?;
        let InputSchema { mut schema, compiled: input } = usable;
        if spell_out_properties(&mut schema) {
            definition.input_schema = raw(&schema);
        }
        let mirrors = mirrors(&schema)?;
        let is_checked = schema_problems.is_empty();
        let output = usable_output(&mut definition, derived, &mut schema_problems)?;
        fallback::mark(&mut definition, &schema_problems);
        let mut recorded = tool.recorded().iter();
        if let Some(argument) = recorded.find(|name| is_checked && secret::is_in(&schema, name)) {
            return Err(format!(
                "history cannot show `{argument}`: its schema marks it as a secret"
            ));
        }
        let boxed = definition.output_schema.as_deref().is_some_and(is_boxed);
        let effects = match effects {
            // Arguments that no schema checks may mean something else to the type than to the table.
            Effects::Table(_) if !is_checked => {
                let annotations = definition.annotations.get_or_insert_with(ToolAnnotations::new);
                effects::write(Hints::WORST.declared(), annotations);
                definition.dynamic_annotations = None;
                Effects::Fixed(Hints::WORST.declared())
            }
            Effects::Table(table) => Effects::Table(Arc::new(coverage::complete(&table, &schema)?)),
            other => other,
        };
        let (idempotency, ask) = (tool.idempotency(), tool.ask());
        let mut takes_key = false;
        let mut published = schema;
        if idempotency.has_argument() {
            let with_key = idempotency::with_key(&published, idempotency)?;
            definition.input_schema = raw(&with_key.schema);
            published = with_key.schema;
            // Also if the type's own schema is replaced: the argument is the author's, not the framework's.
            takes_key = with_key.authors || names_key(tool.definition());
        }
        let safeguards = tool.safeguards();
        let preview_name = safeguards.preview_name(&definition.name);
        if safeguards.requires_preview {
            let Some(preview) = &preview_name else {
                return Err("it requires a preview, and has none".to_owned());
            };
            let always = !effects.is_dynamic();
            definition.input_schema = raw(&with_plan(published, preview, always)?);
        }
        if idempotency != Idempotency::Beside {
            let said = json!({"key": idempotency.as_str()});
            let meta = definition.meta.take().unwrap_or_default();
            definition.meta = Some(meta.with(extension::IDEMPOTENCY, &said));
        }
        // `{}` declares nothing, so it is not sent.
        definition.annotations.take_if(|declared| raw(declared).get() == "{}");
        if let (true, Some(annotations)) = (idempotency.is_certain(), &mut definition.annotations) {
            annotations.idempotent_hint = Some(true);
        }
        let entry = Self {
            tool,
            definition,
            input,
            output,
            mirrors,
            effects,
            idempotency,
            takes_key,
            ask,
            boxed,
            safeguards,
            preview_name,
            broken: false,
            schema_problems,
            digest: OnceLock::new(),
        };
        if entry.definition.dynamic_annotations == Some(true) && !entry.is_dynamic() {
            return Err(UNEVALUATED.to_owned());
        }
        Ok(entry)
    }

    /// Returns the tool's name, even if a part of it was called.
    pub(crate) fn name(&self) -> &str {
        &self.definition.name
    }

    /// Returns the arguments without the key, which differs between operations. If the tool has no key argument, an argument of
    /// that name is like any other.
    pub(crate) fn without_key(&self, arguments: &Arguments) -> Arguments {
        let arguments = arguments.clone();
        if self.idempotency.has_argument() { arguments.without(KEY_ARGUMENT) } else { arguments }
    }

    /// Returns a digest of the tool's definition. Another digest means another tool, whatever its name.
    pub(crate) fn digest(&self) -> &[u8; 32] {
        self.digest.get_or_init(|| Sha256::digest(raw(&self.definition).get()).into())
    }

    /// Returns false if the input schema of the tool's types cannot be used, so that only the types check the arguments.
    fn has_input(&self) -> bool {
        !self.schema_problems.iter().any(|problem| problem.role == SchemaRole::Input)
    }

    /// Returns the arguments whose values history may show: none, if no schema tells which arguments are secrets.
    pub(crate) fn recorded(&self) -> &[String] {
        if self.has_input() { self.tool.recorded() } else { &[] }
    }

    /// Returns the arguments with their secrets redacted.
    pub(crate) fn covered(&self, arguments: &Value) -> Value {
        let definition = if self.has_input() { &self.definition } else { self.tool.definition() };
        let schema = serde_json::from_str(definition.input_schema.get()).unwrap_or_default();
        secret::covered(&schema, arguments)
    }

    /// Returns true if the effect depends on the arguments, even if only on the key, which makes a call safe to retry.
    pub(crate) fn is_dynamic(&self) -> bool {
        self.effects.is_dynamic() || self.is_keyed_at_will()
    }

    /// Returns true if an optional key argument makes a call safe to retry.
    pub(super) fn is_keyed_at_will(&self) -> bool {
        self.idempotency == Idempotency::Argument
            && self.effects.declares()
            && !self.effects.worst().hints.is_idempotent()
    }

    /// Returns the worst case of all calls.
    pub(crate) fn worst(&self) -> EffectiveHints {
        self.of_keyed(self.effects.worst(), false)
    }

    /// Takes the key of a call into account: with a key, the call is safe to retry.
    pub(crate) fn of_keyed(&self, effective: EffectiveHints, has_key: bool) -> EffectiveHints {
        let by_key = has_key || self.idempotency.is_certain();
        if !by_key || effective.hints.is_idempotent() {
            return effective;
        }
        let [read_only, destructive, _, open_world] = effective.sources;
        let source = if has_key { HintSource::Resolved } else { HintSource::Declared };
        EffectiveHints {
            hints: effective.hints.idempotent(),
            sources: [read_only, destructive, source, open_world],
        }
    }

    /// Returns the hints of a call with their sources, so that an assumption is not taken for a declaration.
    pub(crate) fn with_sources(&self, hints: Hints) -> EffectiveHints {
        match self.effects {
            Effects::Unclassified | Effects::Fixed(_) => {
                EffectiveHints { hints, sources: self.effects.worst().sources }
            }
            Effects::Table(_) | Effects::Function(_) | Effects::Asked { .. } => {
                EffectiveHints::resolved(hints)
            }
        }
    }

    /// Returns the parts that the tool can be listed as.
    pub(super) fn parts(&self) -> Result<Vec<SplitTool>, String> {
        let Effects::Table(table) = &self.effects else { return Ok(Vec::new()) };
        let definition = &self.definition;
        let schema =
            serde_json::from_str(definition.input_schema.get()).map_err(|e| e.to_string())?;
        let mut parts = split::parts(definition, table, &schema)?;
        for part in &mut parts {
            let hints = part.definition.annotations.get_or_insert_with(ToolAnnotations::new);
            if self.idempotency.is_certain() {
                hints.idempotent_hint = Some(true);
                part.hints = part.hints.idempotent();
            }
            part.varies |= self.is_keyed_at_will() && hints.idempotent_hint != Some(true);
        }
        Ok(parts)
    }
}

/// Returns an input schema with the argument for the plan token.
fn with_plan(mut schema: Value, preview: &str, always: bool) -> Result<Value, String> {
    let told = format!("The {PLAN_ARGUMENT} from a fresh {preview} with the same arguments.");
    let properties = schema["properties"].as_object_mut();
    let property = json!({"type": "string", "description": told});
    match properties {
        None => schema["properties"] = json!({PLAN_ARGUMENT: property}),
        Some(properties) => {
            if properties.insert(PLAN_ARGUMENT.to_owned(), property).is_some() {
                return Err(format!("its argument `{PLAN_ARGUMENT}` is for the framework to add"));
            }
        }
    }
    if always {
        match schema["required"].as_array_mut() {
            None => schema["required"] = json!([PLAN_ARGUMENT]),
            Some(required) => required.push(PLAN_ARGUMENT.into()),
        }
    }
    Ok(schema)
}

/// A usable input schema.
pub(super) struct InputSchema {
    schema: Value,
    compiled: Arc<Schema>,
}

/// Returns the input schema. Replaces it if it is derived from a type and cannot be used.
fn usable_input(
    definition: &mut Definition,
    derived: Derived,
) -> Result<(InputSchema, Vec<SchemaProblem>), String> {
    match input(&definition.input_schema) {
        Ok(usable) => Ok((usable, Vec::new())),
        Err(problem) if derived.input => {
            definition.input_schema = raw(&candor_schema::permissive());
            let problem = SchemaProblem::of(SchemaRole::Input, problem);
            Ok((input(&definition.input_schema)?, vec![problem]))
        }
        Err(problem) => Err(problem),
    }
}

/// Compiles the output schema, if there is one. Removes it if it is derived from a type and cannot be used.
fn usable_output(
    definition: &mut Definition,
    derived: Derived,
    problems: &mut Vec<SchemaProblem>,
) -> Result<Option<Arc<Schema>>, String> {
    let Some(written) = definition.output_schema.as_deref() else { return Ok(None) };
    match compiled_output(written) {
        Ok((mut schema, compiled)) => {
            if spell_out_properties(&mut schema) {
                definition.output_schema = Some(raw(&schema));
            }
            Ok(Some(compiled))
        }
        Err(problem) if derived.output => {
            definition.output_schema = None;
            problems.push(SchemaProblem::of(SchemaRole::Output, problem));
            Ok(None)
        }
        Err(problem) => Err(format!("output schema: {problem}")),
    }
}

fn compiled_output(written: &RawValue) -> Result<(Value, Arc<Schema>), String> {
    let schema = read(written)?;
    let compiled = Schema::compile(written.get()).map_err(|e| e.to_string())?;
    Ok((schema, compiled))
}

/// Writes the schemas `true` and `false` of the root's properties as objects, and returns true if there were any. The protocol
/// requires objects there, and strict clients refuse the whole list otherwise.
fn spell_out_properties(schema: &mut Value) -> bool {
    let properties = schema.get_mut("properties").and_then(Value::as_object_mut);
    let mut changed = false;
    for property in properties.into_iter().flat_map(Map::values_mut) {
        if let Value::Bool(anything) = *property {
            *property = if anything { json!({}) } else { json!({"not": {}}) };
            changed = true;
        }
    }
    changed
}

/// Returns true if a schema is that of a box.
fn is_boxed(schema: &RawValue) -> bool {
    Object::decode(schema.into())
        .is_ok_and(|schema| schema.get(candor_schema::BOX_KEYWORD).is_some())
}

/// Returns true if both schemas of a definition can be compiled.
pub(super) fn has_usable_schemas(definition: &Definition) -> bool {
    let output = definition.output_schema.as_deref().map(compiled_output);
    input(&definition.input_schema).is_ok() && !matches!(output, Some(Err(_)))
}

fn input(written: &RawValue) -> Result<InputSchema, String> {
    let schema = read(written)?;
    if schema.get("type").and_then(Value::as_str) != Some("object") {
        return Err(r#"the root of the input schema must be "type": "object""#.to_owned());
    }
    let compiled = Schema::compile(written.get()).map_err(|e| format!("input schema: {e}"))?;
    Ok(InputSchema { schema, compiled })
}

/// Returns true if the author's function takes the key argument itself.
fn names_key(definition: &Definition) -> bool {
    let schema: Option<Value> = serde_json::from_str(definition.input_schema.get()).ok();
    schema.is_some_and(|schema| schema["properties"].get(KEY_ARGUMENT).is_some())
}

/// Parses a schema. A string instead of a schema is the reason why there is none.
fn read(schema: &RawValue) -> Result<Value, String> {
    match serde_json::from_str(schema.get()).map_err(|e| e.to_string())? {
        Value::String(complaint) => Err(complaint),
        schema => Ok(schema),
    }
}

fn warn_about_name(name: &str) {
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-');
    if name.is_empty() || name.len() > 64 || !name.bytes().all(plain) {
        warning::once(name, "hosts may refuse this name: use 1 to 64 of A-Z a-z 0-9 _ -");
    }
}
