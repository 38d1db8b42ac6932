//! The accept loop, with bounds on connections and on their time.
//!
//! `axum::serve` bounds neither the number of connections nor the time that a peer may take. This one bounds both, and drains
//! connections when it stops.

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
use candor_engine::Limits;

/// How long to wait if the system is out of file descriptors.
const BREATHER: Duration = Duration::from_millis(50);

/// The most bytes that a connection buffers, which bounds a request's head. hyper's own limit is six times higher, for every
/// connection.
const MOST_BUFFERED: usize = 64 * 1024;

/// The address of a connection's peer, as an extension of its requests.
#[derive(Debug, Clone, Copy)]
pub(super) struct TcpPeer(pub(super) SocketAddr);

/// Serves an app until `stop` ends, then waits up to [`Limits::drain`] for connections to finish.
///
/// Unlike `axum::serve`, it bounds the number of connections, and the time that a peer may take to send or to read.
///
/// ```no_run
/// # async fn run(engine: candor_server::RunningServer) -> std::io::Result<()> {
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

/// The open connections, and what each new one needs.
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

    /// Serves a new connection until it ends, if there is capacity. Not part of [`serve`], which is compiled again wherever it is
    /// called: this pulls in all of hyper.
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
