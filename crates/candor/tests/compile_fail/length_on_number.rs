use candor::prelude::*;

#[tool(reads)]
fn f(#[length(max = 9)] count: Option<u32>) -> Option<u32> {
    count
}

fn main() {
    let _ = tools![f];
}
