use candor::prelude::*;

#[tool(read_only)]
fn looks() {}

#[tool(additive, idempotent)]
fn appends() {}

#[tool(destructive)]
fn removes() {}

#[candor::args]
enum Action {
    #[effect(destructive)]
    Delete,
}

#[tool(effects(action == "read" => read_only, otherwise => destructive + idempotent))]
fn acts(action: String) {
    drop(action);
}

fn main() {}
