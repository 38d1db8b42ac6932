//! The smallest server with candor, as it stands in the README. `cargo xtask bench` counts what it pulls in.

use candor::prelude::*;

#[tokio::main]
async fn main() -> candor::Result<()> {
    let schema =
        json!({"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]});
    let greet = JsonTool::new("greet", &schema, |args, _ctx| async move {
        Ok(format!("Hello, {}!", args["name"].as_str().unwrap_or_default()))
    });
    Server::new("greeter", "1.0.0").tool(greet).run().await
}
