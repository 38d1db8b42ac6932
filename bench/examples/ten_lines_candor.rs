//! The smallest server with candor, as it stands in the README. `cargo xtask bench` counts what it pulls in.

use candor::prelude::*;

/// Greets a user by name.
#[tool(reads)]
async fn greet(name: String) -> String {
    format!("Hello, {name}!")
}

#[tokio::main]
async fn main() -> candor::Result<()> {
    Server::new("greeter", "1.0.0").tools(tools![greet]).run().await
}
