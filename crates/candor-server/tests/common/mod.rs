//! A server that listens, requests to send to it, and what comes back.

// Each test crate uses a part of it.
#![allow(dead_code)]

mod reply;
mod session;
mod wire;

use std::future::pending;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use candor_server::auth::BearerTokens;
use candor_server::protocol::Principal;
use candor_server::protocol::types::{Resource, ResourceContents};
use candor_server::resource::ResourceSet;
use candor_server::tool::{IntoOutput, JsonTool, ToolError};
use candor_server::transport::http::{Http, endpoint, serve};
use candor_server::{Arguments, Ctx, RunningServer, Server};
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HOST};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request};
use serde_json::{Map, Value, json};
use tokio::net::TcpListener;
use tokio::sync::{OnceCell, mpsc};
use tower::ServiceExt;

pub(crate) use reply::{Events, Reply};
pub(crate) use session::{Session, initialize};

pub(crate) const MODERN: &str = "2026-07-28";

pub(crate) const VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";
pub(crate) const CAPABILITIES_KEY: &str = "io.modelcontextprotocol/clientCapabilities";
pub(crate) const SERVER_INFO_KEY: &str = "io.modelcontextprotocol/serverInfo";

/// Waits for what should come at once: what does not, hangs, and fails the test.
pub(crate) async fn soon<T>(awaited: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(5), awaited)
        .await
        .expect("this should not take five seconds")
}

/// A server and its endpoint at `/mcp`.
pub(crate) struct Site {
    pub(crate) engine: RunningServer,
    pub(crate) router: Router,
    /// Where it listens, from the first request until the test's runtime ends.
    address: OnceCell<SocketAddr>,
    is_in_process: bool,
}

impl Site {
    /// Open to everybody on this machine.
    pub(crate) fn of(server: Server) -> Self {
        Self::with(server, Http::default())
    }

    /// Open to `alice` and `bob`, whose tokens are `alice-token` and `bob-token`.
    pub(crate) fn guarded(server: Server) -> Self {
        let tokens = BearerTokens::default()
            .token("alice-token", Principal::new("alice"))
            .token("bob-token", Principal::new("bob"));
        let mut http = Http::default();
        http.authenticator = Some(Arc::new(tokens));
        Self::with(server, http)
    }

    fn with(server: Server, http: Http) -> Self {
        let engine = server.build().expect("a server that can be built");
        let router = Router::new().route("/mcp", endpoint(engine.clone(), http));
        Self { engine, router, address: OnceCell::new(), is_in_process: false }
    }

    /// The same without connections, for a clock that is paused: it would run on whenever bytes are on their way.
    pub(crate) fn in_process(self) -> Self {
        Self { is_in_process: true, ..self }
    }

    /// Listens as every server of ours does.
    pub(crate) async fn address(&self) -> SocketAddr {
        let listen = async || {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let address = listener.local_addr().unwrap();
            let (router, limits) = (self.router.clone(), self.engine.limits().clone());
            tokio::spawn(async move { serve(listener, router, &limits, pending()).await });
            address
        };
        *self.address.get_or_init(listen).await
    }

    /// Sends a request, over a connection of its own, and waits for the head of the reply.
    pub(crate) async fn send(&self, call: Call) -> Reply {
        if self.is_in_process {
            let reply = self.router.clone().oneshot(call.into_request());
            return Reply::of(soon(reply).await.unwrap());
        }
        let address = self.address().await;
        Reply::of(soon(wire::exchange(address, &call.to_wire())).await)
    }
}

/// A server that other tests add to.
pub(crate) fn server() -> Server {
    Server::new("bench", "1.2.3")
}

/// A tool that takes any object.
pub(crate) fn tool<F, R, O>(name: &str, handler: F) -> JsonTool
where
    F: Fn(Arguments, Ctx) -> R + Send + Sync + 'static,
    R: Future<Output = Result<O, ToolError>> + Send + 'static,
    O: IntoOutput,
{
    JsonTool::new(name, &json!({"type": "object"}), handler)
}

/// A tool with one string argument, which it needs.
pub(crate) fn greet() -> JsonTool {
    let schema =
        json!({"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]});
    JsonTool::new("greet", &schema, |args, _| async move {
        Ok(format!("Hello, {}!", args["name"].as_str().unwrap()))
    })
}

/// A tool that never ends by itself, and tells what becomes of it: `started`, `cancelled`, `dropped`.
pub(crate) fn endless(name: &str) -> (JsonTool, mpsc::UnboundedReceiver<&'static str>) {
    struct Dropped(mpsc::UnboundedSender<&'static str>);
    impl Drop for Dropped {
        fn drop(&mut self) {
            let _ = self.0.send("dropped");
        }
    }
    let (tell, told) = mpsc::unbounded_channel();
    let tool = tool(name, move |_, ctx| {
        let tell = tell.clone();
        async move {
            let _dropped = Dropped(tell.clone());
            let (watched, teller) = (ctx.clone(), tell.clone());
            tokio::spawn(async move {
                watched.cancelled().await;
                let _ = teller.send("cancelled");
            });
            ctx.progress(1, None, None).await;
            let _ = tell.send("started");
            pending::<()>().await;
            Ok("never said")
        }
    });
    (tool, told)
}

/// Two words that a tool told, in either order.
pub(crate) async fn two(told: &mut mpsc::UnboundedReceiver<&'static str>) -> [&'static str; 2] {
    let mut words = [soon(told.recv()).await.unwrap(), soon(told.recv()).await.unwrap()];
    words.sort_unstable();
    words
}

/// One resource, `memo:///today`, which can be watched.
pub(crate) fn memos() -> ResourceSet {
    ResourceSet::new()
        .resource(Resource::new("memo:///today", "today"), |uri, _| async move {
            Ok(vec![ResourceContents::of_text(uri, "text/plain", "Buy milk")])
        })
        .watched("memo:///today")
}

/// An HTTP request in the making.
#[derive(Clone)]
pub(crate) struct Call {
    method: Method,
    path: String,
    headers: HeaderMap,
    body: String,
}

impl Call {
    /// A request without anything but the name of the host.
    pub(crate) fn bare(method: Method) -> Self {
        let mut headers = HeaderMap::new();
        headers.insert(HOST, HeaderValue::from_static("localhost:7332"));
        Self { method, path: "/mcp".to_owned(), headers, body: String::new() }
    }

    /// A message, with the media types that every client sends.
    pub(crate) fn post(message: &(impl ToString + ?Sized)) -> Self {
        Self::bare(Method::POST)
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "application/json, text/event-stream")
            .body(message)
    }

    /// Puts a header in place of those that have its name.
    pub(crate) fn header(mut self, name: impl TryInto<HeaderName>, value: &str) -> Self {
        self.headers.insert(header_name(name), HeaderValue::from_str(value).unwrap());
        self
    }

    /// Adds a header to those that have its name.
    pub(crate) fn also(mut self, name: impl TryInto<HeaderName>, value: &str) -> Self {
        self.headers.append(header_name(name), HeaderValue::from_str(value).unwrap());
        self
    }

    /// Leaves a header out.
    pub(crate) fn without(mut self, name: impl TryInto<HeaderName>) -> Self {
        self.headers.remove(header_name(name));
        self
    }

    /// In the name of one of the principals of [`Site::guarded`].
    pub(crate) fn by(self, name: &str) -> Self {
        self.header(AUTHORIZATION, &format!("Bearer {name}-token"))
    }

    pub(crate) fn body(mut self, message: &(impl ToString + ?Sized)) -> Self {
        self.body = message.to_string();
        self
    }

    pub(crate) fn path(mut self, path: &str) -> Self {
        self.path = path.to_owned();
        self
    }

    pub(crate) fn into_request(self) -> Request<Body> {
        let mut request = Request::new(Body::from(self.body));
        *request.method_mut() = self.method;
        *request.uri_mut() = self.path.parse().unwrap();
        *request.headers_mut() = self.headers;
        request
    }

    /// As it goes over the wire.
    pub(crate) fn to_wire(&self) -> String {
        let Self { method, path, headers, body } = self;
        let headers = headers.iter();
        let headers: String = headers
            .map(|(name, value)| format!("{name}: {}\r\n", value.to_str().unwrap()))
            .collect();
        let length = match body.len() {
            0 if method != Method::POST => String::new(),
            length => format!("content-length: {length}\r\n"),
        };
        format!("{method} {path} HTTP/1.1\r\n{headers}{length}\r\n{body}")
    }
}

fn header_name(name: impl TryInto<HeaderName>) -> HeaderName {
    name.try_into().unwrap_or_else(|_| panic!("a header name"))
}

/// A modern request with the id 1: adds what is missing of `_meta`, and the headers that mirror the body.
pub(crate) fn modern(method: &str, params: &Value) -> Call {
    let mut params = params.clone();
    let meta =
        params.as_object_mut().unwrap().entry("_meta").or_insert_with(|| Value::Object(Map::new()));
    if let Some(meta) = meta.as_object_mut() {
        meta.entry(VERSION_KEY).or_insert(json!(MODERN));
        meta.entry(CAPABILITIES_KEY).or_insert(json!({}));
    }
    let name = params.get("name").or(params.get("uri")).cloned();
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    let call =
        Call::post(&message).header("mcp-protocol-version", MODERN).header("mcp-method", method);
    match name.as_ref().and_then(Value::as_str) {
        Some(name) => call.header("mcp-name", name),
        None => call,
    }
}

/// A modern call of a tool.
pub(crate) fn call(name: &str, arguments: &Value) -> Call {
    modern("tools/call", &json!({"name": name, "arguments": arguments}))
}

/// The text of a tool's result that has one block.
pub(crate) fn text(result: &Value) -> &str {
    assert_eq!(result["content"].as_array().unwrap().len(), 1, "{result}");
    result["content"][0]["text"].as_str().unwrap()
}

/// The text of a result that is a failure.
pub(crate) fn failure(result: &Value) -> &str {
    assert_eq!(result["isError"], true, "{result}");
    text(result)
}

/// A token of the server with one bit changed, for every byte that it holds.
pub(crate) fn forgeries(token: &str) -> Vec<String> {
    let bytes = URL_SAFE_NO_PAD.decode(token).unwrap();
    let forge = |at: usize| {
        let mut forged = bytes.clone();
        forged[at] ^= 1;
        URL_SAFE_NO_PAD.encode(forged)
    };
    (0..bytes.len()).map(forge).collect()
}
