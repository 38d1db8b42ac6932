use candor::prelude::*;
use std::collections::HashMap;

struct Path<T>(T);
struct Query<T>(T);

/// Reads an invoice.
#[tool(reads)]
async fn read(Path(id): Path<u64>) -> u64 {
    id
}

/// Finds invoices.
#[tool(reads)]
async fn find(Query(filter): Query<HashMap<String, u32>>) -> usize {
    filter.len()
}

fn main() {
    let _ = tools![read, find];
}
