//! Servers to talk to: Candor's own on real sockets and pipes, and one that says whatever a test wants.

// Each test crate uses a part of it.
#![allow(dead_code)]

pub(crate) mod scripted;

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use candor::prelude::Principal;
use candor::transport::http::{Http, endpoint};
use candor::{RunningServer, Server};
use candor_client::{Client, Connect, Era};
use tokio::net::TcpListener;

/// Waits for what should come at once: what does not, hangs, and fails the test.
pub(crate) async fn soon<T>(awaited: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(20), awaited)
        .await
        .expect("this should not take twenty seconds")
}

/// A server at a port of its own.
pub(crate) struct Site {
    pub(crate) engine: RunningServer,
    pub(crate) url: String,
}

impl Site {
    pub(crate) async fn of(server: Server) -> Self {
        Self::with(server, Http::default()).await
    }

    pub(crate) async fn with(server: Server, http: Http) -> Self {
        let engine = server.build().expect("a server that can be built");
        let app = axum::Router::new().route("/mcp", endpoint(engine.clone(), http));
        let address = serve(app).await;
        Self { engine, url: format!("http://{address}/mcp") }
    }

    pub(crate) fn client(&self) -> Connect {
        Client::connect(&self.url)
    }
}

/// Serves a router for as long as the test runs.
pub(crate) async fn serve(app: axum::Router) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move { axum::serve(listener, app).await });
    address
}

/// A server at the other end of a pair of pipes.
pub(crate) fn piped(server: Server) -> Connect {
    let engine = server.build().expect("a server that can be built");
    let (ours, theirs) = tokio::io::duplex(64 * 1024);
    let (input, output) = tokio::io::split(theirs);
    tokio::spawn(async move {
        candor::transport::stdio::serve(&engine, Principal::new("me"), input, output).await
    });
    let (input, output) = tokio::io::split(ours);
    Client::over(input, output)
}

/// The four ways to one server: over HTTP and over pipes, in both eras.
pub(crate) async fn everywhere<F>(
    server: impl Fn() -> Server,
    test: impl Fn(Arc<str>, Connect) -> F,
) where
    F: Future<Output = ()>,
{
    for era in [Era::Modern, Era::Legacy] {
        let site = Site::of(server()).await;
        test(format!("{era:?} over HTTP").into(), site.client().era(era)).await;
        test(format!("{era:?} over pipes").into(), piped(server()).era(era)).await;
    }
}
