use candor::prelude::*;

#[tool(deletes, at_most(deletes))]
fn change(action: String) {
    let _ = action;
}

fn main() {
    let _ = tools![change];
}
