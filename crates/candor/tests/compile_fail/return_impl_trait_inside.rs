use candor::prelude::*;

#[tool(read_only)]
fn name() -> Option<impl std::fmt::Display> {
    Some("Ada")
}

fn main() {
    let _ = tools![name];
}
