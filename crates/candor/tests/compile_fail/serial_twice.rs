use candor::prelude::*;

#[tool(destructive, serial = "a", serial = "b")]
fn act(name: String) -> String {
    name
}

fn main() {
    let _ = tools![act];
}
