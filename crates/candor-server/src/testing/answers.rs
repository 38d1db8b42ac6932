//! How a test client answers the server's questions.

use std::sync::{Arc, Mutex, PoisonError};

use candor_protocol::Message;
use candor_protocol::json::{Malformed, Object, RawValue, raw};
use candor_protocol::names::method;
use candor_protocol::types::{
    Content, CreateMessageParams, CreateMessageResult, ElicitForm, ElicitUrl, ListRootsResult,
    Role, Root, SamplingContent,
};
use serde_json::{Value, json};

use candor_engine::ElicitAnswer;

/// A question to the user, as the client got it.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct TestQuestion {
    /// The text that the user reads.
    pub message: String,
    /// The schema of the form, if the question is a form.
    pub schema: Option<Value>,
    /// The page to visit, if the question is a page.
    pub url: Option<String>,
}

impl TestQuestion {
    fn of(params: Object) -> Result<Self, Malformed> {
        if params.read_str("mode")?.as_deref() == Some("url") {
            let ElicitUrl { message, url, .. } = ElicitUrl::from_object(params)?;
            return Ok(Self { message, schema: None, url: Some(url) });
        }
        let form = ElicitForm::from_object(params)?;
        let schema = serde_json::from_str(form.requested_schema.get())
            .map_err(|e| Malformed::here(e.to_string()).within("requestedSchema"))?;
        Ok(Self { message: form.message, schema: Some(schema), url: None })
    }
}

/// The user answers with these values.
/// The model's reply, made from text, from content, or from a whole result.
#[derive(Debug, Clone)]
pub struct ModelReply(CreateMessageResult);

impl From<CreateMessageResult> for ModelReply {
    fn from(result: CreateMessageResult) -> Self {
        Self(result)
    }
}

impl From<Content> for ModelReply {
    fn from(content: Content) -> Self {
        let content = SamplingContent::One(content);
        let mut result =
            CreateMessageResult::new(Role::Assistant, content, "a-model-for-tests".to_owned());
        result.stop_reason = Some("endTurn".to_owned());
        Self(result)
    }
}

impl From<&str> for ModelReply {
    fn from(text: &str) -> Self {
        Content::text(text).into()
    }
}

impl From<String> for ModelReply {
    fn from(text: String) -> Self {
        Content::text(text).into()
    }
}

/// A closure of the test. Clients that were made from each other share it.
type Answering<Q, A> = Arc<Mutex<dyn FnMut(&Q) -> A + Send>>;

/// The client's answers to the server's questions.
#[derive(Clone, Default)]
pub(super) struct Answers {
    person: Option<Answering<TestQuestion, ElicitAnswer>>,
    model: Option<Answering<CreateMessageParams, ModelReply>>,
    roots: Option<Vec<Root>>,
}

impl Answers {
    pub(super) fn by_person<A: Into<ElicitAnswer>>(
        &mut self,
        mut answer: impl FnMut(&TestQuestion) -> A + Send + 'static,
    ) {
        self.person = Some(Arc::new(Mutex::new(move |asked: &TestQuestion| answer(asked).into())));
    }

    pub(super) fn by_model<A: Into<ModelReply>>(
        &mut self,
        mut answer: impl FnMut(&CreateMessageParams) -> A + Send + 'static,
    ) {
        self.model =
            Some(Arc::new(Mutex::new(move |asked: &CreateMessageParams| answer(asked).into())));
    }

    pub(super) fn roots(&mut self, uris: impl IntoIterator<Item = impl Into<String>>) {
        self.roots = Some(uris.into_iter().map(Root::new).collect());
    }

    /// Returns the answer to a question, or why there is none. Then the test or the server is at fault.
    pub(super) fn to(&self, method: &str, params: Object) -> Result<Box<RawValue>, String> {
        let malformed = |e: Malformed| {
            format!("the server asks {method} in a way that no client understands: {e}")
        };
        match method {
            method::ELICIT => {
                let asked = TestQuestion::of(params).map_err(malformed)?;
                let Some(answer) = &self.person else {
                    return Err(nobody(&format!("the user {:?}", asked.message), "on_elicit"));
                };
                Ok(raw(&written(ask(answer, &asked))))
            }
            method::SAMPLE => {
                let asked = CreateMessageParams::from_object(params).map_err(malformed)?;
                let Some(answer) = &self.model else {
                    return Err(nobody("the model", "on_sample"));
                };
                Ok(raw(&ask(answer, &asked).0))
            }
            method::ROOTS_LIST => match &self.roots {
                Some(roots) => Ok(raw(&ListRootsResult::new(roots.clone()))),
                None => Err(nobody("for the client's folders", "roots")),
            },
            _ => Err(format!("the server asks {method:?}, which no client knows")),
        }
    }
}

fn nobody(whom: &str, builder: &str) -> String {
    format!("the server asks {whom}, and the test has no answer: add `.{builder}(…)`")
}

fn ask<Q, A>(answer: &Answering<Q, A>, asked: &Q) -> A {
    let mut answer = answer.lock().unwrap_or_else(PoisonError::into_inner);
    answer(asked)
}

fn written(elicited: ElicitAnswer) -> Value {
    match elicited {
        // The answer to a page has no content.
        ElicitAnswer::Accepted(Value::Null) => json!({"action": "accept"}),
        ElicitAnswer::Accepted(content) => json!({"action": "accept", "content": content}),
        other => json!({"action": other.action()}),
    }
}
