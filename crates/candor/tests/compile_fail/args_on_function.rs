#[candor::args]
fn greet(name: String) -> String {
    format!("Hello, {name}!")
}

fn main() {
    let _ = greet(String::new());
}
