use candor::prelude::*;

#[tool(adds, idempotency = "required")]
fn ship(order_id: String) -> String {
    "shipped".to_owned()
}

fn main() {
    let _ = tools![ship];
}
