use candor::prelude::*;

#[candor::args]
struct Principal {
    school: String,
}

#[tool(reads)]
fn find(principal: Principal) -> String {
    principal.school
}

fn main() {
    let _ = tools![find];
}
