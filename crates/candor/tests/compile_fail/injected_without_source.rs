use candor::prelude::*;

struct Clock;

#[tool(reads)]
fn now(#[inject] clock: Clock) -> String {
    let Clock = clock;
    "noon".to_owned()
}

fn main() {
    let _ = tools![now];
}
