//! HTTP by hand: one request per connection, everything as it comes over the wire.

#![allow(dead_code)] // several test programs share this file, and each uses a part of it

use std::io;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

use crate::process::bounded;

/// A response, read to its end.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    /// Status line and headers, in lower case.
    pub(crate) head: String,
    pub(crate) body: String,
    /// The cookie that it sets, as a browser sends it back.
    pub(crate) cookie: Option<String>,
}

impl Reply {
    /// The body, which must be one JSON-RPC message.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|e| panic!("{e} in {self:?}"))
    }

    /// A header, in lower case.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }
}

/// Posts a modern request, with the headers that mirror it, and further ones.
pub(crate) async fn post(address: &str, request: &Value, headers: &[(&str, &str)]) -> Reply {
    bounded("the response ends", try_post(address, request, headers)).await.unwrap()
}

/// The same to a server that may be gone before it has answered, or take its time.
pub(crate) async fn try_post(
    address: &str,
    request: &Value,
    headers: &[(&str, &str)],
) -> io::Result<Reply> {
    let headers = [mirrors(request).as_slice(), headers].concat();
    read(send(address, "POST", &headers, &request.to_string()).await?).await
}

/// Posts `initialize`; gives the legacy session's id.
pub(crate) async fn open_session(address: &str, initialize: &Value) -> String {
    let opening = async { read(send(address, "POST", &[], &initialize.to_string()).await?).await };
    let reply = bounded("a session opens", opening).await.unwrap();
    let id = reply.header("mcp-session-id");
    id.unwrap_or_else(|| panic!("no session: {reply:?}")).to_owned()
}

/// Asks for any path; gives the response as it is.
pub(crate) async fn ask(
    address: &str,
    verb: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> Reply {
    let asking = async { read(send_to(address, verb, path, headers, body).await?).await };
    bounded("the response ends", asking).await.unwrap()
}

async fn read(mut connection: TcpStream) -> io::Result<Reply> {
    let mut text = String::new();
    connection.read_to_string(&mut text).await?;
    let (head, body) = text.split_once("\r\n\r\n").ok_or(io::ErrorKind::UnexpectedEof)?;
    let cookie = head.lines().find_map(|line| {
        let (name, value) = line.split_once(": ")?;
        name.eq_ignore_ascii_case("set-cookie").then(|| value.split(';').next())?
    });
    let reply = Reply {
        status: status(head),
        head: head.to_ascii_lowercase(),
        body: body.to_owned(),
        cookie: cookie.map(str::to_owned),
    };
    match reply.header("content-length") {
        Some(length) if length != body.len().to_string() => {
            Err(io::ErrorKind::UnexpectedEof.into())
        }
        _ => Ok(reply),
    }
}

/// An event stream that is being read; or a body that is one message, as the server likes.
pub(crate) struct Events(BufReader<TcpStream>);

impl Events {
    /// Posts a modern request.
    pub(crate) async fn post(address: &str, request: &Value) -> Self {
        Self::post_with(address, request, &[]).await
    }

    /// The same with further headers.
    pub(crate) async fn post_with(
        address: &str,
        request: &Value,
        headers: &[(&str, &str)],
    ) -> Self {
        let headers = [mirrors(request).as_slice(), headers].concat();
        let sent = send(address, "POST", &headers, &request.to_string()).await;
        Self::read(sent.unwrap()).await
    }

    /// Posts a request of a legacy session.
    pub(crate) async fn post_in(address: &str, session: &str, request: &Value) -> Self {
        let headers = [("Mcp-Session-Id", session)];
        let sent = send(address, "POST", &headers, &request.to_string()).await;
        Self::read(sent.unwrap()).await
    }

    /// Opens the stream of a legacy session.
    pub(crate) async fn get(address: &str, session: &str) -> Self {
        let sent = send(address, "GET", &[("Mcp-Session-Id", session)], "").await;
        Self::read(sent.unwrap()).await
    }

    async fn read(connection: TcpStream) -> Self {
        let mut events = Self(BufReader::new(connection));
        let head = events.line().await.expect("a response");
        assert_eq!(status(&head), 200, "{head}");
        events
    }

    /// The next message; none when the stream has ended.
    pub(crate) async fn next(&mut self) -> Option<Value> {
        // Between the messages stand headers, sizes of chunks, comments and empty events: none begins like these.
        loop {
            let line = self.line().await?;
            let message = line.strip_prefix("data: ").or(line.starts_with('{').then_some(&line));
            if let Some(message) = message {
                return Some(serde_json::from_str(message).unwrap());
            }
        }
    }

    /// The answer to this request; what is said before it is passed over.
    pub(crate) async fn answer(&mut self, id: u64) -> Value {
        loop {
            let message = self.next().await.expect("an answer before the end");
            if message["id"] == id && message["method"].is_null() {
                return message;
            }
        }
    }

    async fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        let read = bounded("the stream goes on", self.0.read_line(&mut line)).await.unwrap();
        (read > 0).then(|| line.trim_end().to_owned())
    }
}

/// A response whose messages are read as they come: one if it is JSON, any number if they are events.
pub(crate) struct Incoming {
    pub(crate) status: u16,
    /// Status line and headers, in lower case.
    head: String,
    body: BufReader<TcpStream>,
}

impl Incoming {
    /// Posts a message with just these headers. Whoever waits for what comes says for how long.
    pub(crate) async fn post(
        address: &str,
        message: &Value,
        headers: &[(&str, &str)],
    ) -> io::Result<Self> {
        let mut body = BufReader::new(send(address, "POST", headers, &message.to_string()).await?);
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if body.read_line(&mut head).await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        Ok(Self { status: status(&head), head: head.to_ascii_lowercase(), body })
    }

    /// A header, in lower case.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }

    /// Whether it is a stream of events.
    pub(crate) fn is_stream(&self) -> bool {
        self.header("content-type").is_some_and(|media| media.contains("event-stream"))
    }

    /// The next message, if there is one.
    pub(crate) async fn next(&mut self) -> Option<Value> {
        let is_stream = self.is_stream();
        loop {
            let mut line = String::new();
            if self.body.read_line(&mut line).await.unwrap() == 0 {
                return None;
            }
            // Between the events stand sizes of chunks and comments: none begins like this.
            let message = if is_stream { line.strip_prefix("data: ") } else { Some(&*line) };
            match message.map(str::trim) {
                None | Some("") => {}
                Some(message) => {
                    return Some(
                        serde_json::from_str(message)
                            .unwrap_or_else(|e| panic!("{e} in {message:?} after {}", self.head)),
                    );
                }
            }
        }
    }
}

/// The headers of a modern request, which repeat what stands in its body.
pub(crate) fn mirrors(request: &Value) -> Vec<(&str, &str)> {
    let params = &request["params"];
    let name = params["name"].as_str().or_else(|| params["uri"].as_str());
    let method = request["method"].as_str().expect("a request");
    let mut mirrors = vec![("Mcp-Protocol-Version", "2026-07-28"), ("Mcp-Method", method)];
    mirrors.extend(name.map(|name| ("Mcp-Name", name)));
    mirrors
}

async fn send(
    address: &str,
    verb: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> io::Result<TcpStream> {
    send_to(address, verb, "/mcp", headers, body).await
}

/// Sends a request, and leaves the response to be read.
pub(crate) async fn send_to(
    address: &str,
    verb: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> io::Result<TcpStream> {
    let port = address.rsplit_once(':').expect("IP:PORT").1;
    let further: String =
        headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let message = format!(
        "{verb} {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\
         Accept: application/json, text/event-stream\r\n{further}\r\n{body}",
        body.len(),
    );
    let connecting = TcpStream::connect(format!("127.0.0.1:{port}"));
    let mut connection = bounded("the server accepts", connecting).await?;
    bounded("the server reads", connection.write_all(message.as_bytes())).await?;
    Ok(connection)
}

fn status(head: &str) -> u16 {
    let code = head.strip_prefix("HTTP/1.1 ").and_then(|rest| rest.get(..3)?.parse().ok());
    code.unwrap_or_else(|| panic!("no status: {head:?}"))
}
