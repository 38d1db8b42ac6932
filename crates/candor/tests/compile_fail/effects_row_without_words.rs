use candor::prelude::*;

#[tool(effects(action == "read", otherwise => adds))]
fn change(action: String) {
    let _ = action;
}

fn main() {
    let _ = tools![change];
}
