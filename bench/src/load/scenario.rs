//! What a client of HTTP sends, and what must come back.

use serde_json::Value;

use crate::message::{self, ECHO, ECHO_READ, ECHO_WITH_PROGRESS, LEGACY, MARK, MODERN, TOKEN};

/// The header of calls with the token.
const AUTHORIZATION: &str = "Bearer bench-token-0123456789abcdef0123456789abcdef";

/// A request that is sent again and again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scenario {
    /// `tools/call` by a modern client, answered with JSON.
    Modern,
    /// The same with a progress notification before the answer, so as events.
    ModernProgress,
    /// `tools/call` of a tool that changes nothing.
    Read,
    /// `tools/call` with a key that was used before.
    Replay,
    /// `tools/call` by a legacy client without a session.
    Legacy,
    /// `tools/call` in a legacy session; JSON or events, as the server likes.
    Session,
    /// The same with a progress notification before the answer, so as events.
    SessionProgress,
    /// `tools/list` by a modern client.
    List,
    /// `tools/annotations` by a modern client.
    Annotations,
    /// `GET /tools`, as browsers and programs without MCP ask.
    Tools,
    /// `tools/call` by a modern client with a token.
    ModernWithToken,
    /// The same call over the REST API, with the same token.
    Rest,
}

impl Scenario {
    /// The scenario of this name, as it is given on a command line.
    #[must_use]
    pub fn of(name: &str) -> Option<Self> {
        Some(match name {
            "modern" => Self::Modern,
            "modern-progress" => Self::ModernProgress,
            "read" => Self::Read,
            "replay" => Self::Replay,
            "legacy" => Self::Legacy,
            "session" => Self::Session,
            "session-progress" => Self::SessionProgress,
            "list" => Self::List,
            "annotations" => Self::Annotations,
            "tools" => Self::Tools,
            "modern-token" => Self::ModernWithToken,
            "rest" => Self::Rest,
            _ => return None,
        })
    }

    pub(super) fn opens_session(self) -> bool {
        matches!(self, Self::Session | Self::SessionProgress)
    }

    /// The bytes of the request, within the session if there is one.
    pub(super) fn request(self, session: Option<&str>) -> Vec<u8> {
        let call = ("mcp-method", "tools/call");
        let (body, headers): (Value, &[(&str, &str)]) = match self {
            Self::Modern => (message::modern_call(1, ECHO), &[call, ("mcp-name", ECHO)]),
            Self::ModernWithToken => (
                message::modern_call(1, ECHO),
                &[call, ("mcp-name", ECHO), ("authorization", AUTHORIZATION)],
            ),
            Self::Read => (message::modern_call(1, ECHO_READ), &[call, ("mcp-name", ECHO_READ)]),
            Self::Replay => (message::modern_keyed_call(1, ECHO), &[call, ("mcp-name", ECHO)]),
            Self::ModernProgress => (
                message::modern_call(1, ECHO_WITH_PROGRESS),
                &[call, ("mcp-name", ECHO_WITH_PROGRESS)],
            ),
            Self::Legacy | Self::Session => (message::legacy_call(1, ECHO), &[]),
            Self::SessionProgress => (message::legacy_call(1, ECHO_WITH_PROGRESS), &[]),
            Self::List => (message::modern_list(1), &[("mcp-method", "tools/list")]),
            Self::Annotations => {
                (message::modern_annotations(1), &[("mcp-method", "tools/annotations")])
            }
            Self::Tools => {
                let get =
                    "GET /tools HTTP/1.1\r\nhost: 127.0.0.1\r\naccept: application/json\r\n\r\n";
                return get.as_bytes().to_vec();
            }
            Self::Rest => {
                let body = message::arguments().to_string();
                let head = format!(
                    "POST /tools/{ECHO}/call HTTP/1.1\r\nhost: 127.0.0.1\r\naccept: application/json\r\n\
                     authorization: Bearer {TOKEN}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
                    body.len()
                );
                return (head + &body).into_bytes();
            }
        };
        let is_legacy = self == Self::Legacy || self.opens_session();
        let revision = if is_legacy { LEGACY } else { MODERN };
        post(&body, revision, headers.iter().copied().chain(session.map(in_session)))
    }

    /// What must stand in every answer.
    pub(super) fn expected(self) -> &'static [&'static str] {
        match self {
            Self::Modern
            | Self::ModernWithToken
            | Self::Read
            | Self::Legacy
            | Self::Session
            | Self::Rest => &[MARK],
            // Whichever answer is the first.
            Self::Replay => &[r#""replayed":"#, MARK],
            Self::ModernProgress | Self::SessionProgress => &["notifications/progress", MARK],
            // The last one that the smallest list has.
            Self::Annotations => &[r#""readOnlyHint":true"#],
            Self::List => &[r#""tools":["#, r#""name":"echo_9""#],
            Self::Tools => &[r#""name":"echo_9""#],
        }
    }
}

/// The request that opens a session.
pub(super) fn initialize() -> Vec<u8> {
    post(&message::initialize(), LEGACY, [])
}

/// The message that ends the handshake.
pub(super) fn initialized(session: &str) -> Vec<u8> {
    post(&message::initialized(), LEGACY, [in_session(session)])
}

fn in_session(id: &str) -> (&str, &str) {
    ("mcp-session-id", id)
}

fn post<'a>(
    body: &Value,
    revision: &str,
    headers: impl IntoIterator<Item = (&'a str, &'a str)>,
) -> Vec<u8> {
    let body = body.to_string();
    let head = format!(
        "POST /mcp HTTP/1.1\r\n\
         host: 127.0.0.1\r\n\
         content-type: application/json\r\n\
         accept: application/json, text/event-stream\r\n\
         content-length: {}\r\n\
         mcp-protocol-version: {revision}\r\n",
        body.len()
    );
    let more: String = headers.into_iter().map(|(n, v)| format!("{n}: {v}\r\n")).collect();
    format!("{head}{more}\r\n{body}").into_bytes()
}
