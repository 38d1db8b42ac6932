//! What a request contains: arguments in its body, a key and a trace in its headers.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use candor_server::engine::RequestSlots;
use candor_server::protocol::json::{self, Decode as _, Json, Object, RawValue, raw, scan};
use candor_server::protocol::types::Tool as Definition;
use candor_server::store::Key;
use candor_server::tool::Arguments;
use candor_server::transport::http::{Rejection, idempotency_key};
use candor_server::{Caller, ClientInfo, Expectation, View, caller_key};
use http::header::CONTENT_TYPE;
use http::{HeaderMap, StatusCode};
use serde_json::{Map, Value};

use super::engine;
use crate::problem::Problem;
use crate::request::ConsoleRequest;
use crate::{Inner, trace};

/// Reads the arguments. Accepts only an object that every parser reads alike. A body that is cut off or meant for another server
/// must not become a call with `{}`.
pub(super) fn arguments(console: &Inner, asked: &ConsoleRequest) -> Result<Box<RawValue>, Problem> {
    // A page of any site can make a browser post text or a form. It cannot post this without a preflight request.
    if !is_json(&asked.parts.headers) {
        return Err(Rejection::ContentType.into());
    }
    let json = scan(&asked.body, console.limits.depth).map_err(|error| {
        let verb = match error.problem {
            json::Problem::DuplicateKey(_) => "has the",
            _ => "is",
        };
        Problem::bad_request(format!("The body {verb} {error}"))
    })?;
    if !json.text().starts_with('{') {
        return Err(Problem::bad_request(
            "The body must be an object: the arguments, or {} if there are none",
        ));
    }
    Ok(json.to_raw())
}

/// Takes the precondition `expect` out of a call. Returns the remaining arguments, and the precondition as JSON.
///
/// The body holds the arguments, so `expect` in it is the precondition only if the tool can have no such argument. For a tool that
/// can, use the query parameter `expect`.
pub(super) fn take_expectation(
    asked: &ConsoleRequest,
    tool: &Definition,
    arguments: Box<RawValue>,
) -> (Box<RawValue>, Option<Box<RawValue>>) {
    let of_query = asked.given(EXPECT).map(|expected| raw(&expected));
    if of_query.is_some() || !arguments.get().contains(EXPECT) {
        return (arguments, of_query);
    }
    let Ok(sent) = Object::decode((&*arguments).into()) else { return (arguments, None) };
    match sent.get(EXPECT).map(Json::to_raw) {
        Some(expected) if !may_take(tool, EXPECT) => (raw(&sent.without(EXPECT)), Some(expected)),
        _ => (arguments, None),
    }
}

const EXPECT: &str = "expect";

/// Returns true if an argument of this name can be valid: the schema declares it, or is open.
fn may_take(tool: &Definition, name: &str) -> bool {
    let schema: Value = serde_json::from_str(tool.input_schema.get()).unwrap_or_default();
    let closed = ["additionalProperties", "unevaluatedProperties"];
    schema["properties"].get(name).is_some() || !closed.iter().any(|closed| schema[closed] == false)
}

fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or("");
    let kind = kind.split(';').next().unwrap_or("").trim().to_ascii_lowercase();
    kind == "application/json" || (kind.starts_with("application/") && kind.ends_with("+json"))
}

/// Returns the idempotency key of the request, from its header or its query. A server without a ledger ignores keys.
pub(super) fn key(console: &Inner, asked: &ConsoleRequest) -> Result<Option<Key>, Problem> {
    let invalid =
        |words: String| Problem::new(StatusCode::BAD_REQUEST, "idempotency_key_invalid", words);
    let text = match (idempotency_key(&asked.parts.headers)?, asked.query("key")) {
        (Some(one), Some(other)) if one != other => {
            return Err(invalid("Idempotency-Key and the query have different keys".into()));
        }
        (one, other) => one.or(other),
    };
    let stored = engine(console)?.store().is_some();
    let Some(text) = text.filter(|_| stored) else { return Ok(None) };
    caller_key(text).map(Some).map_err(|problem| invalid(format!("Idempotency-Key: {problem}")))
}

/// Decodes the arguments of a call.
pub(super) fn decoded(arguments: &RawValue) -> Result<Arguments, Problem> {
    Arguments::decode(Some(arguments.into())).map_err(Problem::bad_request)
}

/// Reads what the caller expects of the decision.
pub(super) fn expectation(expected: &RawValue) -> Result<Expectation, Problem> {
    let text: Option<String> = serde_json::from_str(expected.get()).ok();
    text.and_then(|text| Expectation::parse(&text))
        .ok_or_else(|| Problem::bad_request("`expect` must be \"ask\" or the id of a decision"))
}

/// Returns what the caller sees of the server and can do, within its trace.
pub(crate) fn view(console: &Inner, asked: &ConsoleRequest) -> Result<View, Problem> {
    static CLIENT: LazyLock<Arc<ClientInfo>> =
        LazyLock::new(|| Arc::new(ClientInfo::silent("candor-console", env!("CARGO_PKG_VERSION"))));
    let parent = asked.parts.headers.get(trace::TRACEPARENT).and_then(|value| value.to_str().ok());
    let meta = parent.map(|parent| Object::new().with(trace::TRACEPARENT, parent));
    let caller = Caller::new(asked.visitor.identity())
        .with_client(CLIENT.clone())
        .with_meta(Arc::new(meta.unwrap_or_default()))
        .with_shares(console.front.tells_callers_apart());
    let slots = RequestSlots {
        body: asked.room.clone(),
        response: asked.response.clone(),
        position: asked.arrived.clone(),
    };
    Ok(engine(console)?.open_with(caller, slots))
}

/// The body of an operator's request: an object with few members.
pub(crate) struct RequestBody {
    members: Map<String, Value>,
    body: Box<RawValue>,
}

impl RequestBody {
    pub(crate) fn read(console: &Inner, asked: &ConsoleRequest) -> Result<Self, Problem> {
        let body = arguments(console, asked)?;
        match serde_json::from_str(body.get()) {
            Ok(members) => Ok(Self { members, body }),
            Err(error) => Err(Problem::bad_request(format!("The body cannot be read: {error}"))),
        }
    }

    /// Refuses unknown members, because the operator may have meant something by them.
    pub(crate) fn only(&self, known: &[&str]) -> Result<(), Problem> {
        match self.members.keys().find(|name| !known.contains(&name.as_str())) {
            None => Ok(()),
            Some(other) => Err(Problem::bad_request(format!(
                "`{other}` means nothing here; there are {}",
                known.join(", ")
            ))),
        }
    }

    pub(crate) fn member(&self, name: &str) -> Option<&Value> {
        self.members.get(name).filter(|value| !value.is_null())
    }

    /// Returns a member as the text that was sent.
    pub(crate) fn raw(&self, name: &str) -> Option<Box<RawValue>> {
        self.member(name)?;
        let mut members: HashMap<String, Box<RawValue>> =
            serde_json::from_str(self.body.get()).ok()?;
        members.remove(name)
    }

    pub(crate) fn text(&self, name: &str) -> Result<Option<&str>, Problem> {
        match self.member(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(Problem::bad_request(format!("`{name}` is a string"))),
        }
    }
}
