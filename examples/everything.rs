//! A small server with every feature of the protocol, for the official conformance suite.
//!
//! Run with `cargo run --example everything`. `cargo xtask conformance` runs the suite against it.

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

/// Creates a tool without arguments.
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

/// Leaves a tool unclassified. These tools only show the protocol and declare no effects, so callers assume the worst case.
fn shown(tool: JsonTool) -> Arc<dyn Tool> {
    Arc::new(tool.unclassified())
}
