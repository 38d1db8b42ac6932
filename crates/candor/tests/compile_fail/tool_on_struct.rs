use candor::prelude::*;

#[tool(reads)]
struct Greeting {
    name: String,
}

fn main() {
    let _ = Greeting { name: String::new() };
}
