use candor::prelude::*;

#[tool(destructive, at_most(destructive))]
fn change(action: String) {
    let _ = action;
}

fn main() {
    let _ = tools![change];
}
