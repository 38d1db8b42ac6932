use candor::prelude::*;

#[tool]
fn greet(name: String) -> String {
    format!("Hello, {name}!")
}

fn main() {
    let _ = tools![greet];
}
