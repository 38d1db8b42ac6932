use candor::prelude::*;

fn of_action(_action: &u32) -> candor::hints::Hints {
    candor::hints::Hints::READS
}

#[tool(effects = of_action, at_most(deletes))]
fn change(action: String) {
    let _ = action;
}

fn main() {
    let _ = tools![change];
}
