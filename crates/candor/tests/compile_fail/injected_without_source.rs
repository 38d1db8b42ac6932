use candor::prelude::*;

struct Clock;

#[tool(read_only)]
fn now(#[inject] clock: Clock) -> String {
    let Clock = clock;
    "noon".to_owned()
}

fn main() {
    let _ = tools![now];
}
