use candor::prelude::*;

#[tool(reads)]
fn f(#[default(100)] #[range(min = 1, max = 10)] count: u32) -> u32 {
    count
}

fn main() {
    let _ = tools![f];
}
