use candor::prelude::*;

#[tool(reads, blocking)]
async fn waits() -> i64 {
    1
}

fn main() {}
