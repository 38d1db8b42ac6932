use candor::prelude::*;

#[tool(read_only, destructive)]
fn change(action: String) {
    let _ = action;
}

fn main() {
    let _ = tools![change];
}
