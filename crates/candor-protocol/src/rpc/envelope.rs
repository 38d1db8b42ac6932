//! Decodes and writes requests, notifications and responses.

use std::fmt;

use serde::Serialize;
use serde_json::value::RawValue;

use super::error::{ErrorObject, code};
use super::id::RequestId;
use crate::json::{Decode, Json, Object, ScanError, length, scan, scan_members};

/// A request, which gets exactly one response.
#[derive(Debug, Clone)]
pub struct Request {
    /// The id that the response must carry.
    pub id: RequestId,
    /// The method's name.
    pub method: String,
    /// The parameters without `_meta`, member by member. Empty if there are none.
    pub params: Object,
    /// The parameters' `_meta`, which in the modern era describes the client. Empty if there is none.
    pub meta: Object,
}

/// A notification, which gets no response.
#[derive(Debug, Clone)]
pub struct Notification {
    /// The method's name.
    pub method: String,
    /// The parameters, member by member. Empty if there are none.
    pub params: Object,
}

/// The peer's response to our request.
#[derive(Debug, Clone)]
pub struct Response {
    /// The id of our request.
    pub id: RequestId,
    /// The result or the error.
    pub outcome: Result<Box<RawValue>, ErrorObject>,
}

/// One decoded message.
#[derive(Debug, Clone)]
pub enum Incoming {
    /// A request.
    Request(Request),
    /// A notification.
    Notification(Notification),
    /// A response.
    Response(Response),
}

/// A message that cannot be decoded, and the error to send.
#[derive(Debug, Clone)]
pub struct Rejected {
    /// The id, if it can be read.
    pub id: Option<RequestId>,
    /// The error for the sender.
    pub error: ErrorObject,
}

impl Rejected {
    fn new(id: Option<RequestId>, problem: impl fmt::Display) -> Self {
        Self { id, error: ErrorObject::invalid_request(format!("Invalid request: {problem}")) }
    }
}

impl From<ScanError> for Rejected {
    fn from(e: ScanError) -> Self {
        Self { id: None, error: ErrorObject::new(code::PARSE_ERROR, format!("Parse error: {e}")) }
    }
}

/// Decodes one message.
///
/// ```
/// use candor_protocol::rpc::{decode_message, Incoming};
///
/// let bytes = br#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#;
/// let Ok(Incoming::Request(request)) = decode_message(bytes, 64) else { panic!() };
/// assert_eq!((request.id.as_json(), &*request.method), ("7", "ping"));
///
/// let rejected = decode_message(br#"{"jsonrpc":"1.0","id":7,"method":"ping"}"#, 64).unwrap_err();
/// assert_eq!(rejected.id.unwrap().as_json(), "7");
/// ```
pub fn decode_message(bytes: &[u8], max_depth: usize) -> Result<Incoming, Rejected> {
    let mut members = EnvelopeMembers::default();
    let message = scan_members(bytes, max_depth, |key, value| members.take(key, value))?;
    match message.text().as_bytes().first() {
        Some(b'{') => from_members(members),
        Some(b'[') => Err(Rejected::new(None, "batches are not part of this protocol revision")),
        _ => Err(Rejected::new(None, "a message is an object")),
    }
}

/// The members of an envelope, borrowed from the message: most of it is parameters, which are decoded later.
#[derive(Default, Clone, Copy)]
struct EnvelopeMembers<'a> {
    version: Option<Json<'a>>,
    id: Option<Json<'a>>,
    method: Option<Json<'a>>,
    params: Option<Json<'a>>,
    result: Option<Json<'a>>,
    error: Option<Json<'a>>,
}

impl<'a> EnvelopeMembers<'a> {
    fn take(&mut self, key: &str, value: Json<'a>) {
        let value = Some(value);
        match key {
            "jsonrpc" => self.version = value,
            "id" => self.id = value,
            "method" => self.method = value,
            "params" => self.params = value,
            "result" => self.result = value,
            "error" => self.error = value,
            // JSON-RPC defines no other member, and Candor uses none.
            _ => {}
        }
    }
}

/// Returns the messages of a batch, each as text. Returns `None` if the text is not an array.
pub fn split_batch(bytes: &[u8], max_depth: usize) -> Result<Option<Vec<&str>>, Rejected> {
    if bytes.trim_ascii_start().first() != Some(&b'[') {
        return Ok(None);
    }
    let items = scan(bytes, max_depth)?.items().map_err(|e| Rejected::new(None, e))?;
    if items.is_empty() {
        return Err(Rejected::new(None, "a batch holds at least one message"));
    }
    Ok(Some(items.into_iter().map(Json::text).collect()))
}

fn from_members(members: EnvelopeMembers<'_>) -> Result<Incoming, Rejected> {
    let EnvelopeMembers { version, id, method, params, result, error } = members;
    let id = match id.map(RequestId::decode).transpose() {
        Ok(id) => id,
        Err(e) => return Err(Rejected::new(None, e.within("id"))),
    };
    if version.is_none_or(|v| v.text() != r#""2.0""#) {
        return Err(Rejected::new(id, r#""jsonrpc" must be "2.0""#));
    }
    let Some(method) = method else {
        return match (id, result, error) {
            (Some(id), Some(result), None) => {
                Ok(Incoming::Response(Response { id, outcome: Ok(result.to_raw()) }))
            }
            (Some(id), None, Some(error)) => match ErrorObject::decode(error) {
                Ok(error) => Ok(Incoming::Response(Response { id, outcome: Err(error) })),
                Err(e) => Err(Rejected::new(Some(id), e.within("error"))),
            },
            (id, ..) => Err(Rejected::new(
                id,
                r#"no "method", and not one of "result" and "error" with an id"#,
            )),
        };
    };
    let method =
        String::decode(method).map_err(|e| Rejected::new(id.clone(), e.within("method")))?;
    let mut params = match params {
        None => Object::new(),
        Some(raw) => {
            Object::decode(raw).map_err(|e| Rejected::new(id.clone(), e.within("params")))?
        }
    };
    let Some(id) = id else {
        return Ok(Incoming::Notification(Notification { method, params }));
    };
    let meta = match params.take_object("_meta") {
        Ok(meta) => meta.unwrap_or_default(),
        Err(e) => {
            let e = e.within("params");
            return Err(Rejected {
                id: Some(id),
                error: ErrorObject::invalid_params(format!("Invalid params: {e}")),
            });
        }
    };
    Ok(Incoming::Request(Request { id, method, params, meta }))
}

/// Writes a request.
pub fn write_request(id: &RequestId, method: &str, params: &impl Serialize) -> Vec<u8> {
    write(&(Some(id), Some(method), ("params", params)))
}

/// Writes a notification.
pub fn write_notification(method: &str, params: &impl Serialize) -> Vec<u8> {
    write(&(None, Some(method), ("params", params)))
}

/// Writes a result: any type that serializes to an object.
pub fn write_result(id: &RequestId, result: &impl Serialize) -> Vec<u8> {
    write_result_of(id, result, 0)
}

/// Writes a result into a buffer of the size that [`measure_result`] returned.
pub fn write_result_of(id: &RequestId, result: &impl Serialize, bytes: usize) -> Vec<u8> {
    write_into(Vec::with_capacity(bytes.max(USUAL_SIZE)), &(Some(id), None, ("result", result)))
}

/// Returns how many bytes the message of a result has, without writing it.
pub fn measure_result(id: &RequestId, result: &impl Serialize) -> usize {
    length(result) + id.as_json().len() + r#"{"jsonrpc":"2.0","id":,"result":}"#.len()
}

/// Writes an error. Without an id, the member is omitted, as MCP requires.
#[must_use]
pub fn write_error(id: Option<&RequestId>, error: &ErrorObject) -> Vec<u8> {
    write(&(id, None, ("error", error)))
}

type Envelope<'a, T> = (Option<&'a RequestId>, Option<&'a str>, (&'a str, &'a T));

/// Initial buffer size in bytes, enough for most messages.
const USUAL_SIZE: usize = 512;

fn write<T: Serialize>(envelope: &Envelope<'_, T>) -> Vec<u8> {
    write_into(Vec::with_capacity(USUAL_SIZE), envelope)
}

fn write_into<T: Serialize>(
    mut out: Vec<u8>,
    (id, method, (key, body)): &Envelope<'_, T>,
) -> Vec<u8> {
    out.extend_from_slice(br#"{"jsonrpc":"2.0""#);
    if let Some(id) = id {
        out.extend_from_slice(br#","id":"#);
        out.extend_from_slice(id.as_json().as_bytes());
    }
    if let Some(method) = method {
        out.extend_from_slice(br#","method":"#);
        append(&mut out, method);
    }
    out.extend_from_slice(b",\"");
    out.extend_from_slice(key.as_bytes());
    out.extend_from_slice(b"\":");
    append(&mut out, body);
    out.push(b'}');
    out
}

fn append(out: &mut Vec<u8>, value: &(impl Serialize + ?Sized)) {
    // Writing to memory cannot fail, and all message types have string keys.
    serde_json::to_writer(out, value).expect("a message that JSON can write");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rejected(text: &str) -> (Option<String>, i64) {
        let r = decode_message(text.as_bytes(), 64).unwrap_err();
        (r.id.map(|id| id.to_string()), r.error.code())
    }

    #[test]
    fn measured_length_matches_the_written_result() {
        for id in [RequestId::from("a\"b"), RequestId::from("")] {
            let result = serde_json::json!({"text": "\"\u{1}é\n", "n": [1, null]});
            assert_eq!(measure_result(&id, &result), write_result(&id, &result).len());
        }
    }

    #[test]
    fn invalid_envelope_is_rejected_with_its_id() {
        assert_eq!(rejected("{"), (None, code::PARSE_ERROR));
        assert_eq!(rejected("[]"), (None, code::INVALID_REQUEST));
        assert_eq!(rejected("3"), (None, code::INVALID_REQUEST));
        assert_eq!(
            rejected(r#"{"jsonrpc":"2.0","id":null,"method":"x"}"#),
            (None, code::INVALID_REQUEST)
        );
        assert_eq!(
            rejected(r#"{"jsonrpc":"2.0","id":1.5,"method":"x"}"#),
            (None, code::INVALID_REQUEST)
        );
        assert_eq!(
            rejected(r#"{"id":"a","method":"x"}"#),
            (Some("\"a\"".into()), code::INVALID_REQUEST)
        );
        assert_eq!(
            rejected(r#"{"jsonrpc":"2.0","id":1}"#),
            (Some("1".into()), code::INVALID_REQUEST)
        );
        assert_eq!(
            rejected(r#"{"jsonrpc":"2.0","id":1,"method":3}"#),
            (Some("1".into()), code::INVALID_REQUEST)
        );
        assert_eq!(
            rejected(r#"{"jsonrpc":"2.0","id":1,"method":"x","params":[]}"#),
            (Some("1".into()), code::INVALID_REQUEST)
        );
        assert_eq!(
            rejected(r#"{"jsonrpc":"2.0","id":1,"result":{},"error":{}}"#),
            (Some("1".into()), code::INVALID_REQUEST)
        );
    }

    #[test]
    fn request_id_keeps_its_digits_and_ignores_escapes() {
        let id = |text: &str| match decode_message(
            format!(r#"{{"jsonrpc":"2.0","id":{text},"method":"x"}}"#).as_bytes(),
            8,
        ) {
            Ok(Incoming::Request(r)) => r.id,
            other => panic!("{other:?}"),
        };
        assert_eq!(
            id("123456789012345678901234567890").as_json(),
            "123456789012345678901234567890"
        );
        assert_eq!(id(r#""a""#), id(r#""\u0061""#));
        assert_ne!(id("1"), id("\"1\""));
    }

    #[test]
    fn request_id_above_the_length_limit_is_rejected() {
        let message = |length: usize| {
            format!(r#"{{"jsonrpc":"2.0","id":"{}","method":"x"}}"#, "a".repeat(length))
        };
        assert!(decode_message(message(1022).as_bytes(), 8).is_ok());
        assert_eq!(rejected(&message(1023)), (None, code::INVALID_REQUEST));
        let digits = format!(r#"{{"jsonrpc":"2.0","id":{},"method":"x"}}"#, "7".repeat(1025));
        assert_eq!(rejected(&digits), (None, code::INVALID_REQUEST));
    }

    #[test]
    fn batch_is_split_into_its_messages() {
        assert_eq!(split_batch(b"{}", 8).unwrap(), None);
        assert_eq!(split_batch(br#" [{"a":1}, 2]"#, 8).unwrap(), Some(vec![r#"{"a":1}"#, "2"]));
        assert!(split_batch(b"[]", 8).is_err());
    }
}
