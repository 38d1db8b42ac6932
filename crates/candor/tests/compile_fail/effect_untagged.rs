use candor::prelude::*;

#[candor::args]
#[serde(untagged)]
enum Action {
    #[effect(reads)]
    Read { path: String },
    #[effect(adds)]
    Append { path: String, content: String },
}

#[tool(effects(by = action))]
fn change(action: Action) {
    let _ = action;
}

fn main() {
    let _ = tools![change];
}
