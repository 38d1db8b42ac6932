//! The official SDK, at its best: typed parameters, and a router that all requests share.

use std::io;
use std::sync::Arc;

use axum::Router;
use rmcp::handler::server::router::tool::ToolRouter;
use rmcp::handler::server::wrapper::Parameters;
use rmcp::model::ProgressNotificationParam;
use rmcp::service::RequestContext;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{ErrorData, RoleServer, ServerHandler, schemars, tool, tool_handler, tool_router};
use serde::{Deserialize, Serialize};
use tokio::net::TcpListener;

/// How answers are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answers {
    /// As JSON, without sessions.
    Json,
    /// As events; legacy clients have sessions.
    Events,
}

/// Serves until it is stopped.
pub async fn serve(listener: TcpListener, answers: Answers) -> io::Result<()> {
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(answers == Answers::Events)
        .with_json_response(answers == Answers::Json);
    let echo = Arc::new(Echo { tool_router: Echo::tool_router() });
    let sessions = Arc::new(LocalSessionManager::default());
    // Behind an `Arc`: a server that is made anew for each request would build its router each time.
    let service = StreamableHttpService::new(move || Ok(echo.clone()), sessions, config);
    super::serve(listener, Router::new().route_service("/mcp", service)).await
}

struct Echo {
    tool_router: ToolRouter<Self>,
}

/// What candor's tool has as a schema.
#[derive(Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    city: String,
    days: u8,
    units: Option<Units>,
    hourly: Option<bool>,
    note: Option<String>,
}

#[derive(Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Units {
    Metric,
    Imperial,
}

#[tool_router]
impl Echo {
    #[tool(description = "Answers with its arguments")]
    async fn echo(&self, Parameters(arguments): Parameters<Arguments>) -> Result<String, String> {
        written(&arguments)
    }

    #[tool(description = "Answers with its arguments, and says on the way that it is half done")]
    async fn echo_with_progress(
        &self,
        Parameters(arguments): Parameters<Arguments>,
        context: RequestContext<RoleServer>,
    ) -> Result<String, ErrorData> {
        if let Some(token) = context.meta.get_progress_token() {
            let half = ProgressNotificationParam::new(token, 1.0).with_total(2.0);
            context
                .peer
                .notify_progress(half)
                .await
                .map_err(|e| ErrorData::internal_error(e.to_string(), None))?;
        }
        written(&arguments).map_err(|e| ErrorData::internal_error(e, None))
    }
}

#[tool_handler(router = self.tool_router)]
impl ServerHandler for Echo {}

fn written(arguments: &Arguments) -> Result<String, String> {
    serde_json::to_string(arguments).map_err(|e| e.to_string())
}
