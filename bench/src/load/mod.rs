//! The load: what it asks of a server, and what that costs the server.
//!
//! | file | subject |
//! |---|---|
//! | `scenario` | what a client of HTTP sends, and what must come back |
//! | `connection`, `reply` | one client: a keep-alive connection, and an exact reader of answers |
//! | `http` | many clients at once, for as long as it takes |
//! | `client` | whole clients, ours and the official one, and what a call costs them |
//! | `stdio` | one client over pipes: call by call, or many calls at once |
//! | `start` | from nothing to the first answer, and what lies around afterwards |
//! | `server` | the server as a child process: pinned, measured, stopped |
//!
//! Every answer is read to its end and looked at. One that is wrong ends the run: a fast error is not an answer.

pub mod client;
mod connection;
pub mod http;
mod reply;
mod scenario;
mod server;
pub mod start;
pub mod stdio;

pub use scenario::Scenario;
pub use server::pin_load;

/// An error is a message for the person at the terminal.
pub type Outcome<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;
