use candor::prelude::*;

#[tool(reads)]
fn find(query: String, #[default] limit: u32) -> Vec<String> {
    vec![query; limit as usize]
}

fn main() {
    let _ = tools![find];
}
