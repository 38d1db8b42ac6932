use candor::prelude::*;

#[tool(adds, recorded)]
fn ship(order_id: String) -> String {
    "shipped".to_owned()
}

fn main() {
    let _ = tools![ship];
}
