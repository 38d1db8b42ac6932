//! A server with the official Rust SDK, for `cargo xtask servers`: `rmcp-peer stdio` or `rmcp-peer http`.
//!
//! Over HTTP it prints its port on stderr. It lists its tools in two pages, and asks the user as each era does it. One tool returns
//! results that do not match its schema.

#![allow(deprecated, reason = "the legacy era's way to ask")]

use std::error::Error;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::Router;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ElicitRequest,
    ElicitRequestParams, ElicitResult, Implementation, InputRequest, InputRequests,
    InputRequiredResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
    ProgressNotificationParam, ProtocolVersion, ReadResourceRequestParams, ReadResourceResponse,
    ReadResourceResult, ServerCapabilities, ServerConfig,
};
use rmcp::service::RequestContext;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt as _};
use serde_json::{Value, json};
use tokio::net::TcpListener;

/// The cursor of the second page.
const SECOND_PAGE: &str = "second page";

/// The number of running calls that end only when the client cancels them.
static STARTED: AtomicUsize = AtomicUsize::new(0);

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    if std::env::args().nth(1).as_deref() != Some("http") {
        Peer.serve(rmcp::transport::stdio()).await?.waiting().await?;
        return Ok(());
    }
    let sessions = Arc::new(LocalSessionManager::default());
    let config = StreamableHttpServerConfig::default();
    let service = StreamableHttpService::new(|| Ok(Peer), sessions, config);
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    eprintln!("listening on http://127.0.0.1:{}", listener.local_addr()?.port());
    axum::serve(listener, Router::new().route_service("/mcp", service)).await?;
    Ok(())
}

#[derive(Clone)]
struct Peer;

fn tools(page: &str) -> Value {
    let none = json!({"type": "object"});
    let reads = json!({"readOnlyHint": true, "openWorldHint": false});
    match page {
        SECOND_PAGE => json!([
            {"name": "mystery", "inputSchema": none},
            {"name": "broken_promise", "inputSchema": none, "annotations": reads, "outputSchema": {
                "type": "object", "properties": {"count": {"type": "integer"}}, "required": ["count"]}},
            {"name": "steps", "inputSchema": none, "annotations": reads},
            {"name": "forever", "inputSchema": none, "annotations": reads},
            {"name": "running", "inputSchema": none, "annotations": reads},
            {"name": "greet", "inputSchema": none, "annotations": reads},
        ]),
        _ => json!([
            {"name": "echo", "annotations": reads, "inputSchema": {
                "type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}},
            {"name": "square", "annotations": reads,
             "inputSchema": {"type": "object", "properties": {"of": {"type": "integer"}}, "required": ["of"]},
             "outputSchema": {"type": "object", "properties": {"square": {"type": "integer"}},
                              "required": ["square"]}},
            {"name": "delete", "inputSchema": none,
             "annotations": {"destructiveHint": true, "idempotentHint": true, "openWorldHint": false}},
        ]),
    }
}

fn read<T: serde::de::DeserializeOwned>(value: Value) -> Result<T, ErrorData> {
    serde_json::from_value(value).map_err(|e| ErrorData::internal_error(e.to_string(), None))
}

fn said(text: impl Into<String>) -> CallToolResponse {
    CallToolResult::success(vec![ContentBlock::text(text.into())]).into()
}

/// Returns the question for the user.
fn question() -> Result<ElicitRequestParams, ErrorData> {
    read(json!({"mode": "form", "message": "Who is there?", "requestedSchema": {
        "type": "object", "required": ["name"], "properties": {
            "name": {"type": "string"}, "greeting": {"type": "string", "default": "Hello"}}}}))
}

impl Peer {
    async fn steps(
        &self,
        context: &RequestContext<RoleServer>,
        count: u32,
    ) -> Result<(), ErrorData> {
        let Some(token) = context.meta.get_progress_token() else { return Ok(()) };
        for done in 1..=count {
            let told = ProgressNotificationParam::new(token.clone(), f64::from(done))
                .with_total(f64::from(count));
            let told = context.peer.notify_progress(told).await;
            told.map_err(|e| ErrorData::internal_error(e.to_string(), None))?;
        }
        Ok(())
    }

    async fn greet(
        &self,
        request: &CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let modern = context.protocol_version() >= Some(ProtocolVersion::V_2026_07_28);
        let answer = match (&request.input_responses, modern) {
            (Some(answers), _) if request.request_state.as_deref() == Some("asked \"who\"") => {
                answers.get("who").cloned().unwrap_or_default()
            }
            (_, true) => {
                let mut questions = InputRequests::new();
                let asked = InputRequest::Elicitation(ElicitRequest::new(question()?));
                questions.insert("who".to_owned(), asked);
                let state = Some("asked \"who\"".to_owned());
                return Ok(InputRequiredResult::new(Some(questions), state).into());
            }
            (_, false) => {
                let answer: ElicitResult = context
                    .peer
                    .create_elicitation(question()?)
                    .await
                    .map_err(|e| ErrorData::internal_error(e.to_string(), None))?;
                json!(answer)
            }
        };
        let part = |name: &str| answer["content"][name].as_str().unwrap_or("?").to_owned();
        Ok(said(format!("{}, {}!", part("greeting"), part("name"))))
    }
}

impl ServerHandler for Peer {
    fn get_info(&self) -> ServerConfig {
        let can = ServerCapabilities::builder().enable_tools().enable_resources().build();
        let mut info = ServerConfig::new(can);
        info.server_info = Implementation::new("rmcp-peer", "1.0.0");
        info
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        match request.and_then(|request| request.cursor).as_deref() {
            None => read(json!({"tools": tools(""), "nextCursor": SECOND_PAGE})),
            Some(SECOND_PAGE) => read(json!({"tools": tools(SECOND_PAGE)})),
            Some(_) => Err(ErrorData::invalid_params("no such page", None)),
        }
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = json!(request.arguments);
        match &*request.name {
            "echo" => Ok(said(arguments["text"].as_str().unwrap_or_default())),
            "square" => {
                let of = arguments["of"].as_i64().unwrap_or_default();
                Ok(CallToolResult::structured(json!({"square": of * of})).into())
            }
            "delete" | "mystery" => Ok(said("done")),
            "broken_promise" => Ok(CallToolResult::structured(json!({"count": "many"})).into()),
            "steps" => {
                self.steps(&context, 3).await?;
                Ok(said("3 steps"))
            }
            "forever" => {
                STARTED.fetch_add(1, Ordering::SeqCst);
                self.steps(&context, 1).await?;
                context.ct.cancelled().await;
                STARTED.fetch_sub(1, Ordering::SeqCst);
                Ok(said("taken back"))
            }
            "running" => Ok(said(format!("{} are running", STARTED.load(Ordering::SeqCst)))),
            "greet" => self.greet(&request, &context).await,
            _ => Err(ErrorData::invalid_params("no such tool", None)),
        }
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        read(
            json!({"resources": [{"uri": "peer://note", "name": "note", "mimeType": "text/plain"}]}),
        )
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        match &*request.uri {
            "peer://note" => {
                let read: ReadResourceResult = read(json!({"contents": [
                    {"uri": "peer://note", "mimeType": "text/plain", "text": "a note"}]}))?;
                Ok(read.into())
            }
            _ => Err(ErrorData::resource_not_found("no such resource", None)),
        }
    }
}
