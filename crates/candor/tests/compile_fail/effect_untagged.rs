use candor::prelude::*;

#[candor::args]
#[serde(untagged)]
enum Action {
    #[effect(read_only)]
    Read { path: String },
    #[effect(additive)]
    Append { path: String, content: String },
}

#[tool(effects(by = action))]
fn change(action: Action) {
    let _ = action;
}

fn main() {
    let _ = tools![change];
}
