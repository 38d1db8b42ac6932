//! A tool that never ends by itself.

use std::future::pending;

use candor_server::protocol::types::ToolAnnotations;
use candor_server::tool::{JsonTool, ToolError};

/// Reports its progress, and runs until it is cancelled.
pub(crate) fn tool() -> JsonTool {
    let mut hints = ToolAnnotations::new();
    hints.read_only_hint = Some(true);
    JsonTool::open("endless", |_, ctx| async move {
        ctx.progress(1, 4, "One quarter").await;
        pending::<Result<String, ToolError>>().await
    })
    .description("Never ends by itself")
    .annotations(hints)
}
