use candor::prelude::*;

#[tool(reads)]
fn sum(values: &[i64]) -> i64 {
    values.iter().sum()
}

fn main() {
    let _ = tools![sum];
}
