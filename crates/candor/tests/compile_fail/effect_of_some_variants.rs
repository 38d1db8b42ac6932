use candor::prelude::*;

#[candor::args]
enum Action {
    #[effect(read_only)]
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
