//! MCP servers whose calls are knowable before they run, safe to repeat and visible afterwards.
//!
//! ```no_run
//! use candor::prelude::*;
//!
//! /// Greets a user by name.
//! #[tool(reads)]
//! async fn greet(name: String) -> String {
//!     format!("Hello, {name}!")
//! }
//!
//! #[tokio::main]
//! async fn main() -> candor::Result<()> {
//!     Server::new("greeter", "1.0.0").tools(tools![greet]).run().await
//! }
//! ```
//!
//! `cargo run -- --stdio` serves a host, `cargo run` serves HTTP on this machine.
//!
//! The parts, each usable alone: [`Server`] describes a server, [`RunningServer`] is one that is ready,
//! [`transport`] connects it, [`run`] is all of it behind a command line.
//!
//! | to | look at |
//! |---|---|
//! | make a tool of a function, or several of one value | [`#[tool]`](macro@tool), [`#[toolbox]`](macro@toolbox), [`tools!`] |
//! | use a type in arguments, and declare what each variant of a call does | [`#[candor::args]`](macro@args) |
//! | make a tool of a JSON schema that is only known at run time | [`tool::JsonTool`] |
//! | report what went wrong, and what to do next | [`tool::ToolError`] |
//! | start a call at most once per key, ask first, preview, undo, limit its rate | the options of [`#[tool]`](macro@tool) |
//! | report progress, ask a user or a model, find out who the caller is | [`Ctx`], [`Elicit`], [`Sample`] |
//! | give handlers what they need and callers cannot send | [`Server::state`], [`State`] |
//! | offer different tools to different callers, or at different times | [`Server::tools_from`], [`tool::ToolsProvider`] |
//! | serve a folder, a database or anything else that is a tree | `Directory` (feature `files`), [`resource::ResourceSet`], [`resource::Resources`] |
//! | offer conversations to begin with | [`#[prompt]`](macro@prompt), [`prompts!`], [`prompt::Prompt`] |
//! | test it without a socket | [`testing::TestClient`], made by [`Server::test`] |
//! | authenticate callers by tokens, or by other means | [`auth::BearerTokens`], [`auth::Authenticator`] |
//! | store the ledger elsewhere | [`store`] |
//! | review approval requests, and read the history | [`operator`] |
//! | limit what a peer may use | [`Limits`], [`Server::limits`] |
//! | add your own flags to those that every server takes | `run::Run`, `run::ServeArgs` (feature `run`) |
//! | put it into an axum app | [`transport::http::endpoint`] |
//! | put its console there, too | `console::Console` (feature `run`) |
//! | call servers | `client` (feature `client`) |
//!
//! | feature | |
//! |---|---|
//! | `run` (default) | `Server::run()`: command line, logging, signals, both transports, the console, a ledger in a SQLite file |
//! | `postgres` | ledgers in PostgreSQL, for several replicas of a server |
//! | `files` | `Directory`: a real folder as resources, and `files`, the crate behind it |
//! | `client` | `client`: an MCP client for both eras that asks before it acts |
//! | `chrono`, `rust_decimal`, `url`, `uuid` | the types of these crates as parameters and results |
//! | `time` | `time::Rfc3339` and `time::IsoDate`: instants and dates of the crate `time` as parameters and results |
//!
//! Most items come from crates of their own, and their examples use those names. If you depend on `candor` alone, write `candor`
//! for `candor_server`, `candor::client` for `candor_client`, `candor::console` for `candor_console`, `candor::files` for
//! `candor_files`, `candor::hints` for `candor_hints`, `candor::operator` for `candor_operator`, `candor::protocol` for
//! `candor_protocol`, `candor::store` for `candor_ledger`.

#[doc(hidden)]
pub mod __private;
mod error;
mod foreign;
#[cfg(feature = "run")]
pub mod run;
pub mod store;
#[cfg(feature = "time")]
pub mod time;

#[cfg(feature = "client")]
pub use candor_client as client;
#[cfg(feature = "run")]
pub use candor_console as console;
#[cfg(feature = "files")]
pub use candor_files as files;
pub use candor_macros::{args, prompt, prompts, tool, toolbox, tools};
pub use candor_operator as operator;
pub use candor_server::BoxFuture;
pub use candor_server::{
    About, Arguments, AskError, AskLevel, Audit, BuildError, CacheHint, CacheScope, Call, CallEnd,
    Caller, Changes, ClientInfo, Ctx, Decision, DecisionId, Elicit, ElicitAnswer, Engine,
    Expectation, FormAnswer, FromCtx, IntoProposals, KeepArguments, Limits, Need, NextStep, NoPeer,
    Outcome, Peer, RecordStatus, Refusal, RunningServer, Sample, Secret, SecretError, Server,
    SessionView, State, ToolView, Verdict, View, auth, hints, host_name, policy, prompt, protocol,
    resource, testing, tool, transport,
};
pub use error::{Error, Result};
pub use serde_json::json;

/// What most servers need.
pub mod prelude {
    #[cfg(feature = "run")]
    pub use crate::run::Run;
    pub use crate::{
        Arguments, Ctx, Elicit, ElicitAnswer, FormAnswer, Sample, Server, State,
        hints::Hints,
        json,
        prompt::Prompt,
        resource::ResourceSet,
        tool::{Base64, JsonTool, Output, Plan, ToolBox, ToolError, ToolSet},
    };
    #[cfg(feature = "files")]
    pub use candor_files::Directory;
    pub use candor_macros::{prompt, prompts, tool, toolbox, tools};
    pub use candor_protocol::Principal;
    pub use candor_protocol::types::{
        Content, LogLevel, PromptMessage, Resource, ResourceContents, ResourceTemplate,
    };
}
