//! A client for tests, in the same process.
//!
//! It exchanges bytes with the server: its messages are scanned, decoded and dispatched as if they had come over a network. Only
//! the transport is missing, with its headers, tokens and lines.
//!
//! ```
//! use candor_server::hints::Hints;
//! use candor_server::tool::{JsonTool, ToolError};
//! use candor_server::{Elicit, Server};
//! use serde_json::json;
//!
//! fn server() -> Server {
//!     let form = json!({"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]});
//!     let greet = JsonTool::new("greet", &json!({"type": "object"}), move |_args, ctx| {
//!         let question = Elicit::form("What is your name?", &form);
//!         async move {
//!             ctx.progress(1, 2, "asking").await;
//!             let answer = ctx.elicit(question).await?;
//!             let name = answer.accepted().ok_or(ToolError::new("Then not."))?;
//!             Ok::<_, ToolError>(format!("Hello, {}!", name["name"].as_str().unwrap_or_default()))
//!         }
//!     })
//!     .hints(Hints::READS);
//!     Server::new("greeter", "1.0.0").tool(greet)
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! // In a `#[tokio::test]`, once per era:
//! for client in [server().test(), server().test_legacy()] {
//!     let client = client.on_elicit(|asked| {
//!         assert_eq!(asked.message, "What is your name?");
//!         json!({"name": "Ada"})
//!     });
//!     let called = client.call("greet", json!({})).await;
//!     assert_eq!(called.text(), "Hello, Ada!");
//!     assert_eq!(called.progress()[0]["message"], "asking");
//! }
//! # }
//! ```
//!
//! The client fails the test on everything unexpected: a protocol error, an unknown name, an unanswered question, or a handler that
//! hangs. The message has the reason and the line of the call. Functions that begin with `try_` return protocol errors instead.

mod answers;
mod called;
mod client;
mod effects;
mod hints;
mod requests;
mod wire;

use candor_protocol::Revision;

use crate::server::Server;

pub use answers::{ModelReply, TestQuestion};
pub use called::{Notice, TestResult};
pub use client::TestClient;
pub use effects::{ObservedCall, StateSnapshot};

impl Server {
    /// Builds the server and returns a client of it, for tests. The client speaks the modern revision. A server without a ledger
    /// gets one in memory.
    ///
    /// # Panics
    /// If the server cannot be built. The message has the reason.
    #[must_use]
    #[track_caller]
    pub fn test(self) -> TestClient {
        match self.or_in_memory().build() {
            Ok(engine) => TestClient::of(&engine),
            Err(error) => panic!("the server cannot be built: {error}"),
        }
    }

    /// Builds the server and returns a client of it that opens a session, as all clients did up to 2025-11-25.
    ///
    /// # Panics
    /// If the server cannot be built. The message has the reason.
    #[must_use]
    #[track_caller]
    pub fn test_legacy(self) -> TestClient {
        self.test().speaking(Revision::LATEST_LEGACY)
    }
}
