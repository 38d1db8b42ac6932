use candor::prelude::*;

#[tool(effects(action == "read" => read_only), idempotent)]
fn change(action: String) {
    let _ = action;
}

fn main() {
    let _ = tools![change];
}
