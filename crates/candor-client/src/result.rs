//! What came of a call.

use std::sync::Arc;
use std::time::Duration;

use candor_protocol::json::{Decode as _, Json, Object};
use candor_protocol::names::{extension, failure};
use candor_protocol::types::{CallToolResult, Content};
use candor_schema::BOX_KEYWORD;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Another vendor's mark for a boxed value, which stands under `result`.
const OTHER_BOX_KEYWORD: &str = "x-fastmcp-wrap-result";

/// The result of a call. A tool that failed has one, too.
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
    /// The member under which the value stands, if it was put in a box.
    boxed: Option<String>,
    /// What a replay mark must fit to count.
    pub(crate) replay: Replayable,
    /// The server's marks count.
    pub(crate) is_trusted: bool,
    /// The server promised to ask for approval before it runs the call.
    expected_approval: bool,
}

/// Whether a result can be that of an earlier attempt, for all that this client knows by itself.
#[derive(Debug, Clone, Default)]
pub(crate) enum Replayable {
    /// No key, or no server that is trusted with keys.
    #[default]
    No,
    /// No earlier attempt can have had the key.
    First,
    /// An earlier attempt can have had the key; `None` if the server makes it of the arguments.
    Key(Option<String>),
}

/// What a failed call says to programs, if the server is one that does.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Failure {
    /// A stable word for what is wrong.
    pub code: String,
    /// Whether the same call may go well later; `None`: nobody says.
    pub retriable: Option<bool>,
    /// When to try again.
    pub retry_after: Option<Duration>,
    /// The server itself refused, before the tool ran.
    pub by_server: bool,
    /// The name by which the server's log knows it.
    pub trace_id: Option<String>,
    /// What to call instead, and with which arguments.
    pub instead: Option<(String, Value)>,
    /// All of it.
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
            // A box with more than its value in it is none.
            let members = structured.as_deref().and_then(Value::as_object);
            members.is_some_and(|members| members.len() == 1 && members.contains_key(field))
        });
        let (replay, is_trusted, expected_approval) = (Replayable::No, false, false);
        Ok(Self { raw, structured, boxed, replay, is_trusted, expected_approval })
    }

    /// Whether the tool says that it failed.
    #[must_use]
    pub fn is_error(&self) -> bool {
        self.raw.is_error == Some(true)
    }

    /// What it says, block by block.
    #[must_use]
    pub fn content(&self) -> &[Content] {
        &self.raw.content
    }

    /// All its text.
    #[must_use]
    pub fn text(&self) -> String {
        let texts: Vec<&str> = self.raw.content.iter().filter_map(Content::as_text).collect();
        texts.join("\n")
    }

    /// The value that the tool returned, out of its box if it was in one.
    #[must_use]
    pub fn value(&self) -> Option<&Value> {
        let structured = self.structured.as_deref()?;
        match &self.boxed {
            Some(field) => structured.get(field),
            None => Some(structured),
        }
    }

    /// The same as a type.
    pub fn parse<T: DeserializeOwned>(&self) -> serde_json::Result<T> {
        serde_json::from_value(self.value().cloned().unwrap_or(Value::Null))
    }

    /// What it says to programs if it failed.
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

    /// The call was started once, and nobody knows what came of it: it must not be started again blindly.
    #[must_use]
    pub fn is_unknown(&self) -> bool {
        self.failure().is_some_and(|failure| failure.code == failure::OUTCOME_UNKNOWN)
    }

    /// Returns true if it is the result of an earlier attempt with the same key. See [`replayed`](Self::replayed).
    #[must_use]
    pub fn is_replayed(&self) -> bool {
        self.replayed() == Some(true)
    }

    /// Returns whether the server replayed an earlier result; `None` if that is unknown, because the server is untrusted, the call
    /// had no key, or the server's mark cannot be true: it names another key, or a new key that was sent once.
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

    /// Returns true if the call started with an approval, as a trusted server says. Like
    /// [`Elicitation::is_approval`](crate::Elicitation::is_approval), it is false for every result of an untrusted one.
    #[must_use]
    pub fn is_approved(&self) -> bool {
        let told = self.meta(extension::APPROVAL).filter(|_| self.is_trusted);
        told.is_some_and(|told| told.get("approved").and_then(Value::as_bool) == Some(true))
    }

    /// Returns true if the server broke its promise: it announced that it asks for approval of this call, was left to ask, and ran
    /// the call without. Do not leave the question to it again.
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

    /// The token of a preview, to be sent with the call that it is about.
    #[must_use]
    pub fn plan_token(&self) -> Option<String> {
        self.meta(extension::PLAN)?.get("token")?.as_str().map(str::to_owned)
    }

    /// The result as it came, with everything in it.
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

/// The text that a server has left out because structured content says the same, and we have said that we read that.
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

/// The member that a schema says the value stands under.
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
    fn boxes_are_opened_by_their_marks() {
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
    fn what_is_no_box_stays_closed() {
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
