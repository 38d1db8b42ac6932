use candor::prelude::*;

struct Point(f64, f64);

#[tool(reads)]
fn distance(from: Point, #[optional] to: Option<Vec<Point>>, name: String) -> f64 {
    let _ = (to, name);
    from.0.hypot(from.1)
}

fn main() {
    let _ = tools![distance];
}
