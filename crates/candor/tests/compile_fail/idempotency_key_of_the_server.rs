use candor::prelude::*;

#[tool(adds, idempotency = key(ctx.key()))]
fn ship(order_id: String, ctx: Ctx) -> String {
    "shipped".to_owned()
}

fn main() {
    let _ = tools![ship];
}
