use candor::prelude::*;

/// Asks for a greeting.
#[prompt]
fn greet(all: Arguments) -> String {
    all.to_string()
}

fn main() {
    let _ = prompts![greet];
}
