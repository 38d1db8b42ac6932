use candor::prelude::*;

fn plan(count: u32) -> String {
    count.to_string()
}

#[tool(deletes, preview = plan)]
fn act(name: String) -> String {
    name
}

fn main() {
    let _ = tools![act];
}
