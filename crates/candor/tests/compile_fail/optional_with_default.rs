use candor::prelude::*;

#[tool(reads)]
fn find(query: String, #[default(10)] #[optional] limit: Option<u32>) -> Vec<String> {
    vec![query; limit.unwrap_or(1) as usize]
}

fn main() {
    let _ = tools![find];
}
