use candor::prelude::*;

/// Greets somebody.
#[tool(reads)]
async fn greet(name: String) -> String {
    format!("Hello, {name}!")
}

fn main() {
    let _ = Server::new("greeter", "1.0.0").tool(greet);
}
