use candor::prelude::*;

#[candor::args]
enum Action {
    #[effect(reads)]
    Read,
}

#[tool(effects(by = acton))]
fn change(path: String, action: Action) {
    let _ = (path, action);
}

fn main() {
    let _ = tools![change];
}
