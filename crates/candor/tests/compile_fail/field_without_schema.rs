use candor::prelude::*;

struct Point(f64, f64);

#[candor::args]
struct Circle {
    center: Point,
    radius: f64,
}

#[tool(reads)]
fn area(circle: Circle) -> f64 {
    let Point(_, _) = circle.center;
    circle.radius.powi(2) * std::f64::consts::PI
}

fn main() {
    let _ = tools![area];
}
