use candor::prelude::*;

#[tool(reads, desc = "Greets somebody")]
fn greet(name: String) -> String {
    format!("Hello, {name}!")
}

fn main() {
    let _ = tools![greet];
}
