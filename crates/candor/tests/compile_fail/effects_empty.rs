use candor::prelude::*;

#[tool(effects())]
fn change(action: String) {
    let _ = action;
}

fn main() {
    let _ = tools![change];
}
