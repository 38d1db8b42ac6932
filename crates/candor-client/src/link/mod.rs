//! The way to a server and back: a message goes out, its answer comes in, and what the server says meanwhile is passed on
//! in the order in which it was said.

pub(crate) mod child;
pub(crate) mod group;
pub(crate) mod http;
pub(crate) mod pipe;
mod sse;

use candor_protocol::json::RawValue;
use candor_protocol::names::method;
use candor_protocol::rpc::RequestId;

use crate::error::Error;

/// A request, ready to be sent.
#[derive(Debug)]
pub(crate) struct Outgoing<'a> {
    pub(crate) id: RequestId,
    pub(crate) method: &'a str,
    /// The whole message.
    pub(crate) body: Vec<u8>,
    /// What stands in `Mcp-Name` over HTTP.
    pub(crate) name: Option<&'a str>,
    /// Arguments that stand in headers, too: names after the prefix, and values.
    pub(crate) mirrored: &'a [(String, String)],
    /// The name of the operation, for proxies.
    pub(crate) key: Option<&'a str>,
}

/// A way to a server.
#[derive(Debug)]
pub(crate) enum Link {
    Http(http::Http),
    Pipe(pipe::Pipe),
}

impl Outgoing<'_> {
    /// Whether it is taken back when nobody waits for it any more. A handshake never is: who does not know the question may
    /// know nothing of taking back either, and what comes before a handshake is the end of the session for some.
    pub(crate) fn can_be_taken_back(&self) -> bool {
        !matches!(self.method, method::DISCOVER | method::INITIALIZE)
    }
}

impl Link {
    /// Sends a request and waits for its answer. Dropping it takes the request back.
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

    /// Whether requests can still go this way.
    pub(crate) fn is_alive(&self) -> bool {
        match self {
            Self::Http(http) => http.is_alive(),
            Self::Pipe(pipe) => pipe.is_alive(),
        }
    }

    /// Whether what the server says unasked would be heard now.
    pub(crate) fn hears(&self) -> bool {
        match self {
            Self::Http(http) => http.hears(),
            Self::Pipe(pipe) => pipe.is_alive(),
        }
    }

    /// Ends it, and waits until the other side has gone.
    pub(crate) async fn close(&self) {
        match self {
            Self::Http(http) => http.close().await,
            Self::Pipe(pipe) => pipe.close().await,
        }
    }
}
