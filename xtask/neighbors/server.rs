//! The ten-line server beside two other database crates: one tool writes with sqlx, one reads with diesel.
//!
//! `cargo xtask neighbors` builds it with old and new versions of both. One program has one SQLite, so cargo must agree on it.

use candor::prelude::*;
use diesel::Connection as _;
use diesel::RunQueryDsl as _;
use sqlx::Connection as _;

#[derive(diesel::QueryableByName)]
struct Count {
    #[diesel(sql_type = diesel::sql_types::BigInt)]
    orders: i64,
}

fn shop() -> String {
    std::env::var("SHOP").expect("SHOP names the shop's own database")
}

/// Adds an order to the shop's own database.
#[tool(adds, closed_world, idempotency = required)]
async fn add_order(item: String) -> Result<i64, ToolError> {
    let mut db = sqlx::SqliteConnection::connect(&format!("sqlite:{}?mode=rwc", shop())).await?;
    sqlx::query("CREATE TABLE IF NOT EXISTS orders (id INTEGER PRIMARY KEY, item TEXT)")
        .execute(&mut db)
        .await?;
    let added =
        sqlx::query("INSERT INTO orders (item) VALUES (?)").bind(item).execute(&mut db).await?;
    Ok(added.last_insert_rowid())
}

/// Counts the orders in the shop's own database.
#[tool(reads)]
fn count_orders() -> Result<i64, ToolError> {
    let mut db = diesel::SqliteConnection::establish(&shop())?;
    let count: Count =
        diesel::sql_query("SELECT count(*) AS orders FROM orders").get_result(&mut db)?;
    Ok(count.orders)
}

#[tokio::main]
async fn main() -> candor::Result<()> {
    Server::new("shop", "1.0.0").tools(tools![add_order, count_orders]).run().await
}
