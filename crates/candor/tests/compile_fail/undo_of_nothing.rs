use candor::prelude::*;

#[tool(deletes, undo = "")]
fn act(name: String) -> String {
    name
}

fn main() {
    let _ = tools![act];
}
