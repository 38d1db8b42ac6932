use candor::prelude::*;

#[tool(deletes, serial = "a", serial = "b")]
fn act(name: String) -> String {
    name
}

fn main() {
    let _ = tools![act];
}
