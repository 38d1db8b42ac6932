use candor::prelude::*;

/// Asks for a greeting.
#[prompt(reads)]
fn greet(name: String) -> String {
    format!("Greet {name}.")
}

fn main() {
    let _ = prompts![greet];
}
