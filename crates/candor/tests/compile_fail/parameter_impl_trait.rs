use candor::prelude::*;

#[tool(reads)]
fn greet(name: impl Into<String>) -> String {
    format!("Hello, {}!", name.into())
}

fn main() {
    let _ = tools![greet];
}
