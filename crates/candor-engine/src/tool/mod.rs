//! Tools: what they are, how they are prepared and run, and where they come from.

pub(crate) mod arguments;
mod broken;
mod coverage;
mod domain;
pub(crate) mod effects;
mod entry;
mod fallback;
mod gather;
pub(crate) mod idempotency;
mod json_tool;
mod neighbors;
mod output;
mod plan;
mod provider;
mod publish;
#[doc(hidden)]
pub mod returned;
mod row_error;
mod safeguards;
pub(crate) mod secret;
mod set;
mod split;
mod typed;
mod warning;
mod words;

use candor_hints::{Annotations, Hints};
use candor_protocol::types::Tool as Definition;
use futures_util::future::BoxFuture;

use crate::caller::Caller;
use crate::ctx::{Ctx, Need};
use candor_hints::AskLevel;

pub use crate::capacity::RateLimit;
pub use crate::error::{ToolError, code};
pub use crate::provider::{Provider, ProviderError, async_provider_fn, provider_fn};
pub use arguments::Arguments;
pub use candor_schema::{Base64, Invalid, OutputSchema, Violation};
pub use effects::{
    Effects, Variants, add_fields, declared_hints, hint_annotations, refined_fields,
};
pub(crate) use effects::{Evaluated, EvaluatorFailed};
pub use entry::RegisteredTool;
#[doc(hidden)]
pub use fallback::Derived;
pub use fallback::{SchemaProblem, SchemaRole};
pub use idempotency::{Idempotency, KEY_ARGUMENT};
pub use json_tool::JsonTool;
pub use output::{Blocks, IntoOutput, Output};
pub use plan::Plan;
pub(crate) use provider::Shaped;
pub use provider::{IntoTools, ToolsProvider, shape};
pub use publish::ListingOptions;
pub use safeguards::{PLAN_ARGUMENT, Safeguards, Sentence};

#[doc(hidden)] // for code that `#[tool]` and `#[args]` generate
pub use candor_schema::{KeyedMap, MapKey, Natural, WideInteger, read_as};
pub(crate) use set::ResolvedTool;
pub use set::{PAGE_SIZE, RegistrationError, ToolPage, ToolSet};
pub use split::Split;
#[doc(hidden)] // for code that `#[tool]` generates
pub use typed::{ArgumentFns, Carried, Input, ToolSpec, published, published_as};
pub use typed::{GivenSchema, ToolBox, ToolFn, TypedTool};
pub(crate) use words::undo_of_call;

/// A tool. Everything that differs between tools is behind this trait.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no tool",
    note = "functions that are marked `#[tool]` are added with `.tools(tools![…])`, a toolbox with `.tools(value.into_tools())`"
)]
pub trait Tool: Send + Sync + 'static {
    /// Returns the tool as listed.
    fn definition(&self) -> &Definition;

    /// Converts arguments that match the input schema into typed ones. What this prepares is what runs.
    fn prepare(&self, arguments: Arguments) -> Result<Box<dyn Prepared>, Invalid>;

    /// Returns the effects of its calls. Called once, when the tool is registered. Without annotations they are unknown, and the
    /// log warns about it. A tool whose effects cannot be declared returns [`Effects::Unclassified`] itself.
    fn effects(&self) -> Effects {
        effects::said_by(self.definition())
    }

    /// Returns how the server recognizes a repeated call. Called once, when the tool is registered.
    fn idempotency(&self) -> Idempotency {
        Idempotency::default()
    }

    /// Returns how it is undone, how often and in which order it may be called, and what previews it. Called once, when the tool is
    /// registered.
    fn safeguards(&self) -> Safeguards {
        Safeguards::default()
    }

    /// Returns the author's minimum ask level.
    fn ask(&self) -> AskLevel {
        AskLevel::Never
    }

    /// Returns the arguments whose values history may show. Of the others, it shows only the types.
    fn recorded(&self) -> &[String] {
        &[]
    }

    /// Returns the state that it cannot run without.
    fn needs(&self) -> &[Need] {
        &[]
    }

    /// Returns which schemas of the definition are derived from types. The server replaces such a schema if it cannot use it. Any
    /// other schema that it cannot use is an error.
    #[doc(hidden)]
    fn derived(&self) -> Derived {
        Derived::default()
    }

    /// Returns mistakes in what its author requires of arguments and no schema can express. A tool with a mistake is not
    /// registered.
    #[doc(hidden)]
    fn mistakes(&self) -> &[String] {
        &[]
    }
}

/// A call that is ready to run, once.
pub trait Prepared: Send {
    /// Returns the hints of the call, and any further fields of its annotations. For a tool whose effects are a function of its
    /// typed arguments. Must be pure.
    fn annotations(&self) -> Option<Annotations> {
        None
    }

    /// Asks another server for the hints of the call, for a tool whose effects are [asked](Effects::Asked). The future must not
    /// change anything.
    fn ask_hints(&self, _caller: &Caller) -> BoxFuture<'static, Result<Hints, ToolError>> {
        Box::pin(std::future::ready(Err(ToolError::internal("no server to ask for the effect"))))
    }

    /// Returns the key that its arguments make, for a tool whose keys are [derived](Idempotency::Derived). Must be pure.
    fn key(&self) -> Option<String> {
        None
    }

    /// Runs the call.
    fn run(self: Box<Self>, ctx: Ctx) -> BoxFuture<'static, Result<Output, ToolError>>;
}
