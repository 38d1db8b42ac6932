use candor::prelude::*;

struct Shown;

fn plan(_name: String) -> Shown {
    Shown
}

#[tool(destructive, preview = plan)]
fn act(name: String) -> String {
    name
}

fn main() {
    let _ = tools![act];
}
