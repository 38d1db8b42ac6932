//! Everything that the protocol has, small: the server that the official conformance suite is run against.
//!
//! Run with `cargo run --example everything`, then `cargo xtask conformance` to see it examined.

#[path = "everything/asking.rs"]
mod asking;
#[path = "everything/changing.rs"]
mod changing;
#[path = "everything/content.rs"]
mod content;
#[path = "everything/prompts.rs"]
mod prompts;
#[path = "everything/resources.rs"]
mod resources;
#[path = "everything/telling.rs"]
mod telling;

use std::sync::Arc;

use candor::prelude::*;
use candor::tool::{Tool, provider_fn};

#[tokio::main]
async fn main() -> candor::Result<()> {
    let switch = changing::Switch::default();

    let mut tools: Vec<Arc<dyn Tool>> = Vec::new();
    tools.extend(content::tools());
    tools.extend(telling::tools());
    tools.extend(asking::tools());
    tools.extend(changing::tools(&switch));
    let usual = Arc::new(ToolSet::new(tools.clone())?);
    let more = Arc::new(ToolSet::new(tools.into_iter().chain([changing::extra_tool()]))?);

    let tool_switch = switch.clone();
    Server::new("everything", "1.0.0")
        .instructions(
            "A server for trying things out. Nothing here has an effect on anything else.",
        )
        .tools_from(provider_fn(move |_| {
            Ok(if tool_switch.tools_changed() { more.clone() } else { usual.clone() })
        }))
        .prompts_from(prompts::provider(switch))
        .resources(resources::set()?)
        .complete_prompt("test_prompt_with_arguments", "arg1", |typed, _, _| async move {
            let known = ["paris", "park", "party"];
            known
                .into_iter()
                .filter(|word| word.starts_with(&typed))
                .map(str::to_owned)
                .collect::<Vec<_>>()
        })
        .complete_template("test://template/{id}/data", "id", |typed, _, _| async move {
            vec![format!("{typed}1"), format!("{typed}2")]
        })
        .run()
        .await
}

/// A tool without arguments.
fn simple<F, R, O>(name: &str, description: &str, handler: F) -> Arc<dyn Tool>
where
    F: Fn(Ctx) -> R + Send + Sync + 'static,
    R: Future<Output = Result<O, ToolError>> + Send + 'static,
    O: candor::tool::IntoOutput,
{
    let schema = json!({"type": "object", "properties": {}, "additionalProperties": false});
    let tool = JsonTool::new(name, &schema, move |_, ctx| handler(ctx));
    shown(tool.description(description))
}

/// The tools of this server are there to show the protocol, and say nothing of effects: callers expect the worst.
fn shown(tool: JsonTool) -> Arc<dyn Tool> {
    Arc::new(tool.unclassified())
}
