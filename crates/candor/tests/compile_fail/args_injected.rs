#[candor::args]
struct Line {
    #[inject]
    ctx: String,
}

fn main() {
    let _ = Line { ctx: String::new() };
}
