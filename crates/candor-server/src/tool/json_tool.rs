//! Tools from a JSON schema and a closure.

use std::sync::Arc;

use candor_protocol::json::raw;
use candor_protocol::types::{Tool as Definition, ToolAnnotations};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde_json::Value;

use super::{IntoOutput, Invalid, Output, Prepared, Tool, ToolError};
use crate::arguments::Arguments;
use crate::ctx::Ctx;

type Handler =
    dyn Fn(Arguments, Ctx) -> BoxFuture<'static, Result<Output, ToolError>> + Send + Sync;

/// A tool built from a JSON schema and a closure.
///
/// ```
/// use candor_server::tool::{JsonTool, ToolError};
/// use serde_json::json;
///
/// let schema = json!({"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]});
/// let greet = JsonTool::new("greet", &schema, |args, _ctx| async move {
///     Ok::<_, ToolError>(format!("Hello, {}!", args["name"].as_str().unwrap_or_default()))
/// })
/// .description("Greets somebody");
/// ```
pub struct JsonTool {
    definition: Definition,
    handler: Arc<Handler>,
}

impl JsonTool {
    /// A tool. The schema's root must be `"type": "object"`.
    pub fn new<F, R, O>(name: impl Into<String>, input_schema: &Value, handler: F) -> Self
    where
        F: Fn(Arguments, Ctx) -> R + Send + Sync + 'static,
        R: Future<Output = Result<O, ToolError>> + Send + 'static,
        O: IntoOutput,
    {
        let handler = move |arguments, ctx| -> BoxFuture<'static, Result<Output, ToolError>> {
            handler(arguments, ctx).map(|result| result.map(IntoOutput::into_output)).boxed()
        };
        Self { definition: Definition::new(name, raw(input_schema)), handler: Arc::new(handler) }
    }

    /// What the tool does, for models and people.
    #[must_use]
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.definition.description = Some(description.into());
        self
    }

    /// The schema of the structured result, which every result is checked against.
    #[must_use]
    pub fn output_schema(mut self, schema: &Value) -> Self {
        self.definition.output_schema = Some(raw(schema));
        self
    }

    /// What a call may do to the world, in the worst case. Without it, everything.
    #[must_use]
    pub fn annotations(mut self, annotations: ToolAnnotations) -> Self {
        self.definition.annotations = Some(annotations);
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
        Ok(Box::new(PreparedJson { handler: self.handler.clone(), arguments }))
    }
}

struct PreparedJson {
    handler: Arc<Handler>,
    arguments: Arguments,
}

impl Prepared for PreparedJson {
    fn run(self: Box<Self>, ctx: Ctx) -> BoxFuture<'static, Result<Output, ToolError>> {
        (self.handler)(self.arguments, ctx)
    }
}
