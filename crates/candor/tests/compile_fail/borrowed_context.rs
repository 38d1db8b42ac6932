use candor::prelude::*;

#[tool(read_only)]
async fn wait(ctx: &Ctx) {
    ctx.cancelled().await;
}

fn main() {
    let _ = tools![wait];
}
