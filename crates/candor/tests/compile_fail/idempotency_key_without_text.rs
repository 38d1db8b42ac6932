use candor::prelude::*;

#[candor::args]
struct Parcel {
    weight: u32,
}

#[tool(adds, idempotency = key(parcel))]
fn ship(parcel: Parcel, express: bool) -> String {
    "shipped".to_owned()
}

fn main() {
    let _ = tools![ship];
}
