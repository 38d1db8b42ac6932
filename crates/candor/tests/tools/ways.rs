//! A server that is asked twice, in the test's own process and over a socket: both must hear the same.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::Router;
use candor::auth::BearerTokens;
use candor::protocol::Revision;
use candor::protocol::types::Tool;
use candor::testing::{TestClient, TestResult};
use candor::transport::http::{Http, endpoint};
use candor::{Server, json};
use serde_json::Value;
use tokio::net::TcpListener;

use crate::http;
use crate::messages::{initialize, modern, request};
use crate::{Tools, server};

/// Of each era one, of servers with the same tools. Calls are made twice, so the tools keep nothing.
pub(crate) async fn both_ways(tools: impl Fn() -> Tools) -> [Ways; 2] {
    [Ways::modern(server(tools())).await, Ways::legacy(server(tools())).await]
}

/// Who asks in both ways.
pub(crate) struct Ways {
    here: TestClient,
    address: String,
    /// The legacy session.
    session: Option<String>,
    next_id: AtomicU64,
}

/// Of the principal that the client here is, too.
const TOKEN: &str = "t-token";
const BEARER: (&str, &str) = ("Authorization", "Bearer t-token");

impl Ways {
    pub(crate) async fn modern(server: Server) -> Self {
        let here = server.test();
        let engine = here.engine().clone();
        let tokens = BearerTokens::from_lines(&BearerTokens::line("tester", TOKEN)).unwrap();
        let mut http = Http::default();
        http.authenticator = Some(Arc::new(tokens));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let app = Router::new().route("/mcp", endpoint(engine, http));
        tokio::spawn(async move { axum::serve(listener, app).await });
        Self { here, address, session: None, next_id: AtomicU64::new(1) }
    }

    pub(crate) async fn legacy(server: Server) -> Self {
        let mut ways = Self::modern(server).await;
        ways.here = ways.here.speaking(Revision::LATEST_LEGACY);
        let opened = ways.post(&initialize(0), &[]).await;
        let session = opened.header("mcp-session-id").expect("a session").to_owned();
        let opened = opened.json();
        assert_eq!(opened["result"]["protocolVersion"], Revision::LATEST_LEGACY.as_str());
        let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        let told = ways.post(&ready, &[("Mcp-Session-Id", &session)]).await;
        assert_eq!(told.status, 202, "{told:?}");
        Self { session: Some(session), ..ways }
    }

    /// A tool as it is listed, byte for byte.
    pub(crate) async fn tool(&self, name: &str) -> Tool {
        let tool = self.here.tool(name).await;
        let told = self.ask("tools/list", &json!({})).await;
        let bytes = serde_json::to_string(&tool).unwrap();
        assert!(told.contains(&bytes), "{bytes}\nis not in what came over the wire:\n{told}");
        tool
    }

    /// What a call comes to.
    pub(crate) async fn call(&self, tool: &str, arguments: impl Into<Value>) -> TestResult {
        let arguments = arguments.into();
        let called = self.here.call(tool, &arguments).await;
        let call = json!({"name": tool, "arguments": arguments});
        let told = self.ask("tools/call", &call).await;
        let mut told: Value = serde_json::from_str(&told).unwrap();
        assert!(told.get("error").is_none(), "{tool} {arguments}: {told}");
        let (mut here, mut there) = (called.raw().clone(), told["result"].take());
        forget_trace(&mut here);
        forget_trace(&mut there);
        assert_eq!(there, here, "{tool} {arguments}: over the wire, and here");
        called
    }

    /// The answer over the wire, as it stands there.
    pub(crate) async fn ask(&self, method: &str, params: &Value) -> String {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let reply = if let Some(session) = &self.session {
            let headers = [("Mcp-Session-Id", &**session)];
            self.post(&request(id, method, params), &headers).await
        } else {
            let request = modern(id, method, params);
            self.post(&request, &http::mirrors(&request)).await
        };
        assert_eq!(reply.status, 200, "{reply:?}");
        assert_eq!(reply.header("content-type"), Some("application/json"), "{reply:?}");
        assert_eq!(reply.json()["id"], id, "{reply:?}");
        reply.body
    }

    /// The answer to a modern client that declares extensions.
    pub(crate) async fn call_declaring(&self, extensions: &Value, tool: &str) -> Value {
        let mut request = crate::messages::call(0, tool, &json!({}));
        let meta = &mut request["params"]["_meta"];
        meta["io.modelcontextprotocol/clientCapabilities"] = json!({"extensions": extensions});
        self.post(&request, &http::mirrors(&request)).await.json()
    }

    async fn post(&self, message: &Value, headers: &[(&str, &str)]) -> http::Reply {
        let headers = [headers, &[BEARER]].concat();
        http::ask(&self.address, "POST", "/mcp", &headers, &message.to_string()).await
    }
}

/// Each failure has a name of its own.
fn forget_trace(result: &mut Value) {
    let error = result.pointer_mut("/_meta/dev.candor~1error").and_then(Value::as_object_mut);
    if let Some(trace) = error.and_then(|error| error.remove("traceId")) {
        assert_eq!(trace.as_str().map(str::len), Some(32), "{trace}");
    }
}
