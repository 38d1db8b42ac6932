//! The smallest server: one tool, both transports.
//!
//! Run with `cargo run --example hello`, or let a host start it with `cargo run --example hello -- --stdio`.

use candor::prelude::*;

/// Greets a user by name.
#[tool(reads)]
async fn greet(name: String) -> String {
    format!("Hello, {name}!")
}

#[tokio::main]
async fn main() -> candor::Result<()> {
    Server::new("hello", "1.0.0").tools(tools![greet]).run().await
}
