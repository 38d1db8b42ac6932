use candor::prelude::*;

#[tool(read_only)]
fn find(#[default(3)] limit: State<u32>) -> u32 {
    *limit
}

fn main() {
    let _ = tools![find];
}
