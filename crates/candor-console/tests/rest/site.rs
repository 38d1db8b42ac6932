//! A console that listens, and requests to it over real connections.

use std::future::pending;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use candor_console::Console;
use candor_server::protocol::types::ToolAnnotations;
use candor_server::tool::{JsonTool, Tool, ToolError};
use candor_server::transport::http::serve;
use candor_server::{Limits, Server, store};
use http::header::HOST;
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use hyper::client::conn::http1::handshake;
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::OnceCell;
use tower::ServiceExt as _;

pub(crate) struct Site {
    router: Router,
    pub(crate) token: String,
    /// Where it listens, from the first request until the test's runtime ends.
    address: OnceCell<SocketAddr>,
}

impl Site {
    /// A console that may call tools.
    pub(crate) fn of(server: Server) -> Self {
        Self::with(server, Console::allow_execute)
    }

    pub(crate) fn with(server: Server, change: impl FnOnce(Console) -> Console) -> Self {
        Self::around(change(Console::of(server.build().unwrap())))
    }

    pub(crate) fn around(console: Console) -> Self {
        let token = console.launch_token().to_owned();
        Self::serving(console.router(), token)
    }

    /// Whatever the router is.
    pub(crate) fn serving(router: Router, token: String) -> Self {
        Self { router, token, address: OnceCell::new() }
    }

    /// The same below another path.
    pub(crate) fn nested(self, base: &str) -> Self {
        if base.is_empty() {
            return self;
        }
        Self::serving(Router::new().nest_service(base, self.router), self.token)
    }

    /// Listens as every server of ours does.
    pub(crate) async fn address(&self) -> SocketAddr {
        let listen = async || {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let address = listener.local_addr().unwrap();
            let router = self.router.clone();
            tokio::spawn(
                async move { serve(listener, router, &Limits::default(), pending()).await },
            );
            address
        };
        *self.address.get_or_init(listen).await
    }

    pub(crate) fn ask(&self, method: &str, path: &str) -> Ask<'_> {
        let request = Request::builder().method(method).uri(path).header("host", "127.0.0.1:7332");
        Ask { site: self, request, body: Body::empty() }
    }

    pub(crate) async fn get(&self, path: &str) -> Reply {
        self.ask("GET", path).send().await
    }

    /// Posts arguments, as who has the launch token.
    pub(crate) async fn post(&self, path: &str, arguments: Value) -> Reply {
        self.ask("POST", path).known().json(&arguments).send().await
    }
}

pub(crate) struct Ask<'a> {
    site: &'a Site,
    request: http::request::Builder,
    body: Body,
}

impl Ask<'_> {
    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.request = self.request.header(name, value);
        self
    }

    /// Under another name than what all requests have.
    pub(crate) fn host(mut self, host: &str) -> Self {
        self.request.headers_mut().unwrap().insert(HOST, HeaderValue::from_str(host).unwrap());
        self
    }

    /// With the token of the launch.
    pub(crate) fn known(self) -> Self {
        let token = format!("Bearer {}", self.site.token);
        self.header("authorization", &token)
    }

    pub(crate) fn json(self, body: &Value) -> Self {
        self.text("application/json", body.to_string())
    }

    pub(crate) fn text(mut self, kind: &str, body: impl Into<Body>) -> Self {
        self.body = body.into();
        self.header("content-type", kind)
    }

    /// Sends it, and gives the answer as it begins: what is dropped of it is hung up on.
    pub(crate) async fn open(self) -> Response<Incoming> {
        let request = self.request.body(self.body).unwrap();
        let stream = TcpStream::connect(self.site.address().await).await.unwrap();
        let (mut sender, connection) = handshake(TokioIo::new(stream)).await.unwrap();
        tokio::spawn(connection);
        sender.send_request(request).await.unwrap()
    }

    pub(crate) async fn send(self) -> Reply {
        Reply::read(self.open().await).await
    }

    /// Without a connection, which would take pieces of a body that nobody has asked for.
    pub(crate) async fn hand_over(self) -> Reply {
        let request = self.request.body(self.body).unwrap();
        Reply::read(self.site.router.clone().oneshot(request).await.unwrap()).await
    }

    /// Without a connection, and without reading the body, of which a connection would take a part in advance.
    pub(crate) async fn unread(self) -> Response<Body> {
        let request = self.request.body(self.body).unwrap();
        self.site.router.clone().oneshot(request).await.unwrap()
    }
}

/// Events, one after the other, from an answer that goes on.
pub(crate) struct Events {
    body: Incoming,
    rest: String,
}

impl Events {
    pub(crate) fn of(response: Response<Incoming>) -> Self {
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        Self { body: response.into_body(), rest: String::new() }
    }

    /// The next event, with its empty line; none when there will be none.
    pub(crate) async fn next(&mut self) -> Option<String> {
        loop {
            if let Some(at) = self.rest.find("\n\n") {
                let rest = self.rest.split_off(at + 2);
                return Some(std::mem::replace(&mut self.rest, rest));
            }
            let frame = tokio::time::timeout(Duration::from_secs(20), self.body.frame());
            let data = frame.await.expect("an event comes")?.unwrap().into_data().unwrap();
            self.rest.push_str(std::str::from_utf8(&data).unwrap());
        }
    }
}

#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
}

impl Reply {
    async fn read<B: axum::body::HttpBody<Error: std::fmt::Debug>>(response: Response<B>) -> Self {
        let (parts, body) = response.into_parts();
        let body = body.collect().await.unwrap().to_bytes().to_vec();
        Self {
            status: parts.status,
            headers: parts.headers,
            body: String::from_utf8(body).unwrap(),
        }
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|e| panic!("{e}: {:?}", self.body))
    }

    /// What a good answer says.
    #[track_caller]
    pub(crate) fn ok(&self) -> Value {
        assert_eq!(self.status, 200, "{}", self.body);
        assert_eq!(self.header("content-type"), "application/json");
        self.json()
    }

    /// What a problem says; checks that it has the shape that all have.
    #[track_caller]
    pub(crate) fn problem(&self, status: u16, code: &str) -> Value {
        assert_eq!(self.status.as_u16(), status, "{}", self.body);
        assert_eq!(self.header("content-type"), "application/problem+json");
        let said = self.json();
        assert_eq!(said["code"], code, "{said}");
        assert_eq!(said["status"], status);
        assert_eq!(said["type"], "about:blank");
        assert!(said["is_retriable"].is_boolean(), "{said}");
        if status == 401 {
            assert_eq!((said.get("detail"), &said["error"]), (None, &json!("Unauthorized")));
            assert!(said["suggestions"][0].is_string(), "{said}");
        } else {
            let detail = said["detail"].as_str().unwrap();
            assert!(!detail.is_empty() && said["error"] == detail, "{said}");
        }
        if status >= 500 {
            assert_eq!(said["trace_id"].as_str().map(str::len), Some(32), "{said}");
        }
        said
    }
}

/// Two tools: one that reads, one that deletes.
pub(crate) fn weather() -> JsonTool {
    let schema = json!({
        "type": "object",
        "properties": {"city": {"type": "string", "description": "City name"}},
        "required": ["city"],
    });
    let mut hints = ToolAnnotations::new();
    hints.read_only_hint = Some(true);
    hints.open_world_hint = Some(true);
    JsonTool::new("get_weather", &schema, |args, _| async move {
        Ok::<_, ToolError>(format!("Sunny in {}", args["city"].as_str().unwrap_or_default()))
    })
    .description("Fetch current weather for a city.")
    .annotations(hints)
}

pub(crate) fn delete_record() -> JsonTool {
    let schema =
        json!({"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]});
    JsonTool::new("delete_record", &schema, |_, _| async { Ok::<_, ToolError>("deleted") })
        .description("Delete a record by ID.")
}

/// A tool that takes anything.
pub(crate) fn named(name: &str) -> Arc<dyn Tool> {
    let said = name.to_owned();
    Arc::new(JsonTool::open(name, move |_, _| {
        let said = said.clone();
        async move { Ok::<_, ToolError>(said) }
    }))
}

/// A server that remembers keys.
pub(crate) fn server() -> Server {
    let ledger = store::open("memory:", store::Options::default()).unwrap();
    Server::new("test", "1").ledger(ledger)
}

pub(crate) fn sample() -> Server {
    server().tool(weather()).tool(delete_record())
}

/// Everything that could be run: tags that are not ours, and what our policy forbids anyway.
#[track_caller]
#[allow(dead_code)] // pages alone have markup
pub(crate) fn is_harmless(html: &str) {
    let scripts = html.matches("<script").count();
    let ours = html.matches("<script type=\"module\" src=\"/ui/assets/").count();
    assert_eq!(scripts, ours, "a script that is not ours: {html}");
    for bad in ["<img", "<iframe", "<svg", " onerror=\"", " onload=\"", " style=\"", "javascript:"]
    {
        assert!(!html.contains(bad), "{bad} in {html}");
    }
}
