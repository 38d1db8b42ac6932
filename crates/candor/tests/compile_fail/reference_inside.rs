use candor::prelude::*;

#[tool(read_only)]
fn greet(name: Option<&str>) -> String {
    format!("Hello, {}!", name.unwrap_or("you"))
}

fn main() {
    let _ = tools![greet];
}
