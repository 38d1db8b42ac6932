use candor::prelude::*;

#[tool(deletes, unsaid(warning))]
fn act(name: String) -> String {
    name
}

fn main() {
    let _ = tools![act];
}
