use candor::prelude::*;

#[tool(reads, preview = "look")]
fn act(name: String) -> String {
    name
}

fn main() {
    let _ = tools![act];
}
