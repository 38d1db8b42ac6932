//! Tools from a JSON schema and a closure.

use std::sync::Arc;

use candor_hints::{Annotations, DeclaredHints, EffectTable, Hints};
use candor_protocol::json::{Malformed, raw};
use candor_protocol::types::{Tool as Definition, ToolAnnotations};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde_json::Value;

use super::arguments::Arguments;
use super::effects::{self, Effects};
use super::{
    Idempotency, IntoOutput, Invalid, Output, Prepared, RateLimit, Safeguards, Sentence, Tool,
    ToolError,
};
use crate::ctx::Ctx;
use candor_hints::AskLevel;

type Handler =
    dyn Fn(Arguments, Ctx) -> BoxFuture<'static, Result<Output, ToolError>> + Send + Sync;

/// A tool built from a JSON schema and a closure.
///
/// ```
/// use candor_server::hints::Hints;
/// use candor_server::tool::{JsonTool, ToolError};
/// use serde_json::json;
///
/// let schema = json!({"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]});
/// let greet = JsonTool::new("greet", &schema, |args, _ctx| async move {
///     Ok::<_, ToolError>(format!("Hello, {}!", args["name"].as_str().unwrap_or_default()))
/// })
/// .description("Greets a user")
/// .hints(Hints::READS);
/// ```
pub struct JsonTool {
    definition: Definition,
    handler: Arc<Handler>,
    effects: Option<Effects>,
    evaluate: Option<Arc<Evaluate>>,
    idempotency: Idempotency,
    derive_key: Option<Arc<DeriveKey>>,
    ask: AskLevel,
    recorded: Vec<String>,
    safeguards: Safeguards,
}

type Evaluate = dyn Fn(&Value) -> Annotations + Send + Sync;
type DeriveKey = dyn Fn(&Value) -> String + Send + Sync;

impl JsonTool {
    /// Creates a tool. The schema's root must be `"type": "object"`.
    pub fn new<F, R, O>(name: impl Into<String>, input_schema: &Value, handler: F) -> Self
    where
        F: Fn(Arguments, Ctx) -> R + Send + Sync + 'static,
        R: Future<Output = Result<O, ToolError>> + Send + 'static,
        O: IntoOutput,
    {
        Self::from_definition(Definition::new(name, raw(input_schema)), handler)
    }

    /// Creates a tool from its definition as JSON, in the form of `tools/list`. All of its members are published.
    /// Lists add sentences about safety to the description, as for every tool; [`omit`](Self::omit) leaves them out.
    ///
    /// Its annotations count as declared. [`hints`](Self::hints) and [`effects`](Self::effects) replace them.
    ///
    /// ```
    /// use candor_server::tool::{JsonTool, ToolError};
    /// use serde_json::json;
    ///
    /// let definition = json!({
    ///     "name": "greet",
    ///     "description": "Greets by name",
    ///     "inputSchema": {"type": "object", "properties": {"name": {"type": "string"}}},
    ///     "annotations": {"readOnlyHint": true},
    /// });
    /// let greet = JsonTool::from_json(&definition, |args, _ctx| async move {
    ///     Ok::<_, ToolError>(format!("Hello, {}!", args["name"].as_str().unwrap_or("you")))
    /// })?;
    /// # Ok::<(), candor_server::protocol::json::Malformed>(())
    /// ```
    ///
    /// # Errors
    /// If a member has the wrong type or a required one is missing. The error has its JSON Pointer.
    pub fn from_json<F, R, O>(definition: &Value, handler: F) -> Result<Self, Malformed>
    where
        F: Fn(Arguments, Ctx) -> R + Send + Sync + 'static,
        R: Future<Output = Result<O, ToolError>> + Send + 'static,
        O: IntoOutput,
    {
        let made = Definition::try_from(definition)?;
        // `null` is the same as no output schema.
        let absent = |name: &str, given: &Value| name == "outputSchema" && given.is_null();
        for name in ["inputSchema", "outputSchema"] {
            if definition.get(name).is_some_and(|given| !given.is_object() && !absent(name, given))
            {
                return Err(Malformed::here("is not an object").within(name));
            }
        }
        Ok(Self::from_definition(made, handler))
    }

    /// Creates a tool from its definition. All of its members are published. Lists add sentences about safety to the description, as
    /// for every tool; [`omit`](Self::omit) leaves them out.
    pub fn from_definition<F, R, O>(definition: Definition, handler: F) -> Self
    where
        F: Fn(Arguments, Ctx) -> R + Send + Sync + 'static,
        R: Future<Output = Result<O, ToolError>> + Send + 'static,
        O: IntoOutput,
    {
        let handler = move |arguments, ctx| -> BoxFuture<'static, Result<Output, ToolError>> {
            handler(arguments, ctx).map(|result| result.and_then(IntoOutput::into_output)).boxed()
        };
        Self {
            definition,
            handler: Arc::new(handler),
            effects: None,
            evaluate: None,
            idempotency: Idempotency::default(),
            derive_key: None,
            ask: AskLevel::Never,
            recorded: Vec::new(),
            safeguards: Safeguards::default(),
        }
    }

    /// Creates a tool that accepts any object.
    pub fn open<F, R, O>(name: impl Into<String>, handler: F) -> Self
    where
        F: Fn(Arguments, Ctx) -> R + Send + Sync + 'static,
        R: Future<Output = Result<O, ToolError>> + Send + 'static,
        O: IntoOutput,
    {
        Self::new(name, &candor_schema::permissive(), handler)
    }

    /// Describes what the tool does, for models and users.
    #[must_use]
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.definition.description = Some(description.into());
        self
    }

    /// Sets the schema of the structured result. Every result is checked against it.
    #[must_use]
    pub fn output_schema(mut self, schema: &Value) -> Self {
        self.definition.output_schema = Some(raw(schema));
        self
    }

    /// Declares what a call may do in the worst case.
    #[must_use]
    pub fn annotations(mut self, annotations: ToolAnnotations) -> Self {
        self.definition.annotations = Some(annotations);
        // The last declaration counts. Effects that depend on arguments are more precise than annotations, and stay.
        self.effects = self.effects.filter(Effects::is_dynamic);
        self
    }

    /// Declares what every call does, with all four hints.
    #[must_use]
    pub fn hints(mut self, hints: Hints) -> Self {
        let mut annotations =
            self.definition.annotations.take().unwrap_or_else(ToolAnnotations::new);
        effects::write(hints.declared(), &mut annotations);
        let mut tool = self.annotations(annotations);
        tool.effects.get_or_insert(Effects::Fixed(hints.declared()));
        tool
    }

    /// Declares what a call does, by its arguments: the first matching row counts. The static annotations are computed from the
    /// table.
    #[must_use]
    pub fn effects(mut self, table: EffectTable) -> Self {
        self.effects = Some(Effects::Table(Arc::new(table)));
        self
    }

    /// Declares what a call does, by a pure function of its arguments that is never riskier than `at_most`.
    /// It returns [`Hints`], or [`Annotations`] with further fields: `Hints::READS.with("networkAccessHint", false)`.
    #[must_use]
    pub fn effects_by<F, T>(mut self, at_most: Hints, effects: F) -> Self
    where
        F: Fn(&Value) -> T + Send + Sync + 'static,
        T: Into<Annotations>,
    {
        self.effects = Some(Effects::Function(at_most));
        self.evaluate = Some(Arc::new(move |arguments: &Value| effects(arguments).into()));
        self
    }

    /// Declares that the effect is unknown: no hints are published, and callers assume the worst case. A tool that has neither this
    /// nor annotations nor effects counts as such, and the log warns about it.
    #[must_use]
    pub fn unclassified(mut self) -> Self {
        if let Some(annotations) = &mut self.definition.annotations {
            effects::write(DeclaredHints::default(), annotations);
        }
        self.effects = Some(Effects::Unclassified);
        self
    }

    /// Declares how the server recognizes a repeated call, for example by an argument that the framework adds.
    #[must_use]
    pub fn idempotency(mut self, idempotency: Idempotency) -> Self {
        self.idempotency = idempotency;
        self
    }

    /// Derives the key of a call from its arguments, by a pure function.
    #[must_use]
    pub fn key_by(mut self, key: impl Fn(&Value) -> String + Send + Sync + 'static) -> Self {
        self.idempotency = Idempotency::Derived;
        self.derive_key = Some(Arc::new(key));
        self
    }

    /// Names the tool that undoes a call.
    #[must_use]
    pub fn undo(self, tool: impl Into<String>) -> Self {
        self.guarded(|declared| declared.undo(tool))
    }

    /// Names a less harmful tool, to be preferred if it is sufficient.
    #[must_use]
    pub fn instead(self, tool: impl Into<String>) -> Self {
        self.guarded(|declared| declared.instead(tool))
    }

    /// Limits how often one caller may call it, in this process.
    #[must_use]
    pub fn rate(self, rate: RateLimit) -> Self {
        self.guarded(|declared| declared.rate(rate))
    }

    /// Adds the tool to a serial group. Calls of one group that are not read-only run one at a time, in this process.
    #[must_use]
    pub fn serial(self, group: impl Into<String>) -> Self {
        self.guarded(|declared| declared.serial(group))
    }

    /// Adds a preview: a tool `preview_<name>` with the same arguments that shows what a call would do and changes nothing.
    #[must_use]
    pub fn preview<F, R, O>(self, plan: F) -> Self
    where
        F: Fn(Arguments, Ctx) -> R + Send + Sync + 'static,
        R: Future<Output = Result<O, ToolError>> + Send + 'static,
        O: IntoOutput,
    {
        let plan = Self::open("preview", plan);
        self.guarded(|declared| declared.preview(Arc::new(plan)))
    }

    /// Names the tool that shows what a call would do.
    #[must_use]
    pub fn previewed_by(self, tool: impl Into<String>) -> Self {
        self.guarded(|declared| declared.previewed_by(tool))
    }

    /// Requires the token of a fresh preview for calls that are not read-only.
    #[must_use]
    pub fn requires_preview(self) -> Self {
        self.guarded(Safeguards::requires_preview)
    }

    /// Omits generated sentences that the description already contains.
    #[must_use]
    pub fn omit(self, sentences: impl IntoIterator<Item = Sentence>) -> Self {
        self.guarded(|declared| declared.omit(sentences))
    }

    fn guarded(mut self, declare: impl FnOnce(Safeguards) -> Safeguards) -> Self {
        self.safeguards = declare(self.safeguards);
        self
    }

    /// Requires approval of these calls, whatever the server's own policy.
    #[must_use]
    pub fn ask(mut self, ask: AskLevel) -> Self {
        self.ask = ask;
        self
    }

    /// Names arguments whose values history may show. Of the others, it shows only the types.
    #[must_use]
    pub fn recorded(mut self, arguments: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.recorded.extend(arguments.into_iter().map(Into::into));
        self
    }

    /// Changes the definition in any other way.
    #[must_use]
    pub fn define(mut self, change: impl FnOnce(&mut Definition)) -> Self {
        change(&mut self.definition);
        self
    }
}

impl Tool for JsonTool {
    fn definition(&self) -> &Definition {
        &self.definition
    }

    fn prepare(&self, arguments: Arguments) -> Result<Box<dyn Prepared>, Invalid> {
        let (handler, evaluate) = (self.handler.clone(), self.evaluate.clone());
        let derive_key = self.derive_key.clone();
        Ok(Box::new(PreparedJson { handler, evaluate, derive_key, arguments }))
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

    fn effects(&self) -> Effects {
        self.effects.clone().unwrap_or_else(|| effects::said_by(&self.definition))
    }
}

struct PreparedJson {
    handler: Arc<Handler>,
    evaluate: Option<Arc<Evaluate>>,
    derive_key: Option<Arc<DeriveKey>>,
    arguments: Arguments,
}

impl Prepared for PreparedJson {
    fn annotations(&self) -> Option<Annotations> {
        self.evaluate.as_ref().map(|evaluate| evaluate(&self.arguments))
    }

    fn key(&self) -> Option<String> {
        self.derive_key.as_ref().map(|derive| derive(&self.arguments))
    }

    fn run(self: Box<Self>, ctx: Ctx) -> BoxFuture<'static, Result<Output, ToolError>> {
        (self.handler)(self.arguments, ctx)
    }
}
