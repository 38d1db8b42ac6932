use candor::prelude::*;

#[tool(destructive, undo = "")]
fn act(name: String) -> String {
    name
}

fn main() {
    let _ = tools![act];
}
