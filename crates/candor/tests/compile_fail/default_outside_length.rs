use candor::prelude::*;

#[tool(reads)]
fn f(#[default("ab")] #[length(min = 3)] name: String) -> String {
    name
}

fn main() {
    let _ = tools![f];
}
