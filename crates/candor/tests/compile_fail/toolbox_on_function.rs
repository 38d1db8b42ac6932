use candor::prelude::*;

#[toolbox]
fn count(items: Vec<String>) -> usize {
    items.len()
}

fn main() {
    let _ = count(Vec::new());
}
