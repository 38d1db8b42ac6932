use candor::prelude::*;

#[tool(reads)]
fn length((x, y): (f64, f64)) -> f64 {
    x.hypot(y)
}

fn main() {
    let _ = tools![length];
}
