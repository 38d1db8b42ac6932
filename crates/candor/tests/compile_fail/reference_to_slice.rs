use candor::prelude::*;

#[tool(read_only)]
fn sum(values: &[i64]) -> i64 {
    values.iter().sum()
}

fn main() {
    let _ = tools![sum];
}
