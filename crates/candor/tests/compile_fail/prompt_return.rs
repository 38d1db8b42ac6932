use candor::prelude::*;

/// Asks for a number.
#[prompt]
fn number() -> u32 {
    7
}

fn main() {
    let _ = prompts![number];
}
