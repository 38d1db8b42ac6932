//! A server for the tests of another embedded explorer. Its tools, handlers and authentication are in the process that started it.
//! The server asks that process through stdin and stdout.
//!
//! `cargo xtask explorer` starts it through the adapter in `clients/explorer`. The only argument is JSON: `title`, `prefix`,
//! `project_name`, `project_url`, `allow_execute`, and `authenticates` if callers are to be authenticated.

#![allow(clippy::print_stderr, reason = "that is where a server says where it is")]

mod owner;

use std::future::pending;
use std::io;
use std::sync::Arc;

use candor_console::Console;
use candor_server::Server;
use candor_server::protocol::json::{Decode as _, raw};
use candor_server::protocol::types::Tool as Definition;
use candor_server::tool::{JsonTool, Tool, ToolError};
use candor_server::transport::http::{Http, serve};
use owner::Owner;
use serde_json::{Value, json};
use tokio::net::TcpListener;

#[tokio::main]
async fn main() -> io::Result<()> {
    let options: Value = serde_json::from_str(&std::env::args().nth(1).unwrap_or_default())?;
    let owner = Arc::new(Owner::start());
    let asked = Arc::clone(&owner);
    let engine = Server::new("explorer", "1.0.0")
        .tools_from(move || {
            let owner = Arc::clone(&asked);
            async move { tools(&owner).await }
        })
        .build()
        .map_err(|e| io::Error::other(e.to_string()))?;
    let mut http = Http::default();
    if options["authenticates"] == true {
        http.authenticator = Some(owner);
    }
    let mut console = Console::of(engine.clone()).reached(&http);
    if let Some(title) = options["title"].as_str() {
        console = console.title(title);
    }
    if let Some(name) = options["project_name"].as_str() {
        console = console.project(name, options["project_url"].as_str());
    }
    if options["allow_execute"] == true {
        console = console.allow_execute();
    }
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    eprintln!("http://{address} {}", console.launch_token());
    let app = console.mounted(options["prefix"].as_str().unwrap_or("/"));
    serve(listener, app, engine.limits(), pending()).await
}

async fn tools(owner: &Arc<Owner>) -> Result<Vec<Arc<dyn Tool>>, String> {
    let given = owner.ask(json!({"ask": "tools"})).await?;
    given.as_array().ok_or("tools are a list")?.iter().map(|given| tool(owner, given)).collect()
}

/// Returns a tool with this plain definition.
fn tool(owner: &Arc<Owner>, given: &Value) -> Result<Arc<dyn Tool>, String> {
    let definition = Definition::decode((&*raw(given)).into()).map_err(|e| e.to_string())?;
    let (name, owner) = (definition.name.clone(), Arc::clone(owner));
    let handler = move |arguments: candor_server::Arguments, _| {
        let call = json!({"ask": "call", "name": name, "arguments": *arguments});
        let owner = Arc::clone(&owner);
        async move { owner.ask(call).await.map_err(ToolError::internal) }
    };
    Ok(Arc::new(JsonTool::open("", handler).define(|empty| *empty = definition)))
}
