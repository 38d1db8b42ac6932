//! The same server with the official SDK: HTTP on this machine, or stdio. `cargo xtask bench` counts what it pulls in.

use std::sync::Arc;

use rmcp::handler::server::wrapper::Parameters;
use rmcp::transport::streamable_http_server::StreamableHttpService;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::{ServiceExt as _, schemars, tool, tool_router};

struct Greeter;

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Greet {
    name: String,
}

#[tool_router(server_handler)]
impl Greeter {
    #[tool]
    fn greet(&self, Parameters(Greet { name }): Parameters<Greet>) -> String {
        format!("Hello, {name}!")
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    if std::env::args().any(|argument| argument == "--stdio") {
        Greeter.serve(rmcp::transport::stdio()).await?.waiting().await?;
        return Ok(());
    }
    let sessions = Arc::new(LocalSessionManager::default());
    let service = StreamableHttpService::new(|| Ok(Greeter), sessions, Default::default());
    let listener = tokio::net::TcpListener::bind("127.0.0.1:7332").await?;
    Ok(axum::serve(listener, axum::Router::new().route_service("/mcp", service)).await?)
}
