use candor::prelude::*;

#[tool(reads)]
fn names() -> impl Iterator<Item = String> {
    ["Ada".to_owned()].into_iter()
}

fn main() {
    let _ = tools![names];
}
