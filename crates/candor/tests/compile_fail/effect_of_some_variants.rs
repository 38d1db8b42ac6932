use candor::prelude::*;

#[candor::args]
enum Action {
    #[effect(reads)]
    Read,
    Delete,
}

#[tool(effects(by = action))]
fn change(action: Action) {
    let _ = action;
}

fn main() {
    let _ = tools![change];
}
