use candor::prelude::*;

#[tool(deletes, preview = 7)]
fn act(name: String) -> String {
    name
}

fn main() {
    let _ = tools![act];
}
