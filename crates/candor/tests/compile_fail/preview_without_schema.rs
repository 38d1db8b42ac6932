use candor::prelude::*;

struct Shown;

fn plan(_name: String) -> Shown {
    Shown
}

#[tool(deletes, preview = plan)]
fn act(name: String) -> String {
    name
}

fn main() {
    let _ = tools![act];
}
