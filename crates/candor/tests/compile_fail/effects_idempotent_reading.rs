use candor::prelude::*;

#[tool(reads, idempotent)]
fn change(action: String) {
    let _ = action;
}

fn main() {
    let _ = tools![change];
}
