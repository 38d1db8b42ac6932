//! The smallest server: one tool, both transports.
//!
//! Run with `cargo run --example hello`, or let a host start it with `cargo run --example hello -- --stdio`.

use candor::prelude::*;

#[tokio::main]
async fn main() -> candor::Result<()> {
    let schema =
        json!({"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]});
    let greet = JsonTool::new("greet", &schema, |args, _ctx| async move {
        Ok(format!("Hello, {}!", args["name"].as_str().unwrap_or_default()))
    })
    .description("Greets somebody by name");
    Server::new("hello", "1.0.0").tool(greet).run().await
}
