//! A client for tests, in the test's own process.
//!
//! It speaks bytes: what it sends is scanned, decoded and dispatched as if it had come over a wire, and it reads what
//! would have gone back. Only the transport is missing, and with it headers, tokens and lines.
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
//! // In a `#[tokio::test]`, once for each era:
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
//! What a test did not expect, the client does not pass over: a protocol error, an unknown name, a question nobody answers
//! and a handler that hangs fail the test, with the reason and the line of the call. Functions that begin with `try_` give
//! protocol errors back instead.

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
    /// Builds the server and gives a client of it, for tests. It speaks the modern revision. A server without a ledger gets
    /// one that is forgotten with the test.
    ///
    /// # Panics
    /// If the server cannot be built; says why.
    #[must_use]
    #[track_caller]
    pub fn test(self) -> TestClient {
        match self.or_in_memory().build() {
            Ok(engine) => TestClient::of(&engine),
            Err(error) => panic!("the server cannot be built: {error}"),
        }
    }

    /// The same with a client that opens a session, as all did up to 2025-11-25.
    ///
    /// # Panics
    /// If the server cannot be built; says why.
    #[must_use]
    #[track_caller]
    pub fn test_legacy(self) -> TestClient {
        self.test().speaking(Revision::LATEST_LEGACY)
    }
}
