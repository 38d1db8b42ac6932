//! MCP servers whose calls are knowable before they run, safe to repeat and visible afterwards.
//!
//! ```no_run
//! use candor::prelude::*;
//!
//! #[tokio::main]
//! async fn main() -> candor::Result<()> {
//!     let schema = json!({"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]});
//!     let greet = JsonTool::new("greet", &schema, |args, _ctx| async move {
//!         Ok(format!("Hello, {}!", args["name"].as_str().unwrap_or_default()))
//!     });
//!     Server::new("greeter", "1.0.0").tool(greet).run().await
//! }
//! ```
//!
//! `cargo run -- --stdio` serves a host, `cargo run` serves HTTP on this machine.
//!
//! The parts, each usable alone: [`Server`] describes a server, [`Engine`] is one that is ready,
//! [`transport`] connects it, [`run`] is all of it behind a command line.

mod error;
#[cfg(feature = "run")]
pub mod run;

pub use candor_server::BoxFuture;
pub use candor_server::{
    Answer, Arguments, AskError, BuildError, CacheHint, CacheScope, Changes, Client, Ctx, Elicit,
    Elicited, Engine, Limits, Sample, Secret, SecretError, Server, auth, prompt, protocol,
    resource, tool, transport,
};
pub use error::{Error, Result};
pub use serde_json::json;

/// What most servers need.
pub mod prelude {
    #[cfg(feature = "run")]
    pub use crate::run::Run;
    pub use crate::{
        Arguments, Ctx, Elicit, Elicited, Sample, Server, json,
        prompt::Prompt,
        resource::ResourceSet,
        tool::{JsonTool, Output, ToolError, ToolSet},
    };
    pub use candor_protocol::types::{
        Content, LogLevel, Resource, ResourceContents, ResourceTemplate,
    };
}
