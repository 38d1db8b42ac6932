//! The accept loop: connections that nobody can hold open for nothing.
//!
//! `axum::serve` has no bound on connections and none on how long a peer may take. This one has both,
//! and drains when it is told to stop.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tower_service::Service;

use super::patience::Patient;
use crate::limits::Limits;

/// How long to wait when the system has no more file descriptors to give.
const BREATHER: Duration = Duration::from_millis(50);

/// What a connection may hold of what has been sent and not been read: a request's head, at most. hyper's own bound is six times that,
/// for everybody who connects.
const MOST_BUFFERED: usize = 64 * 1024;

/// The other end of a connection, as an extension of its requests.
#[derive(Debug, Clone, Copy)]
pub(super) struct TcpPeer(pub(super) SocketAddr);

/// Serves an app until `stop` ends, then lets connections finish for a while.
///
/// Unlike `axum::serve` it bounds connections and the time that a peer may take to send or to read.
///
/// ```no_run
/// # async fn run(engine: candor_server::Engine) -> std::io::Result<()> {
/// use candor_server::transport::http::{Http, endpoint, serve};
///
/// let app = axum::Router::new().route("/mcp", endpoint(engine.clone(), Http::default()));
/// let listener = tokio::net::TcpListener::bind("127.0.0.1:7332").await?;
/// let stop = std::future::pending();         // or a signal
/// serve(listener, app, engine.limits(), stop).await
/// # }
/// ```
pub async fn serve(
    listener: TcpListener,
    app: Router,
    limits: &Limits,
    stop: impl Future<Output = ()>,
) -> io::Result<()> {
    let connections = Connections::new(app, limits);
    let mut stop = std::pin::pin!(stop);
    loop {
        let (stream, peer) = tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok(accepted) => accepted,
                Err(error) => {
                    tracing::warn!(%error, "a connection could not be accepted");
                    tokio::time::sleep(BREATHER).await;
                    continue;
                }
            },
            () = &mut stop => break,
        };
        connections.start(stream, peer);
    }
    drop(listener);
    let _ = tokio::time::timeout(limits.drain, connections.running.shutdown()).await;
    Ok(())
}

/// Those that are open, and what each new one is given.
struct Connections {
    app: Router,
    http: http1::Builder,
    write_time: Duration,
    room: Arc<Semaphore>,
    running: GracefulShutdown,
}

impl Connections {
    fn new(app: Router, limits: &Limits) -> Self {
        let mut http = http1::Builder::new();
        http.timer(TokioTimer::new()).header_read_timeout(limits.head_time);
        http.max_buf_size(MOST_BUFFERED);
        Self {
            app,
            http,
            write_time: limits.write_time,
            room: Arc::new(Semaphore::new(limits.connections)),
            running: GracefulShutdown::new(),
        }
    }

    /// Serves a new one as long as it lasts, if there is room. Not part of [`serve`], which is compiled anew wherever it
    /// is called: all of hyper hangs on this.
    fn start(&self, stream: TcpStream, peer: SocketAddr) {
        let Ok(permit) = self.room.clone().try_acquire_owned() else {
            tracing::warn!(%peer, "too many connections");
            return;
        };
        // Small messages must not wait for each other (Nagle).
        let _ = stream.set_nodelay(true);
        let app = self.app.clone();
        let service = service_fn(move |mut request: Request<Incoming>| {
            request.extensions_mut().insert(TcpPeer(peer));
            app.clone().call(request.map(Body::new))
        });
        let stream = TokioIo::new(Patient::new(stream, self.write_time));
        let connection = self.running.watch(self.http.serve_connection(stream, service));
        tokio::spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!(%peer, %error, "a connection ended early");
            }
            drop(permit);
        });
    }
}
