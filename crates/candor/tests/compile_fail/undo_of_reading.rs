use candor::prelude::*;

#[tool(reads, undo = "write")]
fn act(name: String) -> String {
    name
}

fn main() {
    let _ = tools![act];
}
