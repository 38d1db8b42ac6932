use candor::prelude::*;

#[tool(reads, input_schema = none)]
fn greet(name: String) -> String {
    format!("Hello, {name}!")
}

fn main() {
    let _ = tools![greet];
}
