//! The tools of a server.

use std::collections::HashMap;
use std::sync::Arc;

use candor_hints::{DeclaredHints, Effect, EffectiveHints};
use candor_protocol::Undo;
use candor_protocol::json::{Decode as _, Json, Object, RawValue, raw};
use candor_protocol::mirror::{Mirror, mirrors};
use candor_protocol::names::{argument, extension};
use candor_protocol::types::{Tool, ToolAnnotations};
use candor_schema::Schema;
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use tokio::sync::OnceCell;

use crate::compile::compile;

/// The tools of a server at one point in time.
#[derive(Debug, Default)]
pub struct Tools {
    tools: Vec<Arc<KnownTool>>,
    by_name: HashMap<String, usize>,
    left_out: Vec<UnusableTool>,
}

/// A tool that the server lists but the client cannot use.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct UnusableTool {
    /// Its name, or a placeholder if it has none.
    pub name: String,
    /// Why the client cannot use it.
    pub reason: String,
    /// The definition as received.
    pub definition: Box<RawValue>,
}

/// A tool that can be called.
#[derive(Debug)]
pub struct KnownTool {
    tool: Tool,
    input: Value,
    output: Option<Value>,
    pub(crate) mirrors: Vec<Mirror>,
    marks: Marks,
    /// Compiled on first use. `None` if the schema does not compile.
    checks_input: OnceCell<Option<Arc<Schema>>>,
    checks_output: OnceCell<Option<Arc<Schema>>>,
}

/// The `_meta` of a tool, as far as the client uses it.
#[derive(Debug, Default)]
struct Marks {
    resolvable: bool,
    has_table: bool,
    derives_keys: bool,
    /// The tool that previews its calls, and whether that tool must be called first.
    preview: Option<(String, bool)>,
    undo: Option<Undo>,
}

impl Marks {
    /// Reads the marks. An unreadable mark counts as absent: it is no reason to leave the tool out.
    fn read(meta: &Object) -> Self {
        let mark = |name: &str| meta.read::<Object>(name).ok().flatten().unwrap_or_default();
        let is_true = |mark: &Object, name: &str| mark.read(name).ok().flatten() == Some(true);
        let plan = mark(extension::PLAN);
        let preview = plan.read::<String>("preview").ok().flatten();
        let key = mark(extension::IDEMPOTENCY);
        let undo = meta.get(extension::UNDO);
        Self {
            resolvable: is_true(&mark(extension::TOOL_RESOLUTION), "resolvable"),
            has_table: mark(extension::DYNAMIC_ANNOTATIONS).get("effects").is_some(),
            derives_keys: key.read_str("key").ok().flatten().as_deref() == Some("derived"),
            preview: preview.map(|name| (name, is_true(&plan, "required"))),
            undo: undo
                .and_then(|undo| serde_json::from_str(undo.text()).ok())
                .and_then(|undo| Undo::read(&undo)),
        }
    }
}

impl Tools {
    pub(crate) fn add<'a>(&mut self, entries: impl IntoIterator<Item = Json<'a>>) {
        entries.into_iter().for_each(|entry| self.add_one(entry));
    }

    /// Adds a tool, or leaves it out: one invalid tool is no reason to lose the others.
    fn add_one(&mut self, entry: Json<'_>) {
        match KnownTool::read(entry) {
            Ok(tool) if self.by_name.contains_key(tool.name()) => {
                self.leave_out(entry, "another tool has the same name".to_owned());
            }
            Ok(tool) => {
                self.by_name.insert(tool.name().to_owned(), self.tools.len());
                self.tools.push(Arc::new(tool));
            }
            Err(problem) => self.leave_out(entry, problem),
        }
    }

    fn leave_out(&mut self, entry: Json<'_>, reason: String) {
        let object = Object::decode(entry).ok();
        let name = object.and_then(|o| o.read_str("name").ok().flatten().map(String::from));
        let name = name.unwrap_or_else(|| "(without a name)".to_owned());
        self.left_out.push(UnusableTool { name, reason, definition: entry.to_raw() });
    }

    /// Returns the tool of this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Arc<KnownTool>> {
        self.by_name.get(name).map(|at| &self.tools[*at])
    }

    /// Returns all tools, in the server's order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Arc<KnownTool>> {
        self.tools.iter()
    }

    /// Returns the number of tools.
    #[must_use]
    pub fn len(&self) -> usize {
        self.tools.len()
    }

    /// Returns true if there are no tools.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.tools.is_empty()
    }

    /// Returns the tools that the server lists but the client cannot use.
    #[must_use]
    pub fn left_out(&self) -> &[UnusableTool] {
        &self.left_out
    }

    /// Returns names of tools that are similar to this name.
    #[must_use]
    pub fn like(&self, name: &str) -> Vec<String> {
        let names = self.tools.iter().map(|tool| tool.name());
        candor_schema::nearest(name, names).map(str::to_owned).into_iter().collect()
    }
}

impl KnownTool {
    fn read(entry: Json<'_>) -> Result<Self, String> {
        let tool = Tool::decode(entry).map_err(|problem| problem.to_string())?;
        let value = |text: &str| serde_json::from_str::<Value>(text).map_err(|e| e.to_string());
        let input = value(tool.input_schema.get())?;
        if !input.is_object() {
            return Err("its input schema is not an object".to_owned());
        }
        let output = tool.output_schema.as_ref().map(|schema| value(schema.get())).transpose()?;
        let mirrors = mirrors(&input)?;
        let marks = tool.meta.as_ref().map(Marks::read).unwrap_or_default();
        Ok(Self {
            tool,
            input,
            output,
            mirrors,
            marks,
            checks_input: OnceCell::new(),
            checks_output: OnceCell::new(),
        })
    }

    /// Returns the tool's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.tool.name
    }

    /// Returns the tool's title, if it has one.
    #[must_use]
    pub fn title(&self) -> Option<&str> {
        let annotations = self.tool.annotations.as_ref();
        self.tool.title.as_deref().or_else(|| annotations.and_then(|a| a.title.as_deref()))
    }

    /// Returns the tool's description, if it has one.
    #[must_use]
    pub fn description(&self) -> Option<&str> {
        self.tool.description.as_deref()
    }

    /// Returns the schema of the arguments.
    #[must_use]
    pub fn input_schema(&self) -> &Value {
        &self.input
    }

    /// Returns the schema of the structured results, if the tool has one.
    #[must_use]
    pub fn output_schema(&self) -> Option<&Value> {
        self.output.as_ref()
    }

    /// Returns the definition as received.
    #[must_use]
    pub fn definition(&self) -> &Tool {
        &self.tool
    }

    /// Returns the hints that the tool declares for all its calls, with the default where it declares nothing. They are the
    /// server's own claims: see [`Trust`](crate::Trust).
    #[must_use]
    pub fn declared(&self) -> EffectiveHints {
        self.annotations().effective()
    }

    pub(crate) fn annotations(&self) -> DeclaredHints {
        let annotations = self.tool.annotations.as_ref();
        annotations.map(|said| declared(said, self.tool.meta.as_ref())).unwrap_or_default()
    }

    /// Returns true if the tool declares any hint.
    pub(crate) fn declares(&self) -> bool {
        self.annotations() != DeclaredHints::default()
    }

    /// Returns true if the effect of a call depends on its arguments, and `tools/annotations` evaluates it.
    #[must_use]
    pub fn is_dynamic(&self) -> bool {
        self.tool.dynamic_annotations == Some(true)
    }

    /// Returns true if the effect of a call depends on its arguments, and `tools/resolve` evaluates it.
    #[must_use]
    pub fn is_resolvable(&self) -> bool {
        self.marks.resolvable
    }

    /// Returns true if the tool has an effect table: the same arguments always have the same effect. Candor servers publish its
    /// rows.
    pub(crate) fn has_table(&self) -> bool {
        self.marks.has_table
    }

    /// Returns a digest of the definition. Another digest is another tool, even under the same name.
    pub(crate) fn digest(&self) -> [u8; 32] {
        Sha256::digest(raw(&self.tool).get()).into()
    }

    /// Returns the tool that previews calls, and whether it must be called first.
    #[must_use]
    pub fn preview(&self) -> Option<(&str, bool)> {
        self.marks.preview.as_ref().map(|(name, required)| (name.as_str(), *required))
    }

    /// Returns what the tool says about undoing its calls, or `None` if it says nothing.
    #[must_use]
    pub fn undo(&self) -> Option<&Undo> {
        self.marks.undo.as_ref()
    }

    /// Returns true if the tool has an argument for a key.
    pub(crate) fn takes_key_argument(&self) -> bool {
        self.input.get("properties").is_some_and(|p| p.get(argument::IDEMPOTENCY_KEY).is_some())
    }

    /// Returns true if the tool requires a key among its arguments.
    pub(crate) fn demands_key(&self) -> bool {
        let required = self.input.get("required").and_then(Value::as_array);
        required
            .is_some_and(|required| required.iter().any(|name| name == argument::IDEMPOTENCY_KEY))
    }

    /// Returns true if the server derives the key of a call from its arguments.
    pub(crate) fn derives_keys(&self) -> bool {
        self.marks.derives_keys
    }

    pub(crate) async fn input_check(&self) -> Option<&Schema> {
        self.checks_input.get_or_init(|| compiled(&self.tool.name, &self.input)).await.as_deref()
    }

    pub(crate) async fn output_check(&self) -> Option<&Schema> {
        let output = self.output.as_ref()?;
        self.checks_output.get_or_init(|| compiled(&self.tool.name, output)).await.as_deref()
    }
}

async fn compiled(tool: &str, schema: &Value) -> Option<Arc<Schema>> {
    let compiled = compile(schema).await;
    compiled
        .inspect_err(
            |error| tracing::warn!(tool, %error, "a schema that cannot be checked against"),
        )
        .ok()
}

/// Returns the effect that the server declares beside its hints. An unreadable effect counts as absent.
fn effect(meta: &Object) -> Option<Effect> {
    let beside: Object = meta.read(extension::DYNAMIC_ANNOTATIONS).ok()??;
    Effect::from_word(&beside.read_str("effect").ok()??)
}

/// Reads the hints, and the effect beside them in the metadata.
pub(crate) fn declared(annotations: &ToolAnnotations, meta: Option<&Object>) -> DeclaredHints {
    DeclaredHints {
        effect: meta.and_then(effect),
        read_only: annotations.read_only_hint,
        destructive: annotations.destructive_hint,
        idempotent: annotations.idempotent_hint,
        open_world: annotations.open_world_hint,
    }
}
