use candor::prelude::*;

#[tool(destructive, preview = 7)]
fn act(name: String) -> String {
    name
}

fn main() {
    let _ = tools![act];
}
