use candor::prelude::*;

#[tool(reads)]
fn find(query: String, rest: Arguments) -> String {
    format!("{query} {:?}", rest.as_value())
}

fn main() {
    let _ = tools![find];
}
