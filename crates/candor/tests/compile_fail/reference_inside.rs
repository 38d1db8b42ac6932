use candor::prelude::*;

#[tool(reads)]
fn greet(name: Option<&str>) -> String {
    format!("Hello, {}!", name.unwrap_or("you"))
}

fn main() {
    let _ = tools![greet];
}
