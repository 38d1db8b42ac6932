use candor::prelude::*;

#[tool(deletes, omit = retry)]
fn act(name: String) -> String {
    name
}

fn main() {
    let _ = tools![act];
}
