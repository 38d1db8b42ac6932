use candor::prelude::*;

#[tool(deletes, rate = "1001/s")]
fn act(name: String) -> String {
    name
}

fn main() {
    let _ = tools![act];
}
