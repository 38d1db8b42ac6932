//! A server over HTTP that says whatever a test wants, and remembers what it was asked.

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::response::Response;
use candor_client::{Client, Connect};
use serde_json::{Value, json};

use super::serve;

/// What a script answers: the result or error of a request, or a whole response.
pub(crate) enum Say {
    Result(Value),
    Error(i64, &'static str),
    Whole(Response),
}

type Script = dyn Fn(&Asked) -> Say + Send + Sync;

/// A request as it came.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) method: String,
    pub(crate) params: Value,
    pub(crate) id: Value,
    pub(crate) headers: HeaderMap,
    /// Which one of this method, from 0.
    pub(crate) nth: usize,
}

#[derive(Clone)]
pub(crate) struct Scripted {
    pub(crate) url: String,
    asked: Arc<Mutex<Vec<Asked>>>,
}

#[derive(Clone)]
struct Site {
    script: Arc<Script>,
    asked: Arc<Mutex<Vec<Asked>>>,
}

/// A modern server with tools; the script answers all but `server/discover`.
pub(crate) async fn modern(
    capabilities: Value,
    script: impl Fn(&Asked) -> Say + Send + Sync + 'static,
) -> Scripted {
    scripted(move |asked| match asked.method.as_str() {
        "server/discover" => Say::Result(json!({
            "resultType": "complete", "supportedVersions": ["2026-07-28"],
            "capabilities": capabilities, "ttlMs": 0, "cacheScope": "private",
            "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "scripted", "version": "1"}},
        })),
        _ => script(asked),
    })
    .await
}

/// A server whose script answers everything.
pub(crate) async fn scripted(script: impl Fn(&Asked) -> Say + Send + Sync + 'static) -> Scripted {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let site = Site { script: Arc::new(script), asked: asked.clone() };
    let app = Router::new().fallback(answer).with_state(site);
    let address = serve(app).await;
    Scripted { url: format!("http://{address}/mcp"), asked }
}

impl Scripted {
    pub(crate) fn client(&self) -> Connect {
        Client::connect(&self.url)
    }

    /// The methods that were asked for, in order.
    pub(crate) fn methods(&self) -> Vec<String> {
        self.asked.lock().unwrap().iter().map(|asked| asked.method.clone()).collect()
    }

    /// The requests of one method.
    pub(crate) fn asked(&self, method: &str) -> Vec<Asked> {
        let asked = self.asked.lock().unwrap();
        asked.iter().filter(|asked| asked.method == method).cloned().collect()
    }
}

async fn answer(
    State(site): State<Site>,
    method: Method,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let message: Value = serde_json::from_slice(&body).unwrap_or(Value::Null);
    let name = match method {
        Method::POST => message["method"].as_str().unwrap_or("(answer)").to_owned(),
        other => other.to_string(),
    };
    let mut asked = Asked {
        method: name,
        params: message["params"].clone(),
        id: message["id"].clone(),
        headers,
        nth: 0,
    };
    {
        let mut all = site.asked.lock().unwrap();
        asked.nth = all.iter().filter(|earlier| earlier.method == asked.method).count();
        all.push(asked.clone());
    }
    let said = (site.script)(&asked);
    let message = match said {
        Say::Whole(response) => return response,
        _ if asked.id.is_null() => return status(StatusCode::ACCEPTED, ""),
        Say::Result(result) => json!({"jsonrpc": "2.0", "id": asked.id, "result": result}),
        Say::Error(code, text) => {
            json!({"jsonrpc": "2.0", "id": asked.id, "error": {"code": code, "message": text}})
        }
    };
    Response::builder()
        .header(header::CONTENT_TYPE, "application/json")
        .body(Body::from(message.to_string()))
        .unwrap()
}

pub(crate) fn status(status: StatusCode, body: &str) -> Response {
    Response::builder().status(status).body(Body::from(body.to_owned())).unwrap()
}

/// A stream of events.
pub(crate) fn events(text: impl Into<Body>) -> Response {
    Response::builder().header(header::CONTENT_TYPE, "text/event-stream").body(text.into()).unwrap()
}

/// A list of one page.
pub(crate) fn tools(tools: &Value) -> Say {
    Say::Result(
        json!({"resultType": "complete", "tools": tools, "ttlMs": 0, "cacheScope": "private"}),
    )
}

/// The result of a call: a text.
pub(crate) fn said(text: &str) -> Say {
    Say::Result(json!({"resultType": "complete", "content": [{"type": "text", "text": text}]}))
}

/// A tool with these annotations.
pub(crate) fn tool(name: &str, annotations: &Value) -> Value {
    let mut tool = json!({"name": name, "inputSchema": {"type": "object"}});
    if !annotations.is_null() {
        tool["annotations"] = annotations.clone();
    }
    tool
}
