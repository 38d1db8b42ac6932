use candor::prelude::*;

#[tool(read_only, blocking)]
async fn waits() -> i64 {
    1
}

fn main() {}
