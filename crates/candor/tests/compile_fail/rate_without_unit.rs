use candor::prelude::*;

#[tool(destructive, rate = "10")]
fn act(name: String) -> String {
    name
}

fn main() {
    let _ = tools![act];
}
