use candor::prelude::*;

#[tool(effects(action == "read" => reads), idempotent)]
fn change(action: String) {
    let _ = action;
}

fn main() {
    let _ = tools![change];
}
