use candor::prelude::*;

#[tool(read_only, desc = "Greets somebody")]
fn greet(name: String) -> String {
    format!("Hello, {name}!")
}

fn main() {
    let _ = tools![greet];
}
