use candor::prelude::*;

#[tool(reads)]
async fn wait(ctx: &Ctx) {
    ctx.cancelled().await;
}

fn main() {
    let _ = tools![wait];
}
