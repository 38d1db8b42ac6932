//! A server only for the browser tests: its texts try to break the pages of the console.
//!
//! | file | subject |
//! |---|---|
//! | `hostile` | tools and resources with everything that a page must not treat as its own markup |
//! | `orders` | a tool with a form that is as deep as forms get |
//! | `slow` | a tool that runs until it is cancelled |
//!
//! `cargo xtask browser` starts it. It listens on a free port of this machine, and prints the port on stderr as all servers do.

#![allow(clippy::print_stderr, reason = "that is where a server says where it is")]

mod hostile;
mod orders;
mod slow;

use std::future::pending;
use std::io;

use axum::Router;
use candor_console::Console;
use candor_server::transport::http::{Http, endpoint, serve};
use candor_server::{Server, store};
use tokio::net::TcpListener;

/// A title with placeholders of a template, and with a script tag.
const TITLE: &str = "{{ALLOW_EXECUTE}}|{{PROJECT_LINK}}<script>";

#[tokio::main]
async fn main() -> io::Result<()> {
    let ledger = store::open("memory:", store::Options::default())
        .map_err(|e| io::Error::other(e.to_string()))?;
    let engine = Server::new("trial", "1.0.0")
        .instructions(hostile::payloads().join("\n"))
        .ledger(ledger)
        .tools(hostile::tools())
        .tool(orders::tool())
        .tool(slow::tool())
        .resources(hostile::resources())
        .build()
        .map_err(|e| io::Error::other(e.to_string()))?;
    let http = Http::default();
    let console = Console::of(engine.clone()).title(TITLE).allow_execute().reached(&http);
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    eprintln!("  console  http://{address}/#token={}", console.launch_token());
    eprintln!("listening on http://{address}");
    let app = Router::new().route("/mcp", endpoint(engine.clone(), http)).merge(console.router());
    serve(listener, app, engine.limits(), pending()).await
}
