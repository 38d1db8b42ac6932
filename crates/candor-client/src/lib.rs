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
//! - [`Client`]: a server within reach, behind a URL ([`Client::connect`]) or started as a program ([`Client::start`]). Which era it
//!   speaks is found out; connections, sessions and programs that end are opened again.
//! - [`Client::call_safely`]: what would this very call do, may it, and only then do it. [`Trust`] says whom to believe,
//!   [`HostPolicy`] when to ask, [`ConfirmRequest`] what a person is shown.
//! - [`Client::explain`], [`Client::preview`], [`Client::describe_for_model`]: the first half of that.
//! - [`Client::call`]: the second half. [`Key`] and [`Retry`]: what is tried again, and never done twice.
//! - [`Client::resources`], [`Client::children`], [`Client::metadata`], [`Client::read`], [`Client::listen`]; [`Client::walk`], a whole tree
//!   within limits.
//! - [`config`]: servers from the configuration files of the user's hosts.
//! - [`Connect`]: answers for the server's questions, time-outs, limits, tokens.
//!
//! One request, in the order of the code: `call` or `safely` → `rounds` (questions of the server) → `client` (session, breaker) → `session` (id,
//! `_meta`, time) → `link` (a POST, or a line) → `host`, which hears what the server says meanwhile.

mod breaker;
mod cache;
mod call;
mod client;
mod compile;
pub mod config;
mod connect;
mod cost;
mod error;
mod foresee;
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
pub use foresee::{EffectSource, Explanation};
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

/// What the guide shows compiles.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/client.md")]
struct Guide;
