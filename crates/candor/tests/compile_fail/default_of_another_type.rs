use candor::prelude::*;

#[tool(read_only)]
fn find(query: String, #[default("ten")] limit: u32) -> Vec<String> {
    vec![query; limit as usize]
}

fn main() {
    let _ = tools![find];
}
