//! Why a call, a question or a tool source fails.
//!
//! - [`ToolError`]: a handler failed.
//! - [`Refusal`]: the server did not run a call. One table has the code, the words, the status and the retry advice.
//! - [`AskError`]: a question has no answer.

mod ask_error;
mod refusal;
mod tool_error;

pub use ask_error::AskError;
pub use candor_protocol::names::failure as code;
pub(crate) use refusal::log_replaced;
pub use refusal::{ChangedDecision, Refusal, RefusalRow};
pub use tool_error::{Retry, ToolError, violations_as_json};
