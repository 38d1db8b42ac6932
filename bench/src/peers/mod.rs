//! The servers: candor, and what it is held against.
//!
//! All run on one thread, with the same allocator and TCP_NODELAY, so that what differs is their code.

pub mod bare_axum;
pub mod bare_stdio;
pub mod bytes;
pub mod candor;
pub mod rmcp;

use std::io;

use axum::Router;
use axum::serve::ListenerExt as _;
use tokio::net::TcpListener;

/// Serves an app as most programs do, on sockets that do not wait for more to send.
async fn serve(listener: TcpListener, app: Router) -> io::Result<()> {
    let listener = listener.tap_io(|socket| {
        // Fails only on a connection that is gone already.
        let _ = socket.set_nodelay(true);
    });
    axum::serve(listener, app).await
}
