//! Tools that send messages before their result.

use std::sync::Arc;
use std::time::Duration;

use candor::prelude::*;
use candor::tool::Tool;
use tokio::time::sleep;

use crate::{shown, simple};

const A_MOMENT: Duration = Duration::from_millis(50);

pub(crate) fn tools() -> Vec<Arc<dyn Tool>> {
    vec![
        simple("test_tool_with_progress", "Reports progress", |ctx| async move {
            for done in [0, 50, 100] {
                ctx.progress(done, 100, None).await;
                sleep(A_MOMENT).await;
            }
            Ok("Done.")
        }),
        simple("test_tool_with_logging", "Sends log messages", log_three),
        simple("test_logging_tool", "Sends log messages", log_three),
        simple(
            "test_reconnection",
            "Lets the client go and come back for the answer",
            |ctx| async move {
                ctx.hang_up().await;
                sleep(A_MOMENT * 2).await;
                Ok("Welcome back.")
            },
        ),
        wait(),
    ]
}

async fn log_three(ctx: Ctx) -> Result<&'static str, ToolError> {
    for message in ["Tool execution started", "Tool processing data", "Tool execution completed"] {
        ctx.log(LogLevel::Info, message).await;
        sleep(A_MOMENT).await;
    }
    Ok("Logged three times.")
}

/// Creates a slow tool, to watch its progress or to cancel it.
fn wait() -> Arc<dyn Tool> {
    let schema = json!({
        "type": "object",
        "properties": {"steps": {"type": "integer", "minimum": 1, "maximum": 600}},
        "required": ["steps"],
        "additionalProperties": false,
    });
    let tool = JsonTool::new("wait", &schema, |args, ctx| async move {
        let steps = args["steps"].as_u64().unwrap_or(1);
        for step in 1..=steps {
            sleep(Duration::from_millis(100)).await;
            ctx.progress(step, steps, "waiting").await;
        }
        Ok(format!("Waited {steps} steps."))
    });
    shown(tool.description("Waits for a number of tenths of a second"))
}
