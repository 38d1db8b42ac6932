use candor::prelude::*;

#[tool(adds, recorded(amount))]
fn ship(order_id: String, express: bool) -> String {
    "shipped".to_owned()
}

fn main() {
    let _ = tools![ship];
}
