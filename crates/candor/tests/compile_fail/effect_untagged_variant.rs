use candor::prelude::*;

#[candor::args]
enum Action {
    #[effect(reads)]
    Read,
    #[effect(adds)]
    #[serde(untagged)]
    Append { content: String },
}

#[tool(effects(by = action))]
fn change(action: Action) {
    let _ = action;
}

fn main() {
    let _ = tools![change];
}
