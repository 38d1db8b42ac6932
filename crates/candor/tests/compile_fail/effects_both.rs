use candor::prelude::*;

#[tool(reads, unclassified)]
fn greet(name: String) -> String {
    format!("Hello, {name}!")
}

fn main() {
    let _ = tools![greet];
}
