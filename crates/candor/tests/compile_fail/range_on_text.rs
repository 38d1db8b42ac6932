use candor::prelude::*;

#[tool(reads)]
fn f(#[range(max = 9)] name: String) -> String {
    name
}

fn main() {
    let _ = tools![f];
}
