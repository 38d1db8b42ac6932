use candor::prelude::*;

#[tool(deletes, rate = "10/week")]
fn act(name: String) -> String {
    name
}

fn main() {
    let _ = tools![act];
}
