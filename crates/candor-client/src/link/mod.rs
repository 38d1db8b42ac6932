//! The transport to a server: sends a request, receives its answer, and passes on the server's other messages in order.

pub(crate) mod child;
pub(crate) mod group;
pub(crate) mod http;
pub(crate) mod pipe;
mod sse;

use candor_protocol::json::RawValue;
use candor_protocol::names::method;
use candor_protocol::rpc::RequestId;

use crate::error::Error;

/// A request that is ready to be sent.
#[derive(Debug)]
pub(crate) struct Outgoing<'a> {
    pub(crate) id: RequestId,
    pub(crate) method: &'a str,
    /// The complete message.
    pub(crate) body: Vec<u8>,
    /// The value of `Mcp-Name` over HTTP.
    pub(crate) name: Option<&'a str>,
    /// Arguments that are also sent as headers: names without the prefix, and values.
    pub(crate) mirrored: &'a [(String, String)],
    /// The idempotency key, for proxies.
    pub(crate) key: Option<&'a str>,
}

/// A transport to a server.
#[derive(Debug)]
pub(crate) enum Link {
    Http(http::Http),
    Pipe(pipe::Pipe),
}

impl Outgoing<'_> {
    /// Returns true if the request is cancelled when its caller stops waiting. A handshake never is. A server that does not know
    /// the request may not know cancellation either. Some servers end the session if a message comes before the handshake.
    pub(crate) fn can_be_taken_back(&self) -> bool {
        !matches!(self.method, method::DISCOVER | method::INITIALIZE)
    }
}

impl Link {
    /// Sends a request and waits for its answer. Dropping the future cancels the request.
    pub(crate) async fn request(&self, outgoing: Outgoing<'_>) -> Result<Box<RawValue>, Error> {
        match self {
            Self::Http(http) => http.request(outgoing).await,
            Self::Pipe(pipe) => pipe.request(outgoing).await,
        }
    }

    pub(crate) async fn notify(&self, method: &str, body: Vec<u8>) -> Result<(), Error> {
        match self {
            Self::Http(http) => http.notify(method, body).await,
            Self::Pipe(pipe) => pipe.send(body).await,
        }
    }

    /// Returns true if the transport can still send requests.
    pub(crate) fn is_alive(&self) -> bool {
        match self {
            Self::Http(http) => http.is_alive(),
            Self::Pipe(pipe) => pipe.is_alive(),
        }
    }

    /// Returns true if the client currently receives messages that belong to no request.
    pub(crate) fn hears(&self) -> bool {
        match self {
            Self::Http(http) => http.hears(),
            Self::Pipe(pipe) => pipe.is_alive(),
        }
    }

    /// Closes the transport, and waits until the other side has ended.
    pub(crate) async fn close(&self) {
        match self {
            Self::Http(http) => http.close().await,
            Self::Pipe(pipe) => pipe.close().await,
        }
    }
}
