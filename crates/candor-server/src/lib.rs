//! MCP servers of both eras: the wire around [`candor_engine`].
//!
//! # Map
//!
//! | what | where |
//! |---|---|
//! | describing a server | [`Server`], [`tool`], [`resource`], [`prompt`], [`policy`] |
//! | the running server | [`RunningServer`]: its [`Engine`], and what its transports share |
//! | JSON-RPC: dispatch, methods, encoders, the way back to the client | `rpc` |
//! | what a server declares | `capabilities` |
//! | legacy sessions | `session`; messages on their way to a client: `stream` |
//! | transports | [`transport::stdio`], [`transport::http`] |
//! | authentication | [`auth`] |
//! | a client for tests | [`testing`] |
//!
//! This crate contains no HTML and no command-line code. It decides nothing about a call: the engine does.

pub mod auth;
mod capabilities;
mod refusal_log;
mod rpc;
mod running_server;
mod server;
mod session;
mod stream;
pub mod testing;
pub mod transport;

#[doc(hidden)]
pub use candor_engine::blocking;
pub use candor_engine::tool::Arguments;
#[doc(hidden)]
pub use candor_engine::trace::trace_id;
pub use candor_engine::{
    AskError, Audit, BuildError, Call, CallEnd, Caller, Changes, ClientInfo, Ctx, Decision,
    DecisionId, Elicit, ElicitAnswer, Engine, Expectation, FormAnswer, FromCtx, IntoProposals,
    KeepArguments, Limits, Need, NextStep, NoPeer, Outcome, Peer, RecordStatus, Refusal, Sample,
    Secret, SecretError, State, ToolView, View, caller_key, policy, prompt, resource, tool,
};
pub use candor_hints::{AskLevel, Verdict};
#[doc(hidden)] // for the console, whose encoders share them
pub use rpc::encode::call::ResultForm;
#[doc(hidden)]
pub use rpc::encode::resource::Publisher;
#[doc(hidden)]
pub use rpc::method::resources::{PageError, resource_page};
pub use running_server::{About, CacheHint, CacheScope, RunningServer, SessionView, host_name};
pub use server::Server;

pub use candor_engine as engine;
pub use candor_hints as hints;
pub use candor_ledger as store;
pub use candor_protocol as protocol;
pub use futures_util::future::BoxFuture;
