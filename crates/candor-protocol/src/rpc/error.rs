//! The error object of a JSON-RPC response, and every code that Candor sends.

use serde::Serialize;

use crate::json::{Number, RawValue};
use crate::message::message;

/// Error codes. Those of MCP keep their meaning; Candor's own are outside the range that JSON-RPC reserves.
pub mod code {
    /// The text is not JSON, or JSON that parsers read differently.
    pub const PARSE_ERROR: i64 = -32700;
    /// JSON, but not a JSON-RPC message.
    pub const INVALID_REQUEST: i64 = -32600;
    /// The method does not exist here.
    pub const METHOD_NOT_FOUND: i64 = -32601;
    /// The parameters are invalid for the method.
    pub const INVALID_PARAMS: i64 = -32602;
    /// The server failed; details are in its log, not in the response.
    pub const INTERNAL_ERROR: i64 = -32603;
    /// Resource not found, up to revision 2025-11-25. Later revisions use [`INVALID_PARAMS`].
    pub const RESOURCE_NOT_FOUND: i64 = -32002;
    /// HTTP headers and body disagree.
    pub const HEADER_MISMATCH: i64 = -32020;
    /// The request needs a capability that its client did not declare.
    pub const MISSING_CLIENT_CAPABILITY: i64 = -32021;
    /// The requested protocol revision is not served here.
    pub const UNSUPPORTED_VERSION: i64 = -32022;
    /// Too many requests are running; the client may send the same request again later.
    pub const BUSY: i64 = 4290;
    /// The request was cancelled before it got a response.
    pub const CANCELLED: i64 = 4990;
}

message! {
    /// The error that a request returned.
    pub struct ErrorObject {
        /// One of [`code`], or a peer's own.
        required code: Number = "code",
        /// One sentence for a user.
        required message: String = "message",
        /// Details for a program.
        optional data: Box<RawValue> = "data",
    }
}

impl ErrorObject {
    /// Adds details for a program.
    #[must_use]
    pub fn with_data(mut self, data: &impl Serialize) -> Self {
        self.data = Some(crate::json::raw(data));
        self
    }

    /// Returns the code as a number; 0 if an `i64` cannot hold it.
    #[must_use]
    pub fn code(&self) -> i64 {
        self.code.as_str().parse().unwrap_or(0)
    }

    /// Creates the error for parameters that are invalid for the method.
    pub fn invalid_params(message: impl Into<String>) -> Self {
        Self::new(code::INVALID_PARAMS, message)
    }

    /// Creates the error for JSON that is not a JSON-RPC message.
    pub fn invalid_request(message: impl Into<String>) -> Self {
        Self::new(code::INVALID_REQUEST, message)
    }

    /// Creates the error for a method that does not exist here.
    #[must_use]
    pub fn method_not_found(method: &str) -> Self {
        Self::new(code::METHOD_NOT_FOUND, format!("Method not found: {method}"))
    }

    /// Creates the error for a server that is at capacity.
    #[must_use]
    pub fn busy() -> Self {
        Self::new(code::BUSY, "Too many requests are running; send this one again later")
            .with_data(&crate::json::Object::new().with("code", "busy"))
    }

    /// Creates the error for a failure of the server. Details that a client must not see belong in the log.
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(code::INTERNAL_ERROR, message)
    }
}
