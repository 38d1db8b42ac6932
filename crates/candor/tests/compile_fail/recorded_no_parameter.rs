use candor::prelude::*;

#[tool(additive, recorded(amount))]
fn ship(order_id: String, express: bool) -> String {
    "shipped".to_owned()
}

fn main() {
    let _ = tools![ship];
}
