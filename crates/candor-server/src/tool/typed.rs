//! Tools made of functions: what `#[tool]` builds.

use std::marker::PhantomData;
use std::sync::Arc;

use candor_hints::Hints;
use candor_protocol::json::{RawValue, raw};
use candor_protocol::types::{Tool as Definition, ToolAnnotations};
use candor_schema::OutputSchema;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::effects;
use super::{Effects, Idempotency, Invalid, Output, Prepared, Safeguards, Tool, ToolError};
use crate::arguments::Arguments;
use crate::ctx::Ctx;
use crate::state::Need;
use candor_hints::Ask;

/// A tool made of a function.
pub struct TypedTool {
    definition: Definition,
    prepare: Box<Prepare>,
    needs: Vec<Need>,
    effects: Effects,
    idempotency: Idempotency,
    ask: Ask,
    recorded: Vec<String>,
    safeguards: Safeguards,
}

type Prepare = dyn Fn(&Arguments) -> Result<Box<dyn Prepared>, Invalid> + Send + Sync;

/// Names a tool that `#[tool]` has made of a function; the function itself stays what it was.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no function that is marked `#[tool]`",
    note = "a toolbox is added with `.tools(value.into_tools())`"
)]
pub trait ToolFn {
    /// The tool. Derives its schemas, so it is called once, when the tool is registered.
    fn tool() -> TypedTool;
}

/// Tools that share a value: what `#[toolbox]` makes of an `impl`.
pub trait ToolBox: Send + Sync + Sized + 'static {
    /// The tools of a shared value.
    fn tools_of(this: &Arc<Self>) -> Vec<Arc<dyn Tool>>;

    /// The tools of this value.
    fn into_tools(self) -> Vec<Arc<dyn Tool>> {
        Self::tools_of(&Arc::new(self))
    }
}

/// What is known of a function besides its types.
#[derive(Default)]
pub struct Spec {
    /// The tool's name.
    pub name: &'static str,
    /// Its name for people.
    pub title: Option<&'static str>,
    /// What it does.
    pub description: Option<&'static str>,
    /// What its calls do.
    pub effects: Effects,
    /// How its calls are recognised when they come again.
    pub idempotency: Idempotency,
    /// What its author declares beside.
    pub safeguards: Safeguards,
    /// Which of its calls a person is asked about, at least.
    pub ask: Ask,
    /// The arguments whose values may stand in history.
    pub recorded: &'static [&'static str],
    /// What must be there for it to run.
    pub needs: Vec<Need>,
}

/// What can be found out of a call from its arguments, before it runs.
pub struct Asked<A> {
    /// What it does.
    pub hints: Option<fn(&A) -> Hints>,
    /// The key that they make.
    pub key: Option<fn(&A) -> String>,
}

impl<A> Clone for Asked<A> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<A> Copy for Asked<A> {}

/// A schema that the author gives instead of the derived one. It is published as it is written.
pub struct GivenSchema(Box<RawValue>);

impl From<&str> for GivenSchema {
    /// JSON text, kept byte for byte. A text that is not JSON is refused when the tool is registered.
    fn from(text: &str) -> Self {
        let schema = RawValue::from_string(text.trim().to_owned());
        // No schema is a string, so this one is a complaint.
        Self(schema.unwrap_or_else(|e| raw(&format!("a schema was given that is not JSON: {e}"))))
    }
}

impl From<Value> for GivenSchema {
    fn from(schema: Value) -> Self {
        Self(raw(&schema))
    }
}

/// How a function takes its arguments.
pub struct Input<A> {
    schema: Box<RawValue>,
    read: Arc<Read<A>>,
}

impl<A> Clone for Input<A> {
    fn clone(&self) -> Self {
        Self { schema: self.schema.clone(), read: self.read.clone() }
    }
}

type Read<A> = dyn Fn(&Arguments) -> Result<A, Invalid> + Send + Sync;

impl<A: DeserializeOwned + JsonSchema + 'static> Input<A> {
    /// One property for each parameter.
    #[must_use]
    pub fn parameters() -> Self {
        Self { schema: raw(&candor_schema::input::<A>()), read: Arc::new(read::<A>) }
    }

    /// One parameter: a struct *is* the arguments, anything else is one property.
    #[must_use]
    pub fn parameter<T: DeserializeOwned + JsonSchema + 'static>(wrap: fn(T) -> A) -> Self {
        let own = candor_schema::derive::<T>(candor_schema::View::Input);
        if candor_schema::is_struct(&own) {
            let read = move |arguments: &Arguments| read::<T>(arguments).map(wrap);
            Self { schema: raw(&candor_schema::input::<T>()), read: Arc::new(read) }
        } else {
            Self::parameters()
        }
    }
}

impl<A> Input<A> {
    /// Publishes the author's own schema; the parameters are read from what it lets through.
    #[must_use]
    pub fn publishing(self, schema: impl Into<GivenSchema>) -> Self {
        Self { schema: schema.into().0, ..self }
    }
}

impl Input<Arguments> {
    /// Any object, as it is.
    #[must_use]
    pub fn anything() -> Self {
        Self::raw(candor_schema::permissive())
    }

    /// Whatever the author's own schema lets through, as it is.
    #[must_use]
    pub fn raw(schema: impl Into<GivenSchema>) -> Self {
        Self { schema: schema.into().0, read: Arc::new(|arguments| Ok(arguments.clone())) }
    }
}

fn read<A: DeserializeOwned>(arguments: &Arguments) -> Result<A, Invalid> {
    candor_schema::read(arguments.as_value())
}

impl TypedTool {
    /// Puts a tool together.
    pub fn new<A, F, R>(
        spec: Spec,
        input: Input<A>,
        asked: Asked<A>,
        output: Option<GivenSchema>,
        run: F,
    ) -> Self
    where
        A: Send + 'static,
        F: Fn(A, Ctx) -> R + Send + Sync + Clone + 'static,
        R: Future<Output = Result<Output, ToolError>> + Send + 'static,
    {
        let mut definition = Definition::new(spec.name, input.schema);
        definition.title = spec.title.map(str::to_owned);
        definition.description = spec.description.map(str::to_owned);
        definition.output_schema = output.map(|given| given.0);
        if let Effects::Fixed(declared) = &spec.effects {
            let mut annotations = ToolAnnotations::new();
            effects::write(*declared, &mut annotations);
            definition.annotations = Some(annotations);
        }
        let read = input.read;
        let prepare = move |arguments: &Arguments| -> Result<Box<dyn Prepared>, Invalid> {
            let arguments = read(arguments)?;
            let ready = Ready { arguments, asked, run: run.clone(), _ran: PhantomData };
            Ok(Box::new(ready))
        };
        Self {
            definition,
            prepare: Box::new(prepare),
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
        change(&mut self.definition);
        self
    }
}

/// How a value is carried as structured content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Carried {
    /// As it is.
    Bare,
    /// In a box of one field.
    Boxed,
    /// Nothing is known before the value is there: an object as it is, nothing not at all, anything else in a box.
    AsItComes,
}

/// The published form of a derived output schema, and how values are carried.
#[must_use]
pub fn published(derived: Option<OutputSchema>) -> (Option<GivenSchema>, Carried) {
    let carried = carried(derived.as_ref());
    (derived.map(|derived| derived.schema.into()), carried)
}

/// The author's own output schema, and how values are carried: as they would be without it, except that what is no object
/// by that schema needs no box.
#[must_use]
pub fn published_as(
    schema: impl Into<GivenSchema>,
    derived: Option<&OutputSchema>,
) -> (Option<GivenSchema>, Carried) {
    let given = schema.into();
    let of_object = serde_json::from_str::<Value>(given.0.get())
        .is_ok_and(|schema| schema.get("type").is_none_or(|name| name == "object"));
    let carried = if of_object { carried(derived) } else { Carried::Bare };
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

    fn ask(&self) -> Ask {
        self.ask
    }

    fn recorded(&self) -> &[String] {
        &self.recorded
    }

    fn needs(&self) -> &[Need] {
        &self.needs
    }
}

/// Typed arguments and the function that takes them.
struct Ready<A, F, R> {
    arguments: A,
    asked: Asked<A>,
    run: F,
    _ran: PhantomData<fn() -> R>,
}

impl<A, F, R> Prepared for Ready<A, F, R>
where
    A: Send + 'static,
    F: Fn(A, Ctx) -> R + Send + Sync + 'static,
    R: Future<Output = Result<Output, ToolError>> + Send + 'static,
{
    fn hints(&self) -> Option<Hints> {
        self.asked.hints.map(|hints| hints(&self.arguments))
    }

    fn key(&self) -> Option<String> {
        self.asked.key.map(|key| key(&self.arguments))
    }

    fn run(self: Box<Self>, ctx: Ctx) -> BoxFuture<'static, Result<Output, ToolError>> {
        (self.run)(self.arguments, ctx).boxed()
    }
}
