use candor::prelude::*;

#[candor::args]
enum Action {
    #[effect(looks)]
    Read,
}

#[tool(effects(by = action))]
fn change(action: Action) {
    let _ = action;
}

fn main() {
    let _ = tools![change];
}
