use candor::prelude::*;
use std::borrow::Cow;

/// Greets by name.
#[tool(reads)]
async fn greet(name: Cow<'_, str>) -> String {
    format!("Hello, {name}!")
}

/// Adds numbers.
#[tool(reads)]
fn add(numbers: Option<Cow<[i64]>>) -> i64 {
    numbers.iter().flat_map(|n| n.iter()).sum()
}

fn main() {
    let _ = tools![greet, add];
}
