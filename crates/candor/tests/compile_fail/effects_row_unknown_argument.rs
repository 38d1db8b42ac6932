use candor::prelude::*;

#[tool(effects(acton == "read" => read_only))]
fn change(path: String, action: String) {
    let _ = (path, action);
}

fn main() {
    let _ = tools![change];
}
