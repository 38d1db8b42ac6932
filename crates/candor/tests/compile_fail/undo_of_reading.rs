use candor::prelude::*;

#[tool(read_only, undo = "write")]
fn act(name: String) -> String {
    name
}

fn main() {
    let _ = tools![act];
}
