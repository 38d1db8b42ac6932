use candor::prelude::*;

#[tool(deletes, requires_preview)]
fn act(name: String) -> String {
    name
}

fn main() {
    let _ = tools![act];
}
