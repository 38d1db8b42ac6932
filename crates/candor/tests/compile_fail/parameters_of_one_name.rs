use candor::prelude::*;

#[tool(reads)]
fn distance(x: f64, x: f64) -> f64 {
    x
}

fn main() {
    let _ = tools![distance];
}
