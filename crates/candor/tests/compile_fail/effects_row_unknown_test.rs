use candor::prelude::*;

#[tool(effects(action.starts_with("read") => reads))]
fn change(action: String) {
    let _ = action;
}

fn main() {
    let _ = tools![change];
}
