use candor::prelude::*;

#[tool(reads)]
fn distance(from: f64, #[serde(rename = "from")] to: f64) -> f64 {
    to - from
}

fn main() {
    let _ = tools![distance];
}
