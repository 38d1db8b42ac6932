use candor::prelude::*;

#[tool(read_only, input_schema = none)]
fn greet(name: String) -> String {
    format!("Hello, {name}!")
}

fn main() {
    let _ = tools![greet];
}
