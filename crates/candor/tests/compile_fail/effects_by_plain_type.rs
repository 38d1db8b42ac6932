use candor::prelude::*;

#[tool(effects(by = action))]
fn change(action: String) {
    let _ = action;
}

fn main() {
    let _ = tools![change];
}
