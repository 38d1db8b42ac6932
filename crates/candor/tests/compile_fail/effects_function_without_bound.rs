use candor::prelude::*;

fn of_action(action: &str) -> candor::hints::Hints {
    if action == "read" { candor::hints::Hints::READS } else { candor::hints::Hints::WORST }
}

#[tool(effects = of_action)]
fn change(action: String) {
    let _ = action;
}

fn main() {
    let _ = tools![change];
}
