//! Many clients at once, until the server has worked long enough to be measured.

use std::cell::Cell;
use std::rc::Rc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::task::LocalSet;

use super::connection::Connection;
use super::server::Server;
use super::{Outcome, Scenario};

/// Clients at once, each with a connection of its own.
const CLIENTS: usize = 32;

/// Before anything is measured: caches fill, buffers grow.
const WARM_UP: Duration = Duration::from_millis(300);

/// How often to look whether the server has worked enough.
const LOOK: Duration = Duration::from_millis(20);

/// No run takes longer, whatever the server does.
const MOST_TIME: Duration = Duration::from_secs(120);

/// Starts a server and asks until it has used so much CPU.
pub async fn run(scenario: Scenario, cpu: Duration, mode: &[String]) -> Outcome<Value> {
    let server = Server::start_http(mode)?;
    let mut clients = Vec::new();
    for _ in 0..CLIENTS {
        clients.push(Connection::open(server.port, scenario).await?);
    }
    let warm = Instant::now();
    let (clients, _) = ask_until(clients, || Ok(warm.elapsed() >= WARM_UP)).await?;

    let (start, before) = (Instant::now(), server.cpu()?);
    let enough = || Ok(server.cpu()? - before >= cpu);
    let (_, calls) = ask_until(clients, enough).await?;
    let (took, used) = (start.elapsed(), server.cpu()? - before);

    Ok(json!({
        "cpu_us": used.as_secs_f64() * 1e6 / calls as f64,
        "calls": calls,
        "per_second": calls as f64 / took.as_secs_f64(),
        "busy": used.as_secs_f64() / took.as_secs_f64(),
        "resident_mb": server.resident_mb()?,
    }))
}

/// Waits without sleeping. To wake a client that sleeps costs the server a few microseconds per answer, and slower
/// servers, whose clients wait longer, would pay it more often than faster ones: the ratio would be wrong.
async fn stay_awake(time: Duration) {
    let start = Instant::now();
    while start.elapsed() < time {
        tokio::task::yield_now().await;
    }
}

/// All clients ask, one request after the other, until it is enough. Requests that are under way come to their end, and
/// count.
async fn ask_until(
    clients: Vec<Connection>,
    mut enough: impl FnMut() -> Outcome<bool>,
) -> Outcome<(Vec<Connection>, u64)> {
    let stop = Rc::new(Cell::new(false));
    let tasks = LocalSet::new();
    let asking: Vec<_> = clients
        .into_iter()
        .map(|mut client| {
            let stop = stop.clone();
            tasks.spawn_local(async move {
                let mut calls = 0;
                while !stop.get() {
                    client.ask().await?;
                    calls += 1;
                }
                Outcome::Ok((client, calls))
            })
        })
        .collect();
    let all = async {
        let start = Instant::now();
        while !enough()? && !asking.iter().any(tokio::task::JoinHandle::is_finished) {
            if start.elapsed() > MOST_TIME {
                return Err("the server does not get enough to do".into());
            }
            stay_awake(LOOK).await;
        }
        stop.set(true);
        let (mut clients, mut total) = (Vec::new(), 0);
        for client in asking {
            let (client, calls) = client.await??;
            clients.push(client);
            total += calls;
        }
        Ok((clients, total))
    };
    tasks.run_until(tokio::time::timeout(2 * MOST_TIME, all)).await?
}
