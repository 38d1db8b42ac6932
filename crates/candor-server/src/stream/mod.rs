//! Where messages for the client go while its request runs.

mod log;
mod pipe;

use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::mpsc;

pub(crate) use log::{Event, StreamLog};
pub(crate) use pipe::Pipe;

/// The way from a running request back to its client, ahead of the answer.
#[derive(Debug, Clone)]
pub(crate) enum Outlet {
    /// The queue of the stdio writer.
    Queue(mpsc::Sender<Bytes>),
    /// The event stream of a modern HTTP request.
    Pipe(Pipe),
    /// A legacy event stream that a client can leave and resume.
    Log(Arc<StreamLog>),
    /// None: for a request in an HTTP batch, the server sends only the answer.
    None,
}

impl Outlet {
    /// Sends a message, and waits while a queue is full. A client that is gone is not an error.
    pub(crate) async fn send(&self, message: Vec<u8>) {
        match self {
            Self::Queue(queue) => {
                let _ = queue.send(message.into()).await;
            }
            Self::Pipe(pipe) => pipe.send(message.into()).await,
            Self::Log(log) => log.push(message.into()),
            Self::None => {}
        }
    }
}
