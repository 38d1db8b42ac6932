use candor::prelude::*;

#[tool(reads)]
fn find(query: String, #[optional] limit: u32) -> Vec<String> {
    vec![query; limit as usize]
}

fn main() {
    let _ = tools![find];
}
