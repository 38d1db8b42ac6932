use candor::prelude::*;

#[tool(deletes, omit(warning))]
fn act(name: String) -> String {
    name
}

fn main() {
    let _ = tools![act];
}
