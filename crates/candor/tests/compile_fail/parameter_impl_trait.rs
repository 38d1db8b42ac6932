use candor::prelude::*;

#[tool(read_only)]
fn greet(name: impl Into<String>) -> String {
    format!("Hello, {}!", name.into())
}

fn main() {
    let _ = tools![greet];
}
