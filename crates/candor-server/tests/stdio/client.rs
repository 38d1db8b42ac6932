//! A client that speaks raw lines, and the messages it sends.

use std::io;
use std::time::Duration;

use candor_server::protocol::Principal;
use candor_server::transport::stdio;
use candor_server::{RunningServer, Server};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, DuplexStream, duplex};
use tokio::task::JoinHandle;

/// Longer than anything that a server here is told to wait for.
const LONG: Duration = Duration::from_secs(60);

/// Shorter than every time limit of a server, so that silence is not the silence before one.
const SHORT: Duration = Duration::from_millis(10);

pub(crate) struct Client {
    input: DuplexStream,
    output: BufReader<DuplexStream>,
    serving: JoinHandle<io::Result<()>>,
}

impl Client {
    /// A client of a new server.
    pub(crate) fn of(server: Server) -> Self {
        Self::connect(&server.build().unwrap())
    }

    pub(crate) fn connect(engine: &RunningServer) -> Self {
        Self::connect_through(engine, 64 * 1024)
    }

    /// A connection whose pipes hold this many bytes.
    pub(crate) fn connect_through(engine: &RunningServer, bytes: usize) -> Self {
        let (input, server_input) = duplex(bytes);
        let (output, server_output) = duplex(bytes);
        let engine = engine.clone();
        let serving = tokio::spawn(async move {
            stdio::serve(&engine, Principal::new("tester"), server_input, server_output).await
        });
        Self { input, output: BufReader::new(output), serving }
    }

    /// A client whose legacy session is open.
    pub(crate) async fn initialized(server: Server) -> Self {
        let mut client = Self::of(server);
        client.initialize("2025-11-25").await;
        client
    }

    /// Opens a legacy session; gives the answer's result.
    pub(crate) async fn initialize(&mut self, revision: &str) -> Value {
        let mut answer = self.ask(&initialize("hello", revision)).await;
        self.send(&notification("notifications/initialized", &json!({}))).await;
        answer["result"].take()
    }

    pub(crate) async fn write(&mut self, bytes: &[u8]) {
        bounded("the server reads", self.input.write_all(bytes)).await.unwrap();
    }

    pub(crate) async fn send(&mut self, message: &Value) {
        self.send_together(std::slice::from_ref(message)).await;
    }

    /// Sends messages in one write: the server finds them side by side.
    pub(crate) async fn send_together(&mut self, messages: &[Value]) {
        let lines: String = messages.iter().map(|m| format!("{m}\n")).collect();
        self.write(lines.as_bytes()).await;
    }

    /// The next message of the server.
    pub(crate) async fn next(&mut self) -> Value {
        let mut line = String::new();
        bounded("the server says something", self.output.read_line(&mut line)).await.unwrap();
        assert!(line.ends_with('\n'), "the output ended: {line:?}");
        serde_json::from_str(&line).unwrap()
    }

    /// Sends a request; the next message must be its answer.
    pub(crate) async fn ask(&mut self, request: &Value) -> Value {
        self.send(request).await;
        let answer = self.next().await;
        assert_eq!(answer["id"], request["id"], "not the answer: {answer}");
        assert_eq!(answer["method"], Value::Null, "not an answer: {answer}");
        answer
    }

    /// Nothing comes, and nothing would: every task waits.
    pub(crate) async fn expect_silence(&mut self) {
        if let Ok(said) = tokio::time::timeout(SHORT, self.output.fill_buf()).await {
            panic!("said {:?}", String::from_utf8_lossy(said.unwrap()));
        }
    }

    /// Ends the input; gives what the server still says before `serve` returns.
    pub(crate) async fn end(self) -> Vec<Value> {
        let Self { input, mut output, serving } = self;
        drop(input);
        let mut rest = String::new();
        bounded("the output ends", output.read_to_string(&mut rest)).await.unwrap();
        returned(serving).await;
        rest.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Ends the input and reads nothing, while the pipe stays open.
    pub(crate) async fn end_without_reading(self) {
        let Self { input, output, serving } = self;
        drop(input);
        returned(serving).await;
        drop(output);
    }
}

async fn returned(serving: JoinHandle<io::Result<()>>) {
    bounded("serve returns", serving).await.unwrap().unwrap();
}

/// Waits for something that must happen.
pub(crate) async fn bounded<T>(what: &str, happening: impl Future<Output = T>) -> T {
    tokio::time::timeout(LONG, happening).await.unwrap_or_else(|_| panic!("never: {what}"))
}

/// A legacy request, or any request without `_meta`.
pub(crate) fn request(id: impl Into<Value>, method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id.into(), "method": method, "params": params})
}

/// A modern request: it says by itself what its client is.
pub(crate) fn modern(id: impl Into<Value>, method: &str, params: &Value) -> Value {
    let mut request = request(id, method, params);
    let meta = &mut request["params"]["_meta"];
    meta["io.modelcontextprotocol/protocolVersion"] = json!("2026-07-28");
    meta["io.modelcontextprotocol/clientCapabilities"] = json!({"elicitation": {}});
    request
}

pub(crate) fn initialize(id: impl Into<Value>, revision: &str) -> Value {
    let client = json!({"name": "tester", "version": "1"});
    let params = json!({"protocolVersion": revision, "capabilities": {"elicitation": {}}, "clientInfo": client});
    request(id, "initialize", &params)
}

pub(crate) fn call(id: impl Into<Value>, tool: &str) -> Value {
    request(id, "tools/call", &json!({"name": tool}))
}

pub(crate) fn modern_call(id: impl Into<Value>, tool: &str) -> Value {
    modern(id, "tools/call", &json!({"name": tool}))
}

pub(crate) fn notification(method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "method": method, "params": params})
}

/// A client's word that it no longer wants an answer.
pub(crate) fn cancelled(id: impl Into<Value>) -> Value {
    notification(
        "notifications/cancelled",
        &json!({"requestId": id.into(), "reason": "changed my mind"}),
    )
}

/// A legacy answer that is one text.
pub(crate) fn said(id: impl Into<Value>, text: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id.into(), "result": {"content": [{"type": "text", "text": text}]}})
}

/// The text of a tool's answer, in either era.
pub(crate) fn text(answer: &Value) -> &str {
    answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no text: {answer}"))
}

/// An error that belongs to no request, or to one.
pub(crate) fn code(answer: &Value) -> i64 {
    answer["error"]["code"].as_i64().unwrap_or_else(|| panic!("no error: {answer}"))
}
