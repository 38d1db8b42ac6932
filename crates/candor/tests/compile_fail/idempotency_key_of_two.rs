use candor::prelude::*;

#[tool(adds, idempotency = key(order_id, express))]
fn ship(order_id: String, express: bool) -> String {
    "shipped".to_owned()
}

fn main() {
    let _ = tools![ship];
}
