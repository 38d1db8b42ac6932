use candor::prelude::*;

#[tool(additive, idempotency = key(ctx.key()))]
fn ship(order_id: String, ctx: Ctx) -> String {
    "shipped".to_owned()
}

fn main() {
    let _ = tools![ship];
}
