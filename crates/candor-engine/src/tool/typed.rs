//! Tools made from functions: what `#[tool]` builds.

use std::marker::PhantomData;
use std::sync::Arc;

use candor_hints::Annotations;
use candor_protocol::json::{RawValue, raw};
use candor_protocol::types::{Tool as Definition, ToolAnnotations};
use candor_schema::{InputSchema, OutputSchema, Schema};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::arguments::Arguments;
use super::fallback::{self, Derived};
use super::{Effects, Idempotency, Invalid, Output, Prepared, Safeguards, Tool, ToolError};
use super::{coverage, effects};
use crate::ctx::Ctx;
use crate::ctx::Need;
use candor_hints::AskLevel;

/// A tool made from a function.
pub struct TypedTool {
    definition: Definition,
    derived: Derived,
    prepare: Box<PrepareArguments>,
    mistakes: Vec<String>,
    /// Whether the last mistake is a row that the derived schema rules out.
    has_dead_row: bool,
    needs: Vec<Need>,
    effects: Effects,
    idempotency: Idempotency,
    ask: AskLevel,
    recorded: Vec<String>,
    safeguards: Safeguards,
}

type PrepareArguments = dyn Fn(&Arguments) -> Result<Box<dyn Prepared>, Invalid> + Send + Sync;

/// A tool that `#[tool]` makes from a function. The function itself stays unchanged.
#[diagnostic::on_unimplemented(
    message = "`tools![…]` lists functions that are marked `#[tool]`, and this one is not",
    label = "put `#[tool(…)]` on this function",
    note = "the brackets declare what a call does: `#[tool(reads)]`, `#[tool(adds)]`, `#[tool(changes)]` or `#[tool(deletes)]`",
    note = "a toolbox is added with `.tools(value.into_tools())`"
)]
pub trait ToolFn {
    /// Returns the tool. It derives the schemas, so it is called once, when the tool is registered.
    fn tool() -> TypedTool;
}

/// Tools that share a value: what `#[toolbox]` makes from an `impl`.
pub trait ToolBox: Send + Sync + Sized + 'static {
    /// Returns the tools of a shared value.
    fn tools_of(this: &Arc<Self>) -> Vec<Arc<dyn Tool>>;

    /// Returns the tools of this value.
    fn into_tools(self) -> Vec<Arc<dyn Tool>> {
        Self::tools_of(&Arc::new(self))
    }
}

/// What is known of a function besides its types.
#[derive(Default)]
pub struct ToolSpec {
    /// The tool's name.
    pub name: &'static str,
    /// Its name for users.
    pub title: Option<&'static str>,
    /// What it does.
    pub description: Option<&'static str>,
    /// The effects of its calls.
    pub effects: Effects,
    /// How the server recognizes a repeated call.
    pub idempotency: Idempotency,
    /// What its author declares besides its effects.
    pub safeguards: Safeguards,
    /// The author's minimum ask level.
    pub ask: AskLevel,
    /// The arguments whose values history may show.
    pub recorded: &'static [&'static str],
    /// The state that it cannot run without.
    pub needs: Vec<Need>,
}

/// Functions that compute something about a call from its arguments, before it runs.
pub struct ArgumentFns<A> {
    /// Computes what it does.
    pub annotations: Option<fn(&A) -> Annotations>,
    /// Computes its key.
    pub key: Option<fn(&A) -> String>,
}

impl<A> Clone for ArgumentFns<A> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<A> Copy for ArgumentFns<A> {}

/// A schema that the author gives instead of the derived one. It is published as written.
pub struct GivenSchema {
    text: Box<RawValue>,
    /// It is derived from a type; no author gave it.
    derived: bool,
}

impl GivenSchema {
    fn given(text: Box<RawValue>) -> Self {
        Self { text, derived: false }
    }
}

impl From<&str> for GivenSchema {
    /// Takes JSON text, kept byte for byte. A text that is not JSON is refused when the tool is registered.
    fn from(text: &str) -> Self {
        let schema = RawValue::from_string(text.trim().to_owned());
        // No schema is a string, so a string is an error message.
        Self::given(
            schema.unwrap_or_else(|e| raw(&format!("a schema was given that is not JSON: {e}"))),
        )
    }
}

impl From<Value> for GivenSchema {
    fn from(schema: Value) -> Self {
        Self::given(raw(&schema))
    }
}

/// How a function takes its arguments.
pub struct Input<A> {
    schema: Box<RawValue>,
    derived: bool,
    /// The derived schema with the bounds of every integer type. Empty if none is derived.
    bounded: Value,
    /// Mistakes in what the author requires of the parameters.
    mistakes: Vec<String>,
    read: Arc<ReadArguments<A>>,
}

impl<A> Clone for Input<A> {
    fn clone(&self) -> Self {
        let Self { schema, derived, bounded, mistakes, read } = self;
        Self {
            schema: schema.clone(),
            derived: *derived,
            bounded: bounded.clone(),
            mistakes: mistakes.clone(),
            read: read.clone(),
        }
    }
}

pub(crate) type ReadArguments<A> = dyn Fn(&Arguments) -> Result<A, Invalid> + Send + Sync;

impl<A: DeserializeOwned + JsonSchema + 'static> Input<A> {
    /// Takes one property for each parameter.
    #[must_use]
    pub fn parameters() -> Self {
        Self::derived::<A>(Arc::new(read::<A>))
    }

    /// Takes one parameter: a struct *is* the arguments, anything else is one property.
    #[must_use]
    pub fn parameter<T: DeserializeOwned + JsonSchema + 'static>(wrap: fn(T) -> A) -> Self {
        let is_struct = fallback::derive(candor_schema::is_struct::<T>);
        if is_struct.unwrap_or_else(|_| fallback::reads_struct::<T>()) {
            Self::derived::<T>(Arc::new(move |arguments| read::<T>(arguments).map(wrap)))
        } else {
            Self::parameters()
        }
    }

    fn derived<T: JsonSchema>(read: Arc<ReadArguments<A>>) -> Self {
        let (schema, bounded, mistakes) = match fallback::derive(candor_schema::input_schema::<T>) {
            Ok(InputSchema { schema, bounded, mistakes }) => (raw(&schema), bounded, mistakes),
            Err(complaint) => (complaint, Value::Null, Vec::new()),
        };
        Self { schema, derived: true, bounded, mistakes, read }
    }
}

impl<A> Input<A> {
    /// Returns the schema, and the function that reads arguments that match it.
    pub(crate) fn into_parts(self) -> (Box<RawValue>, Arc<ReadArguments<A>>) {
        (self.schema, self.read)
    }

    /// Publishes the author's own schema. The parameters are read from arguments that match it.
    #[must_use]
    pub fn publishing(self, schema: impl Into<GivenSchema>) -> Self {
        let schema = schema.into().text;
        Self { schema, derived: false, bounded: Value::Null, mistakes: Vec::new(), ..self }
    }
}

impl Input<Arguments> {
    /// Takes any object, unchanged.
    #[must_use]
    pub fn anything() -> Self {
        Self::raw(candor_schema::permissive())
    }

    /// Takes any arguments that the author's own schema allows, unchanged.
    #[must_use]
    pub fn raw(schema: impl Into<GivenSchema>) -> Self {
        let read = Arc::new(|arguments: &Arguments| Ok(arguments.clone()));
        let schema = schema.into().text;
        Self { schema, derived: false, bounded: Value::Null, mistakes: Vec::new(), read }
    }
}

fn read<A: DeserializeOwned>(arguments: &Arguments) -> Result<A, Invalid> {
    candor_schema::read(arguments.as_value())
}

impl TypedTool {
    /// Builds a tool.
    pub fn new<A, F, R>(
        spec: ToolSpec,
        input: Input<A>,
        asked: ArgumentFns<A>,
        output: Option<GivenSchema>,
        run: F,
    ) -> Self
    where
        A: Send + 'static,
        F: Fn(A, Ctx) -> R + Send + Sync + Clone + 'static,
        R: Future<Output = Result<Output, ToolError>> + Send + 'static,
    {
        let derived = Derived {
            input: input.derived,
            output: output.as_ref().is_some_and(|output| output.derived),
        };
        let mut definition = Definition::new(spec.name, input.schema);
        definition.title = spec.title.map(str::to_owned);
        definition.description = spec.description.map(str::to_owned);
        definition.output_schema = output.map(|given| given.text);
        if let Effects::Fixed(declared) = &spec.effects {
            let mut annotations = ToolAnnotations::new();
            effects::write(*declared, &mut annotations);
            definition.annotations = Some(annotations);
        }
        let mut mistakes = input.mistakes;
        let dead_row =
            if mistakes.is_empty() { dead_row(&spec.effects, &input.bounded) } else { None };
        let has_dead_row = dead_row.is_some();
        mistakes.extend(dead_row);
        let read = input.read;
        let prepare = move |arguments: &Arguments| -> Result<Box<dyn Prepared>, Invalid> {
            let arguments = read(arguments)?;
            let ready = ReadyTool { arguments, asked, run: run.clone(), _ran: PhantomData };
            Ok(Box::new(ready))
        };
        Self {
            definition,
            derived,
            prepare: Box::new(prepare),
            mistakes,
            has_dead_row,
            needs: spec.needs,
            effects: spec.effects,
            idempotency: spec.idempotency,
            safeguards: spec.safeguards,
            ask: spec.ask,
            recorded: spec.recorded.iter().map(|&name| name.to_owned()).collect(),
        }
    }
}

impl TypedTool {
    /// Changes the definition in any way: another name, icons, metadata.
    #[must_use]
    pub fn define(mut self, change: impl FnOnce(&mut Definition)) -> Self {
        let text = |schema: Option<&RawValue>| schema.map(|schema| schema.get().to_owned());
        let schemas = |definition: &Definition| {
            (text(Some(&definition.input_schema)), text(definition.output_schema.as_deref()))
        };
        let before = schemas(&self.definition);
        change(&mut self.definition);
        // A schema that the author changes here is no longer derived.
        let after = schemas(&self.definition);
        self.derived.input &= before.0 == after.0;
        self.derived.output &= before.1 == after.1;
        if !self.derived.input && std::mem::take(&mut self.has_dead_row) {
            self.mistakes.pop();
        }
        self
    }
}

/// Finds a row that no call matches because an `i64` cannot have its values. The published schema does not show that: there,
/// `i64` is the plain integer of JSON.
fn dead_row(effects: &Effects, bounded: &Value) -> Option<String> {
    let Effects::Table(table) = effects else { return None };
    let is_usable = bounded.is_object() && Schema::compile(&bounded.to_string()).is_ok();
    // Without a usable schema, the server ignores the table.
    is_usable.then(|| coverage::complete(table, bounded).err()).flatten()
}

/// How a value is carried as structured content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Carried {
    /// As it is.
    Bare,
    /// In a box of one field.
    Boxed,
    /// The type is unknown until the value exists: an object as it is, `null` not at all, anything else in a box.
    AsItComes,
}

/// Returns the published form of a derived output schema, and how values are carried.
#[must_use]
pub fn published(
    derivation: impl FnOnce() -> Option<OutputSchema>,
) -> (Option<GivenSchema>, Carried) {
    match fallback::derive(derivation) {
        Ok(derived) => {
            let carried = carried(derived.as_ref());
            let text = derived.map(|derived| raw(&derived.schema));
            (text.map(|text| GivenSchema { text, derived: true }), carried)
        }
        Err(text) => (Some(GivenSchema { text, derived: true }), Carried::AsItComes),
    }
}

/// Returns the author's own output schema, and how values are carried. That is the same as without it, with one exception: a value
/// that is no object by that schema needs no box.
#[must_use]
pub fn published_as(
    schema: impl Into<GivenSchema>,
    derivation: impl FnOnce() -> Option<OutputSchema>,
) -> (Option<GivenSchema>, Carried) {
    let given = schema.into();
    let of_object = serde_json::from_str::<Value>(given.text.get())
        .is_ok_and(|schema| schema.get("type").is_none_or(|name| name == "object"));
    let derived = || fallback::derive(derivation).unwrap_or_default();
    let carried = if of_object { carried(derived().as_ref()) } else { Carried::Bare };
    (Some(given), carried)
}

fn carried(derived: Option<&OutputSchema>) -> Carried {
    match derived {
        None => Carried::AsItComes,
        Some(OutputSchema { boxed: true, .. }) => Carried::Boxed,
        Some(_) => Carried::Bare,
    }
}

impl Tool for TypedTool {
    fn definition(&self) -> &Definition {
        &self.definition
    }

    fn prepare(&self, arguments: Arguments) -> Result<Box<dyn Prepared>, Invalid> {
        (self.prepare)(&arguments)
    }

    fn effects(&self) -> Effects {
        self.effects.clone()
    }

    fn idempotency(&self) -> Idempotency {
        self.idempotency
    }

    fn safeguards(&self) -> Safeguards {
        self.safeguards.clone()
    }

    fn ask(&self) -> AskLevel {
        self.ask
    }

    fn recorded(&self) -> &[String] {
        &self.recorded
    }

    fn needs(&self) -> &[Need] {
        &self.needs
    }

    fn derived(&self) -> Derived {
        self.derived
    }

    fn mistakes(&self) -> &[String] {
        &self.mistakes
    }
}

/// Typed arguments and the function that takes them.
struct ReadyTool<A, F, R> {
    arguments: A,
    asked: ArgumentFns<A>,
    run: F,
    _ran: PhantomData<fn() -> R>,
}

impl<A, F, R> Prepared for ReadyTool<A, F, R>
where
    A: Send + 'static,
    F: Fn(A, Ctx) -> R + Send + Sync + 'static,
    R: Future<Output = Result<Output, ToolError>> + Send + 'static,
{
    fn annotations(&self) -> Option<Annotations> {
        self.asked.annotations.map(|annotations| annotations(&self.arguments))
    }

    fn key(&self) -> Option<String> {
        self.asked.key.map(|key| key(&self.arguments))
    }

    fn run(self: Box<Self>, ctx: Ctx) -> BoxFuture<'static, Result<Output, ToolError>> {
        (self.run)(self.arguments, ctx).boxed()
    }
}
