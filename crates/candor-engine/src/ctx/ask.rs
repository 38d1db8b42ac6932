//! Questions that a handler can ask its client: for the user, for the model, or for the folders.
//!
//! The API is the same on every channel. On an immediate one, the handler waits for the answer. Otherwise the question is the outcome
//! of the client's request, and the client sends the request again with the answers.
//!
//! **Then each round runs the handler again from its beginning**, with the earlier answers available. So the code before the last
//! question must have no effect, and must ask the same questions if it gets the same answers.

use candor_protocol::json::{Decode, Object, RawValue, raw};
use candor_protocol::names::method;
use candor_protocol::types::{
    Content, CreateMessageParams, CreateMessageResult, ElicitAction, ElicitForm, ElicitResult,
    ElicitUrl, InputRequest, ListRootsResult, Role, Root, SamplingContent, SamplingMessage,
};
use candor_schema::Schema;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::Ctx;
use crate::caller::ClientInfo;
use crate::error::AskError;
use crate::peer::QuestionChannel;

/// A question to the user of the client, for [`Ctx::elicit`].
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// use candor_server::{Elicit, ElicitAnswer, Server, tool::{JsonTool, ToolError}};
/// use serde_json::json;
///
/// let order = JsonTool::open("order", |_, ctx| async move {
///     let form = json!({"type": "object", "properties": {"size": {"type": "string", "enum": ["S", "L"]}}, "required": ["size"]});
///     // In the modern era the handler starts again from here with the answer: the code before this must have no effect.
///     match ctx.elicit(Elicit::form("Which size?", &form)).await? {
///         ElicitAnswer::Accepted(answer) => Ok(format!("ordered in {}", answer["size"])),
///         _ => Err(ToolError::new("Nothing was ordered")),
///     }
/// });
/// let client = Server::new("shop", "1.0.0").tool(order).test();
/// let client = client.on_elicit(|_| json!({"size": "L"}));
/// assert_eq!(client.call("order", json!({})).await.text(), r#"ordered in "L""#);
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Elicit {
    key: Option<String>,
    kind: ElicitKind,
}

#[derive(Debug, Clone)]
enum ElicitKind {
    Form(ElicitForm),
    Url(ElicitUrl),
}

impl Elicit {
    /// Returns a question with a form. The schema is an object of strings, numbers, booleans and choices.
    pub fn form(message: impl Into<String>, schema: &Value) -> Self {
        Self { key: None, kind: ElicitKind::Form(ElicitForm::new(message, raw(schema))) }
    }

    /// Returns a question with a page for the user to visit.
    pub fn url(message: impl Into<String>, url: impl Into<String>) -> Self {
        Self { key: None, kind: ElicitKind::Url(ElicitUrl::new("url", message, url)) }
    }

    /// Sets the name of the question on the wire. Without one, the question is numbered.
    #[must_use]
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.key = Some(key.into());
        self
    }
}

/// What the user did with a question.
#[derive(Debug, Clone)]
pub enum ElicitAnswer {
    /// The user answered. The answer to a form matches the form's schema.
    Accepted(Value),
    /// The user said no.
    Declined,
    /// The user left without an answer.
    Cancelled,
}

impl ElicitAnswer {
    /// Returns the answer, if there is one.
    #[must_use]
    pub fn accepted(&self) -> Option<&Value> {
        match self {
            Self::Accepted(content) => Some(content),
            _ => None,
        }
    }

    /// Parses the answer as your own type. Returns `None` if the user gave none.
    pub fn parse<T: DeserializeOwned>(&self) -> serde_json::Result<Option<T>> {
        self.accepted().map(T::deserialize).transpose()
    }

    /// Returns `accept`, `decline` or `cancel`.
    #[must_use]
    pub fn action(&self) -> &'static str {
        match self {
            Self::Accepted(_) => "accept",
            Self::Declined => "decline",
            Self::Cancelled => "cancel",
        }
    }
}

/// An answer with these values.
impl From<Value> for ElicitAnswer {
    fn from(content: Value) -> Self {
        Self::Accepted(content)
    }
}

/// A question to the model of the client, for [`Ctx::sample`].
///
/// ```
/// use candor_server::{Ctx, Sample, tool::ToolError};
///
/// async fn shorter(text: &str, ctx: &Ctx) -> Result<String, ToolError> {
///     let said = ctx.sample(Sample::new(format!("In one sentence: {text}"), 100)).await?;
///     Ok(format!("{} says: {:?}", said.model, said.content))
/// }
/// ```
#[derive(Debug, Clone)]
pub struct Sample {
    key: Option<String>,
    params: CreateMessageParams,
}

impl Sample {
    /// Returns a question with a single prompt.
    pub fn new(prompt: impl Into<String>, max_tokens: u32) -> Self {
        let turn = SamplingMessage::new(Role::User, SamplingContent::One(Content::text(prompt)));
        Self::from(CreateMessageParams::new(vec![turn], max_tokens))
    }

    /// Sets the name of the question on the wire. Without one, the question is numbered.
    #[must_use]
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.key = Some(key.into());
        self
    }
}

impl From<CreateMessageParams> for Sample {
    fn from(params: CreateMessageParams) -> Self {
        Self { key: None, params }
    }
}

/// A question as it is sent.
pub(crate) struct Question {
    pub(crate) key: Option<String>,
    pub(crate) request: InputRequest,
}

impl Question {
    fn new(key: Option<String>, method: &str, params: Option<Box<RawValue>>) -> Self {
        let mut request = InputRequest::new(method);
        request.params = params;
        Self { key, request }
    }
}

pub(crate) async fn elicit(ctx: &Ctx, ask: Elicit) -> Result<ElicitAnswer, AskError> {
    let (params, schema) = match &ask.kind {
        ElicitKind::Form(form) => {
            need(ctx.client().capabilities.elicits_forms(), &json!({"elicitation": {}}))?;
            (raw(form), Some(form.requested_schema.clone()))
        }
        ElicitKind::Url(url) => {
            need(ctx.client().capabilities.elicits_urls(), &json!({"elicitation": {"url": {}}}))?;
            (raw(url), None)
        }
    };
    let answer: ElicitResult =
        put(ctx, Question::new(ask.key, method::ELICIT, Some(params))).await?;
    match answer.action {
        ElicitAction::Accept => {
            let content = answer.content.unwrap_or_default();
            let content =
                serde_json::to_value(&content).map_err(|e| AskError::Malformed(e.to_string()))?;
            if let Some(schema) = schema {
                check_form(&schema, &content)?;
            }
            Ok(ElicitAnswer::Accepted(content))
        }
        ElicitAction::Decline => Ok(ElicitAnswer::Declined),
        ElicitAction::Cancel => Ok(ElicitAnswer::Cancelled),
        other => Err(AskError::Malformed(format!("unknown action {:?}", other.as_str()))),
    }
}

fn check_form(schema: &RawValue, content: &Value) -> Result<(), AskError> {
    match Schema::compile(schema.get()) {
        Ok(schema) => {
            schema.check(content).map_err(|invalid| AskError::Malformed(invalid.to_string()))
        }
        // The schema is the server's, so this is not the client's fault. The client has shown the form, so the answer is accepted.
        Err(error) => {
            tracing::warn!(%error, "the schema of an elicitation form cannot be compiled; its answer was not checked");
            Ok(())
        }
    }
}

pub(crate) async fn sample(ctx: &Ctx, ask: Sample) -> Result<CreateMessageResult, AskError> {
    let sampling = ctx.client().capabilities.sampling.as_ref();
    need(sampling.is_some(), &json!({"sampling": {}}))?;
    if ask.params.tools.is_some() || ask.params.tool_choice.is_some() {
        need(sampling.is_some_and(|s| s.tools.is_some()), &json!({"sampling": {"tools": {}}}))?;
    }
    put(ctx, Question::new(ask.key, method::SAMPLE, Some(raw(&ask.params)))).await
}

pub(crate) async fn roots(ctx: &Ctx) -> Result<Vec<Root>, AskError> {
    need(ctx.client().capabilities.roots.is_some(), &json!({"roots": {}}))?;
    let key = Some("client_roots".to_owned());
    let result: ListRootsResult =
        put(ctx, Question::new(key, method::ROOTS_LIST, Some(raw(&Object::new())))).await?;
    Ok(result.roots)
}

/// Returns an error if a client did not declare support for a question that another client was asked.
pub(crate) fn answerable(question: &InputRequest, client: &ClientInfo) -> Result<(), AskError> {
    let can = &client.capabilities;
    let member = |name: &str| {
        let params = question.params.as_deref()?;
        Object::decode(params.into()).ok()?.get(name).map(|value| value.text().to_owned())
    };
    match question.method.as_str() {
        method::ELICIT if member("mode").as_deref() == Some(r#""url""#) => {
            need(can.elicits_urls(), &json!({"elicitation": {"url": {}}}))
        }
        method::ELICIT => need(can.elicits_forms(), &json!({"elicitation": {}})),
        method::SAMPLE if member("tools").or_else(|| member("toolChoice")).is_some() => {
            let tools = can.sampling.as_ref().is_some_and(|sampling| sampling.tools.is_some());
            need(tools, &json!({"sampling": {"tools": {}}}))
        }
        method::SAMPLE => need(can.sampling.is_some(), &json!({"sampling": {}})),
        _ => need(can.roots.is_some(), &json!({"roots": {}})),
    }
}

fn need(declared: bool, capability: &Value) -> Result<(), AskError> {
    if declared { Ok(()) } else { Err(AskError::NotSupported(capability.clone())) }
}

/// Asks a question as the client's era requires, and returns the answer.
async fn put<T: Decode>(ctx: &Ctx, question: Question) -> Result<T, AskError> {
    let answer = match ctx.channel() {
        QuestionChannel::NextRequest => ctx.round().answer_to(question, ctx.ended()).await?,
        QuestionChannel::Immediate => ctx.ask_until(&question.request, &ctx.gone()).await?,
    };
    T::decode((&*answer).into()).map_err(|e| AskError::Malformed(e.to_string()))
}
