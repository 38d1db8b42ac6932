use candor::prelude::*;

#[candor::args]
struct Point {
    x: f64,
    y: f64,
}

#[tool(reads)]
fn length(point: &Point) -> f64 {
    point.x.hypot(point.y)
}

fn main() {
    let _ = tools![length];
}
