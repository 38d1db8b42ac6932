use candor::prelude::*;

enum Trouble {
    TooMany,
}

#[tool(reads)]
fn count(items: Vec<String>) -> Result<usize, Trouble> {
    if items.len() > 9 { Err(Trouble::TooMany) } else { Ok(items.len()) }
}

fn main() {
    let _ = tools![count];
}
