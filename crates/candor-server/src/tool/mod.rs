//! Tools: what they are, how they are prepared and run, and where they come from.

mod error;
mod json_tool;
mod output;
mod set;

use candor_protocol::types::Tool as Definition;
use futures_util::future::BoxFuture;

use crate::arguments::Arguments;
use crate::ctx::Ctx;

pub use crate::provider::{Provider, ProviderError, async_provider_fn, provider_fn};
pub use candor_schema::{Invalid, Violation};
pub(crate) use error::ErrorKind;
pub use error::ToolError;
pub use json_tool::JsonTool;
pub use output::{IntoOutput, Output};
pub(crate) use set::Entry;
pub use set::{RegistrationError, ToolSet};

/// A tool, erased once: everything that differs between tools is behind these two functions.
pub trait Tool: Send + Sync + 'static {
    /// The tool as it is listed.
    fn definition(&self) -> &Definition;

    /// Types the arguments, which have passed the input schema. What is prepared here is what runs.
    fn prepare(&self, arguments: Arguments) -> Result<Box<dyn Prepared>, Invalid>;
}

/// A call that is ready to run, once.
pub trait Prepared: Send {
    /// Runs it.
    fn run(self: Box<Self>, ctx: Ctx) -> BoxFuture<'static, Result<Output, ToolError>>;
}
