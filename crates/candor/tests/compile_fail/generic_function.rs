use candor::prelude::*;

#[tool(reads)]
fn first<T>(values: Vec<T>) -> Option<T> {
    values.into_iter().next()
}

fn main() {
    let _ = tools![first];
}
