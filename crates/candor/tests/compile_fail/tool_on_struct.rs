use candor::prelude::*;

#[tool(read_only)]
struct Greeting {
    name: String,
}

fn main() {
    let _ = Greeting { name: String::new() };
}
