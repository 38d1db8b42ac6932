use candor::prelude::*;

fn of_action(action: &String) -> bool {
    action == "read"
}

#[tool(effects = of_action, at_most(deletes))]
fn change(action: String) {
    let _ = action;
}

fn main() {
    let _ = tools![change];
}
