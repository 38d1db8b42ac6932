//! MCP clients of both eras that ask before they act.
//!
//! ```no_run
//! use candor_client::{Client, Key, Trust};
//! use serde_json::json;
//!
//! # async fn prompt(_: &str) -> bool { true }
//! # async fn example() -> Result<(), candor_client::Error> {
//! let client = Client::connect("http://127.0.0.1:7332/mcp").trust(Trust::Untrusted).await?;
//! let result = client
//!     .call_safely("manage_files", json!({"path": "a.txt", "action": "delete"}))
//!     .confirm(|ask| async move { prompt(&ask.summary()).await })   // asked only when it matters
//!     .key(Key::new())                                              // the same on every attempt
//!     .await?;
//! println!("{}", result.text());
//! # Ok(()) }
//! ```
//!
//! - [`Client`]: a server behind a URL ([`Client::connect`]) or a program to start ([`Client::start`]). The client detects the era.
//!   It reopens connections, sessions and programs that have ended.
//! - [`Client::call_safely`]: evaluates a call, asks for confirmation if needed, and then makes it. [`Trust`] sets whether the
//!   server's hints count, [`HostPolicy`] when to ask. [`ConfirmRequest`] is what the user sees.
//! - [`Client::explain`], [`Client::preview`], [`Client::describe_for_model`]: show what a call would do, without making it.
//! - [`Client::call`]: makes a call without confirmation. [`Key`] and [`Retry`] control retries, so that no call runs twice by
//!   accident.
//! - [`Client::resources`], [`Client::children`], [`Client::metadata`], [`Client::read`], [`Client::listen`]: resources and their
//!   changes. [`Client::walk`] walks a whole tree within limits.
//! - [`config`]: servers from the configuration files of the user's hosts.
//! - [`Connect`]: answers to the server's questions, timeouts, limits, tokens.
//!
//! A request passes these modules in order: `call` or `safely` → `rounds` (questions of the server) → `client` (session, breaker) →
//! `session` (id, `_meta`, timeout) → `link` (a POST, or a line). Meanwhile, `host` receives the server's questions, progress and
//! notifications.

mod breaker;
mod cache;
mod call;
mod client;
mod compile;
pub mod config;
mod connect;
mod cost;
mod error;
mod explain;
mod formats;
mod host;
mod link;
mod listen;
mod lists;
mod members;
mod metadata;
mod policy;
mod preview;
mod resources;
mod result;
mod retry;
mod rounds;
mod safely;
mod scoping;
mod servers;
mod session;
mod tools;
mod unsent;
mod uri;
mod walk;

pub use cache::Cache;
pub use call::{Call, Key};
pub use candor_hints as hints;
pub use candor_hints::{AskLevel, Hints, Verdict};
pub use candor_protocol as protocol;
pub use candor_protocol::{Era, Revision, Undo, types};
pub use candor_schema::{Invalid, Violation};
pub use client::Client;
pub use connect::{ClientLimits, Connect, Program};
pub use error::{Error, RefusalSource};
pub use explain::{EffectSource, Explanation};
pub use host::{ApprovalWait, ElicitReply, Elicitation, Progress};
pub use link::group::{end_programs, kill_programs};
pub use listen::{Change, ChangeStream, Interest};
pub use metadata::ResourceDescription;
pub use policy::{HostPolicy, Trust};
pub use preview::Preview;
pub use resources::{Contents, bytes_of};
pub use result::{CallResult, Failure};
pub use retry::Retry;
pub use safely::{ConfirmRequest, SafeCall};
pub use servers::{NameTaken, NamedTool, NamedTools, Servers};
pub use tools::{KnownTool, Tools, UnusableTool};
pub use uri::is_same_uri;
pub use walk::{Snapshot, Step, Walk, WalkError, WalkStop};

/// The guide. Doctests compile its examples.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/client.md")]
struct Guide;
