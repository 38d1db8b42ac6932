use candor::prelude::*;

#[tool(destructive, unsaid(warning))]
fn act(name: String) -> String {
    name
}

fn main() {
    let _ = tools![act];
}
