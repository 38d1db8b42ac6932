use candor::prelude::*;

#[tool(reads = true)]
fn greet(name: String) -> String {
    format!("Hello, {name}!")
}

fn main() {
    let _ = tools![greet];
}
