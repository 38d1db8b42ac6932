use candor::prelude::*;

#[tool(effects(count < 10 => reads))]
fn change(count: u32) {
    let _ = count;
}

fn main() {
    let _ = tools![change];
}
