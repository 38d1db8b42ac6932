use candor::prelude::*;

#[tool(effects(action == "delete" => deletes, idempotent))]
fn change(action: String) {
    let _ = action;
}

fn main() {
    let _ = tools![change];
}
