use candor::prelude::*;

#[tool(unclassified, closed_world)]
fn change(action: String) {
    let _ = action;
}

fn main() {
    let _ = tools![change];
}
