//! From nothing to the first answer, and what lies around afterwards.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::connection::Connection;
use super::server::Server;
use super::{Outcome, Scenario};

/// How long a server is left alone before its memory counts as idle.
const REST: Duration = Duration::from_millis(300);

/// Starts a server and asks it once. What the program that pins it takes is counted in.
pub async fn first_answer(mode: &[String]) -> Outcome<Value> {
    let start = Instant::now();
    let server = Server::start_http(mode)?;
    Connection::open(server.port, Scenario::Modern).await?.ask().await?;
    Ok(json!({"ms": start.elapsed().as_secs_f64() * 1e3}))
}

/// Starts a server, asks for its list of tools, which it may keep, and leaves it alone.
pub async fn idle(mode: &[String]) -> Outcome<Value> {
    let server = Server::start_http(mode)?;
    Connection::open(server.port, Scenario::List).await?.ask().await?;
    tokio::time::sleep(REST).await;
    Ok(json!({"resident_mb": server.resident_mb()?}))
}
