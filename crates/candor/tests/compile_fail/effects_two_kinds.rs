use candor::prelude::*;

#[tool(reads, deletes)]
fn change(action: String) {
    let _ = action;
}

fn main() {
    let _ = tools![change];
}
