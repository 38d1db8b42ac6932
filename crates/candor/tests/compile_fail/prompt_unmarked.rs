use candor::prelude::*;

/// Asks for a greeting.
fn greet(name: String) -> String {
    format!("Greet {name}.")
}

fn main() {
    let _ = Server::new("greeter", "1.0.0").prompts(prompts![greet]);
}
