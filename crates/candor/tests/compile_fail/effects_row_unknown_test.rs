use candor::prelude::*;

#[tool(effects(action.starts_with("read") => read_only))]
fn change(action: String) {
    let _ = action;
}

fn main() {
    let _ = tools![change];
}
