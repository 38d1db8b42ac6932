use candor::prelude::*;

#[tool(deletes, rate = "10")]
fn act(name: String) -> String {
    name
}

fn main() {
    let _ = tools![act];
}
