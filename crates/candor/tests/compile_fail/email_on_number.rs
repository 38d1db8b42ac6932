use candor::prelude::*;

#[tool(reads)]
fn f(#[email] count: u8) -> u8 {
    count
}

fn main() {
    let _ = tools![f];
}
