//! A console without a server: approvals and history of every server that writes to a ledger. It is for operators whose servers run
//! under a host over stdio.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::routing::get;
use candor_console::Console;
use candor_server::Limits;
use candor_server::store::Store;

use super::http::{bind, stop_signal};
use crate::{Error, Result};

/// Serves the console of a ledger until a stop signal arrives. Only this machine can reach it.
///
/// # Errors
/// Returns an error if the address is in use, or if other machines can reach it.
pub async fn console(store: Arc<dyn Store>, address: Option<SocketAddr>) -> Result<()> {
    if let Some(address) = address.filter(|address| !address.ip().is_loopback()) {
        return Err(Error::usage(format!(
            "--http {address} exposes approvals to anyone on other machines who has the link. Listen on 127.0.0.1."
        )));
    }
    let listener = bind(address).await?;
    let address = listener.local_addr()?;
    let stop = stop_signal()?;
    let describe = store.describe();
    let console = Console::of_ledger(store);
    let closing = console.closing();
    let stop = async move {
        stop.await;
        closing.close();
    };
    eprintln!("candor console · {describe}");
    eprintln!("  console  http://{address}/#token={}   (open this)", console.launch_token());
    eprintln!("listening on http://{address}");
    let app = Router::new().route("/healthz", get(|| async { "ok" })).merge(console.router());
    Ok(candor_server::transport::http::serve(listener, app, &Limits::default(), stop).await?)
}
