use candor::prelude::*;

#[tool(read_only, preview = "look")]
fn act(name: String) -> String {
    name
}

fn main() {
    let _ = tools![act];
}
