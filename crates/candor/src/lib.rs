//! MCP servers whose calls are knowable before they run, safe to repeat and visible afterwards.
//!
//! ```no_run
//! use candor::prelude::*;
//!
//! /// Greets somebody by name.
//! #[tool(read_only)]
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
//! The parts, each usable alone: [`Server`] describes a server, [`Engine`] is one that is ready,
//! [`transport`] connects it, [`run`] is all of it behind a command line.
//!
//! | feature | |
//! |---|---|
//! | `run` (default) | `Server::run()`: command line, logging, signals, both transports, the console, a ledger in a SQLite file |
//! | `postgres` | ledgers in PostgreSQL, for several instances of a server |
//! | `files` | `Directory`: a real folder as resources, and `files`, what it stands on |
//! | `client` | `client`: an MCP client of either era that asks before it acts |

#[doc(hidden)]
pub mod __private;
mod error;
#[cfg(feature = "run")]
pub mod run;

#[cfg(feature = "client")]
pub use candor_client as client;
#[cfg(feature = "files")]
pub use candor_files as files;
pub use candor_macros::{args, tool, toolbox};
pub use candor_server::BoxFuture;
pub use candor_server::{
    Answer, Arguments, Ask, AskError, Audit, BuildError, CacheHint, CacheScope, Changes, Client,
    Ctx, Elicit, Elicited, Engine, FromCtx, Limits, Pattern, PatternError, Sample, Secret,
    SecretError, Server, State, auth, desk, hints, prompt, protocol, resource, store, testing,
    tool, transport,
};
pub use error::{Error, Result};
pub use serde_json::json;

/// What most servers need.
pub mod prelude {
    #[cfg(feature = "run")]
    pub use crate::run::Run;
    pub use crate::{
        Arguments, Ctx, Elicit, Elicited, Sample, Server, State, json,
        prompt::Prompt,
        resource::ResourceSet,
        tool::{Base64, JsonTool, Output, ToolBox, ToolError, ToolSet, ToolsProvider},
        tools,
    };
    #[cfg(feature = "files")]
    pub use candor_files::Directory;
    pub use candor_macros::{tool, toolbox};
    pub use candor_protocol::Principal;
    pub use candor_protocol::types::{
        Content, LogLevel, Resource, ResourceContents, ResourceTemplate,
    };
}

/// A list of tools from functions that are marked [`#[tool]`](macro@tool), for
/// [`Server::tools`](Server::tools).
#[macro_export]
macro_rules! tools {
    ($($tool:path),* $(,)?) => {
        <[::std::sync::Arc<dyn $crate::tool::Tool>]>::into_vec(::std::boxed::Box::new([
            $(::std::sync::Arc::new(<$tool as $crate::tool::ToolFn>::tool())),*
        ]))
    };
}
