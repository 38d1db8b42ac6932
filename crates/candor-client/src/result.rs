//! The result of a call.

use std::sync::Arc;
use std::time::Duration;

use candor_protocol::json::{Decode as _, Json, Object};
use candor_protocol::names::{extension, failure};
use candor_protocol::types::{CallToolResult, Content};
use candor_schema::BOX_KEYWORD;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Another vendor's mark for a boxed value. Its box has the member `result`.
const OTHER_BOX_KEYWORD: &str = "x-fastmcp-wrap-result";

/// The result of a call. A tool that failed returns one, too.
///
/// ```no_run
/// use candor_client::Client;
/// use serde_json::json;
///
/// #[derive(serde::Deserialize)]
/// struct Weather {
///     celsius: f64,
/// }
///
/// # async fn example(client: &Client) -> Result<(), Box<dyn std::error::Error>> {
/// let result = client.call("weather", json!({"city": "Graz"})).await?;
/// if let Some(failure) = result.failure() {
///     println!("it failed: {failure:?}");
/// } else {
///     let weather: Weather = result.parse()?;
///     println!("{} °C", weather.celsius);
/// }
/// # Ok(()) }
/// ```
#[derive(Debug, Clone)]
pub struct CallResult {
    raw: CallToolResult,
    structured: Option<Arc<Value>>,
    /// The member that contains the value, if the value is boxed.
    boxed: Option<String>,
    /// Which replay marks count.
    pub(crate) replay: Replayable,
    /// The server is trusted, so its marks count.
    pub(crate) is_trusted: bool,
    /// The server promised to ask for approval before it runs the call.
    expected_approval: bool,
}

/// Whether a result may come from an earlier attempt, as far as this client itself knows.
#[derive(Debug, Clone, Default)]
pub(crate) enum Replayable {
    /// The call has no key, or the server is not trusted with keys.
    #[default]
    No,
    /// No earlier attempt can have had the key.
    First,
    /// An earlier attempt may have had the key. `None` if the server derives the key from the arguments.
    Key(Option<String>),
}

/// The machine-readable part of a failure, if the server sends one.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Failure {
    /// A stable code of the failure.
    pub code: String,
    /// Whether a retry of the call may succeed. `None` if the server does not say.
    pub retriable: Option<bool>,
    /// How long to wait before a retry.
    pub retry_after: Option<Duration>,
    /// The server itself refused, before the tool ran.
    pub by_server: bool,
    /// The trace id of the failure in the server's log.
    pub trace_id: Option<String>,
    /// The tool to call instead, and its arguments.
    pub instead: Option<(String, Value)>,
    /// The complete object, as received.
    pub details: Value,
}

impl CallResult {
    pub(crate) fn new(
        mut raw: CallToolResult,
        output_schema: Option<&Value>,
    ) -> Result<Self, String> {
        if let Some(content) = omitted_content(&raw) {
            raw.content = content;
        }
        let structured = raw.structured_content.as_ref();
        let structured = structured.map(|raw| serde_json::from_str::<Value>(raw.get())).transpose();
        let structured = structured.map_err(|error| error.to_string())?.map(Arc::new);
        let boxed = output_schema.and_then(box_of);
        let boxed = boxed.filter(|field| {
            // An object with more than the value in it is not a box.
            let members = structured.as_deref().and_then(Value::as_object);
            members.is_some_and(|members| members.len() == 1 && members.contains_key(field))
        });
        let (replay, is_trusted, expected_approval) = (Replayable::No, false, false);
        Ok(Self { raw, structured, boxed, replay, is_trusted, expected_approval })
    }

    /// Returns true if the tool reports that it failed.
    #[must_use]
    pub fn is_error(&self) -> bool {
        self.raw.is_error == Some(true)
    }

    /// Returns the content, block by block.
    #[must_use]
    pub fn content(&self) -> &[Content] {
        &self.raw.content
    }

    /// Returns all its text.
    #[must_use]
    pub fn text(&self) -> String {
        let texts: Vec<&str> = self.raw.content.iter().filter_map(Content::as_text).collect();
        texts.join("\n")
    }

    /// Returns the value that the tool returned, without its box if it has one.
    #[must_use]
    pub fn value(&self) -> Option<&Value> {
        let structured = self.structured.as_deref()?;
        match &self.boxed {
            Some(field) => structured.get(field),
            None => Some(structured),
        }
    }

    /// Parses that value as a type.
    pub fn parse<T: DeserializeOwned>(&self) -> serde_json::Result<T> {
        serde_json::from_value(self.value().cloned().unwrap_or(Value::Null))
    }

    /// Returns the machine-readable part of the failure, if the call failed.
    #[must_use]
    pub fn failure(&self) -> Option<Failure> {
        let told = self.meta(extension::ERROR).filter(|_| self.is_error())?;
        let text = |name: &str| told.get(name).and_then(Value::as_str).map(str::to_owned);
        let instead = told.get("instead").and_then(|instead| {
            let tool = instead.get("tool")?.as_str()?.to_owned();
            Some((tool, instead.get("arguments").cloned().unwrap_or(Value::Null)))
        });
        Some(Failure {
            code: text("code")?,
            retriable: told.get("retriable").and_then(Value::as_bool),
            retry_after: told
                .get("retryAfterMs")
                .and_then(Value::as_u64)
                .map(Duration::from_millis),
            by_server: told.get("raisedBy").and_then(Value::as_str) == Some("server"),
            trace_id: text("traceId"),
            instead,
            details: told,
        })
    }

    /// Returns true if the outcome is unknown: the call was started, and its outcome was not recorded. Do not start it again
    /// blindly.
    #[must_use]
    pub fn is_unknown(&self) -> bool {
        self.failure().is_some_and(|failure| failure.code == failure::OUTCOME_UNKNOWN)
    }

    /// Returns true if this is the result of an earlier attempt with the same key. See [`replayed`](Self::replayed).
    #[must_use]
    pub fn is_replayed(&self) -> bool {
        self.replayed() == Some(true)
    }

    /// Returns whether the server replayed an earlier result. Returns `None` if that is unknown: the server is untrusted, the call
    /// had no key, or the server's mark cannot be true. A mark cannot be true if it names another key, or if the key is new and was
    /// sent once.
    #[must_use]
    pub fn replayed(&self) -> Option<bool> {
        let told = self.meta(extension::IDEMPOTENCY).unwrap_or_default();
        let marked = told.get("replayed").and_then(Value::as_bool) == Some(true);
        match &self.replay {
            Replayable::No => None,
            Replayable::First => (!marked).then_some(false),
            Replayable::Key(sent) => {
                let named = told.get("key").and_then(Value::as_str);
                let same = sent.is_none() || named.is_none() || sent.as_deref() == named;
                (same || !marked).then_some(marked)
            }
        }
    }

    /// Returns true if a trusted server reports that the call started with an approval. Like
    /// [`Elicitation::is_approval`](crate::Elicitation::is_approval), it is false for every result of an untrusted server.
    #[must_use]
    pub fn is_approved(&self) -> bool {
        let told = self.meta(extension::APPROVAL).filter(|_| self.is_trusted);
        told.is_some_and(|told| told.get("approved").and_then(Value::as_bool) == Some(true))
    }

    /// Returns true if the server broke its promise: it announced that it asks for approval of this call, and ran it without one.
    /// Do not rely on its approval again.
    #[must_use]
    pub fn skipped_approval(&self) -> bool {
        let refused = self.failure().is_some_and(|failure| failure.by_server);
        let told = self.meta(extension::IDEMPOTENCY);
        let replayed = told.is_some_and(|told| told.get("replayed") == Some(&Value::Bool(true)));
        self.expected_approval && !refused && !replayed && !self.is_approved()
    }

    pub(crate) fn expecting_approval(mut self, expected: bool) -> Self {
        self.expected_approval = expected;
        self
    }

    /// Returns the plan token of a preview, to send with the call that the preview is about.
    #[must_use]
    pub fn plan_token(&self) -> Option<String> {
        self.meta(extension::PLAN)?.get("token")?.as_str().map(str::to_owned)
    }

    /// Returns the result as received.
    #[must_use]
    pub fn raw(&self) -> &CallToolResult {
        &self.raw
    }

    pub(crate) fn structured(&self) -> Option<&Value> {
        self.structured.as_deref()
    }

    fn meta(&self, key: &str) -> Option<Value> {
        let json: Json<'_> = self.raw.meta.as_ref().and_then(|meta: &Object| meta.get(key))?;
        serde_json::from_str(json.text()).ok()
    }
}

/// Returns the text that the server omitted because its structured content says the same. The client declares that it reads
/// structured content, so servers may omit the text.
fn omitted_content(result: &CallToolResult) -> Option<Vec<Content>> {
    let told = result.meta.as_ref()?.read::<Object>(extension::STRUCTURED_CONTENT).ok()??;
    let omitted = told.read::<bool>("textOmitted").ok().flatten();
    let structured = result.structured_content.as_ref()?;
    if omitted != Some(true) || !result.content.is_empty() {
        return None;
    }
    let texts = match told.read_str("box").ok().flatten() {
        None => Content::texts_of(structured),
        Some(field) => {
            let members = Object::decode((&**structured).into()).ok()?;
            Content::texts_of(&members.get(&field)?.to_raw())
        }
    };
    Some(texts.into_iter().map(Content::text).collect())
}

/// Returns the member that contains the value, if the schema marks a box.
fn box_of(schema: &Value) -> Option<String> {
    match (schema.get(BOX_KEYWORD), schema.get(OTHER_BOX_KEYWORD)) {
        (Some(mark), _) => match mark {
            Value::String(field) => Some(field.clone()),
            mark => mark.get("field").and_then(Value::as_str).map(str::to_owned),
        },
        (None, Some(Value::Bool(true))) => Some(candor_schema::BOX_FIELD.to_owned()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use candor_protocol::json::raw;
    use serde_json::json;

    fn value(schema: &Value, structured: &Value) -> Value {
        let mut raw_result = CallToolResult::new(Vec::new());
        raw_result.structured_content = Some(raw(structured));
        let result = CallResult::new(raw_result, Some(schema)).unwrap();
        result.value().unwrap().clone()
    }

    #[test]
    fn wrapped_result_is_unwrapped_by_its_schema_marker() {
        let ours = json!({"x-dedalus-box": {"field": "result"}});
        let other = json!({"x-fastmcp-wrap-result": true});
        assert_eq!(value(&ours, &json!({"result": 7})), json!(7));
        assert_eq!(
            value(&json!({"x-dedalus-box": {"field": "it"}}), &json!({"it": [1]})),
            json!([1])
        );
        assert_eq!(value(&other, &json!({"result": null})), json!(null));
    }

    #[test]
    fn result_that_is_not_wrapped_stays_unchanged() {
        let plain = json!({"type": "object"});
        assert_eq!(value(&plain, &json!({"result": 7})), json!({"result": 7}));
        let ours = json!({"x-dedalus-box": {"field": "result"}});
        assert_eq!(value(&ours, &json!({"result": 7, "more": 1})), json!({"result": 7, "more": 1}));
        assert_eq!(value(&ours, &json!([1])), json!([1]));
        assert_eq!(
            value(&json!({"x-fastmcp-wrap-result": false}), &json!({"result": 7})),
            json!({"result": 7})
        );
    }
}
