use candor::prelude::*;

#[tool(read_only)]
fn greet(name: &str) -> String {
    format!("Hello, {name}!")
}

fn main() {
    let _ = tools![greet];
}
