use candor::prelude::*;

#[tool(effects(action => read_only))]
fn change(action: String) {
    let _ = action;
}

fn main() {
    let _ = tools![change];
}
