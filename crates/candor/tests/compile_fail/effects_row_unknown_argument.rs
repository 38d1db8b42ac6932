use candor::prelude::*;

#[tool(effects(acton == "read" => reads))]
fn change(path: String, action: String) {
    let _ = (path, action);
}

fn main() {
    let _ = tools![change];
}
