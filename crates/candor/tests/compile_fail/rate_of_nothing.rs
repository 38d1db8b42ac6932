use candor::prelude::*;

#[tool(deletes, rate = "0/min")]
fn act(name: String) -> String {
    name
}

fn main() {
    let _ = tools![act];
}
