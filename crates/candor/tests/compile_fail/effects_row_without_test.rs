use candor::prelude::*;

#[tool(effects(action => reads))]
fn change(action: String) {
    let _ = action;
}

fn main() {
    let _ = tools![change];
}
