use candor::prelude::*;

#[tool(destructive, rate = "1001/s")]
fn act(name: String) -> String {
    name
}

fn main() {
    let _ = tools![act];
}
