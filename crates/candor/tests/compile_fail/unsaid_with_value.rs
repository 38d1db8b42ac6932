use candor::prelude::*;

#[tool(destructive, unsaid = retry)]
fn act(name: String) -> String {
    name
}

fn main() {
    let _ = tools![act];
}
