use candor::prelude::*;

#[tool(reads)]
fn f(#[range(min = 3, max = -3)] count: i32) -> i32 {
    count
}

fn main() {
    let _ = tools![f];
}
