use candor::prelude::*;

#[tool(adds, recorded = order_id)]
fn ship(order_id: String) -> String {
    "shipped".to_owned()
}

fn main() {
    let _ = tools![ship];
}
