use candor::prelude::*;

#[tool(reads)]
fn find(#[default(3)] limit: State<u32>) -> u32 {
    *limit
}

fn main() {
    let _ = tools![find];
}
