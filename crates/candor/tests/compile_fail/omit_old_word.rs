use candor::prelude::*;

#[tool(deletes, unsaid(retry))]
fn act(name: String) -> String {
    name
}

fn main() {
    let _ = tools![act];
}
