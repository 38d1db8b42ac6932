use candor::prelude::*;

#[tool(reads)]
fn name() -> Option<impl std::fmt::Display> {
    Some("Ada")
}

fn main() {
    let _ = tools![name];
}
