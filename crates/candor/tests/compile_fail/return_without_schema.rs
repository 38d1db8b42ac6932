use candor::prelude::*;

struct Point {
    x: f64,
    y: f64,
}

#[tool(reads)]
fn origin() -> Point {
    Point { x: 0.0, y: 0.0 }
}

fn main() {
    let _ = tools![origin];
}
