//! Three tools that do everything from reading to deleting, and declare the effect of each call: files by action, files by
//! operation, and an HTTP API by method and path.
//!
//! Run with `cargo run --example motivation -- --root DIR`. The API is a small stand-in for GitHub that this program starts
//! on a port of its own.

#[path = "file_server.rs"]
#[allow(dead_code)]
pub(crate) mod file_server;
#[path = "motivation/stand_in.rs"]
mod stand_in;

use std::path::{Path, PathBuf};

use candor::prelude::*;
use candor::run::ServeArgs;
use clap::Parser;
use file_server::{Action, Folder, manage_files};
pub(crate) use stand_in::StandIn;

#[candor::args]
enum Operation {
    Read,
    Append,
    Overwrite,
    Delete,
}

/// Work with one file, by operation
#[tool(
    effects(
        operation == "read" => reads,
        operation == "append" => adds,
        operation == "overwrite" => changes + idempotent,
        operation == "delete" => deletes + idempotent,
    ),
    closed_world
)]
fn filesystem(
    operation: Operation,
    /// Path of the file
    path: String,
    /// What to append, or to overwrite the file with
    #[optional]
    content: Option<String>,
    folder: State<Folder>,
) -> Result<String, ToolError> {
    let action = match operation {
        Operation::Read => Action::Read,
        Operation::Append => Action::Append,
        Operation::Overwrite => Action::Replace,
        Operation::Delete => Action::Delete,
    };
    folder.manage(&path, action, content.as_deref().unwrap_or_default())
}

#[candor::args]
#[serde(rename_all = "UPPERCASE")]
enum Method {
    Get,
    Post,
    Delete,
}

impl Method {
    const fn as_str(&self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Delete => "DELETE",
        }
    }
}

/// Call the GitHub REST API
#[tool(effects(
    method == "GET" => reads,
    method == "POST" && path.glob("/repos/*/*/issues") => adds,
    otherwise => deletes,
))]
async fn github_api(
    method: Method,
    /// Path of the API, for example /repos/octocat/hello/issues
    path: String,
    /// Title of what is created
    #[optional]
    title: Option<String>,
    api: State<StandIn>,
) -> Result<String, ToolError> {
    let (status, body) = api.request(method.as_str(), &path, title.as_deref()).await?;
    match status {
        200..300 => Ok(body),
        404 => Err(ToolError::new("There is nothing at this path")
            .code("not_found")
            .field("/path", "not found")),
        _ => Err(ToolError::new(format!("The API answered {status}")).code("api")),
    }
}

/// Three tools that do everything from reading to deleting, and say of each call which it is
#[derive(Parser)]
struct Flags {
    /// The folder that is served
    #[arg(long, default_value = ".")]
    root: PathBuf,
    #[command(flatten)]
    serve: ServeArgs,
}

pub(crate) fn server(root: &Path, api: StandIn) -> std::io::Result<Server> {
    let tools = tools![manage_files, filesystem, github_api];
    Ok(Server::new("motivation", "1.0.0").state(Folder::open(root)?).state(api).tools(tools))
}

#[tokio::main]
async fn main() -> candor::Result<()> {
    let flags = Flags::parse();
    server(&flags.root, StandIn::start().await?)?.serve(flags.serve, &[]).await
}
