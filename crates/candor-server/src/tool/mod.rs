//! Tools: what they are, how they are prepared and run, and where they come from.

mod broken;
mod coverage;
mod domain;
pub(crate) mod effects;
mod entry;
mod error;
mod fallback;
mod gather;
pub(crate) mod idempotency;
mod json_tool;
mod neighbours;
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

use candor_hints::Annotations;
use candor_protocol::types::Tool as Definition;
use futures_util::future::BoxFuture;

use crate::arguments::Arguments;
use crate::ctx::Ctx;
use crate::state::Need;
use candor_hints::AskLevel;

pub use crate::provider::{Provider, ProviderError, async_provider_fn, provider_fn};
pub use candor_schema::{Base64, Invalid, OutputSchema, Violation};
pub use effects::{Effects, Variants};
pub(crate) use effects::{Evaluated, EvaluatorFailed};
pub(crate) use entry::RegisteredTool;
pub(crate) use error::fields;
pub use error::{ToolError, code};
#[doc(hidden)]
pub use fallback::Derived;
pub use fallback::{SchemaProblem, SchemaRole};
pub use idempotency::{Idempotency, KEY_ARGUMENT};
pub use json_tool::JsonTool;
pub use output::{Blocks, IntoOutput, Output};
pub use plan::Plan;
pub(crate) use provider::Shaped;
pub use provider::{IntoTools, ToolsProvider, shape};
pub(crate) use publish::ListingOptions;
pub use safeguards::{PLAN_ARGUMENT, RateLimit, Safeguards, Sentence};

#[doc(hidden)] // for what `#[tool]` and `#[args]` write
pub use candor_schema::{KeyedMap, MapKey, Natural, WideInteger, read_as};
pub(crate) use set::ResolvedTool;
pub use set::{RegistrationError, ToolSet};
pub use split::Split;
#[doc(hidden)] // for what `#[tool]` writes
pub use typed::{ArgumentFns, Carried, Input, ToolSpec, published, published_as};
pub use typed::{GivenSchema, ToolBox, ToolFn, TypedTool};
pub(crate) use words::undo_of_call;

/// A tool, erased once: everything that differs between tools is behind these two functions.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no tool",
    note = "functions that are marked `#[tool]` are added with `.tools(tools![…])`, a toolbox with `.tools(value.into_tools())`"
)]
pub trait Tool: Send + Sync + 'static {
    /// The tool as it is listed.
    fn definition(&self) -> &Definition;

    /// Types the arguments, which have passed the input schema. What is prepared here is what runs.
    fn prepare(&self, arguments: Arguments) -> Result<Box<dyn Prepared>, Invalid>;

    /// What its calls do to the world; looked at once, when the tool is registered. Without annotations nobody knows, and the
    /// log says so: a tool of which nothing can be said returns [`Effects::Unclassified`] itself.
    fn effects(&self) -> Effects {
        effects::said_by(self.definition())
    }

    /// How its calls are recognised when they come again; looked at once, when the tool is registered.
    fn idempotency(&self) -> Idempotency {
        Idempotency::default()
    }

    /// How it is undone, how often and in which order it may be called, what shows its effects before they happen; looked at
    /// once, when the tool is registered.
    fn safeguards(&self) -> Safeguards {
        Safeguards::default()
    }

    /// Which of its calls a person is asked about, at least.
    fn ask(&self) -> AskLevel {
        AskLevel::Never
    }

    /// The arguments whose values may stand in history. Of the others it has the shape.
    fn recorded(&self) -> &[String] {
        &[]
    }

    /// The state that it cannot run without.
    fn needs(&self) -> &[Need] {
        &[]
    }

    /// Which schemas of the definition are derived from types. The server replaces one of these that it cannot use; of any other it
    /// makes an error.
    #[doc(hidden)]
    fn derived(&self) -> Derived {
        Derived::default()
    }

    /// What its author demands of arguments and no schema can demand; a tool with such a mistake is not registered.
    #[doc(hidden)]
    fn mistakes(&self) -> &[String] {
        &[]
    }
}

/// A call that is ready to run, once.
pub trait Prepared: Send {
    /// What it will do, for a tool whose effects are a function of its typed arguments: hints, and any further fields of its
    /// annotations. Must be pure.
    fn annotations(&self) -> Option<Annotations> {
        None
    }

    /// The key that its arguments make, for a tool whose keys are [derived](Idempotency::Derived). Must be pure.
    fn key(&self) -> Option<String> {
        None
    }

    /// Runs it.
    fn run(self: Box<Self>, ctx: Ctx) -> BoxFuture<'static, Result<Output, ToolError>>;
}
