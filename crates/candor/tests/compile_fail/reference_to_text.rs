use candor::prelude::*;

#[tool(reads)]
fn greet(name: &str) -> String {
    format!("Hello, {name}!")
}

fn main() {
    let _ = tools![greet];
}
