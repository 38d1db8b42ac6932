use candor::prelude::*;

struct Db;

/// Counts the rows.
#[tool(reads)]
async fn count(State(db): State<Db>) -> usize {
    let _ = db;
    0
}

fn main() {
    let _ = tools![count];
}
