//! The host's part: answers to the server's questions, and listeners for its notifications.

use std::collections::HashMap;
use std::fmt;
use std::future::Future;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Weak};

use candor_protocol::json::{Object, RawValue, raw};
use candor_protocol::names::{extension, method, notification};
use candor_protocol::rpc::{
    ErrorObject, Notification, Request, RequestId, write_error, write_result,
};
use candor_protocol::types::{
    CancelledParams, ClientCapabilities, CreateMessageParams, CreateMessageResult, ElicitAction,
    ElicitForm, ElicitResult, ElicitUrl, ElicitationCapability, InputRequest, ListRootsResult,
    ProgressParams, Root, SamplingCapability,
};
use candor_schema::Invalid;
use futures_util::future::BoxFuture;
use serde_json::{Map, Value};
use tokio::task::AbortHandle;

use crate::cache::Cache;
use crate::compile::compile;
use crate::listen::Listener;
use crate::members::{DecodeObject as _, locked, object_of};
use crate::unsent::{RunningRequest, RunningRequests};

/// The progress of a call.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Progress {
    /// The amount that is done.
    pub done: f64,
    /// The total amount, if known.
    pub total: Option<f64>,
    /// What the server is doing.
    pub message: Option<String>,
    approval: Option<ApprovalMark>,
}

impl Progress {
    /// Returns true if the server reports that the call waits for its operator's approval. From an untrusted server, this is only a
    /// claim.
    #[must_use]
    pub fn waits_for_approval(&self) -> bool {
        self.approval.is_some()
    }

    /// Returns the operation that waits, for `candor approvals` or the server's console. Values that do not have the form of an id
    /// are ignored.
    #[must_use]
    pub fn operation(&self) -> Option<&str> {
        self.approval.as_ref()?.operation.as_deref()
    }
}

/// A call that the server holds until its operator decides.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ApprovalWait {
    /// The tool.
    pub tool: String,
    /// The operation, as the server's operator sees it.
    pub operation: Option<String>,
}

/// The mark that a server adds to a question or to progress about an approval.
#[derive(Debug, Clone)]
struct ApprovalMark {
    operation: Option<String>,
}

impl ApprovalMark {
    fn read(meta: Option<&Object>) -> Option<Self> {
        let mark = meta?.read::<Object>(extension::APPROVAL).ok().flatten()?;
        let operation = mark.read::<String>("operation").ok().flatten();
        let is_id =
            |id: &String| id.len() == 12 && id.bytes().all(|digit| digit.is_ascii_hexdigit());
        Some(Self { operation: operation.filter(is_id) })
    }
}

/// A question to the user of the client: a form to fill in, or a page to visit.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Elicitation {
    /// The text of the question.
    pub message: String,
    /// The schema of the form: an object of plain values.
    pub schema: Value,
    /// The page to visit, if there is one instead of a form.
    pub url: Option<String>,
    approval: Option<ApprovalMark>,
}

impl Elicitation {
    /// Returns true if the server asks for approval of a call, which has not started. Such a form has one field, `decision`, with
    /// the values `approve` and `deny`. Only a trusted server's mark counts, so this is false for every question of an untrusted
    /// one.
    #[must_use]
    pub fn is_approval(&self) -> bool {
        self.approval.is_some()
    }

    /// Returns the operation that needs approval, as the server's operator sees it.
    #[must_use]
    pub fn operation(&self) -> Option<&str> {
        self.approval.as_ref()?.operation.as_deref()
    }

    /// Checks an answer against the form. A host can then ask its user again.
    ///
    /// The client checks each answer, too, and never sends an invalid one. Instead, the call fails with
    /// [`Error::InvalidAnswer`](crate::Error::InvalidAnswer), in both eras, whatever other calls run and whatever error the server
    /// returns. Only a call that succeeds without the answer returns its result.
    pub async fn check(&self, answer: &Map<String, Value>) -> Result<(), Invalid> {
        let mut answer = answer.clone();
        fill_in_defaults(&mut answer, &self.schema);
        fits(&answer, &self.schema).await
    }
}

/// The user's answer.
#[derive(Debug, Clone, PartialEq)]
pub enum ElicitReply {
    /// The form, filled in. A missing field gets its default, if it has one.
    Accept(Map<String, Value>),
    /// The user declined.
    Decline,
    /// The user closed the form without an answer.
    Cancel,
}

type ElicitFn = Box<dyn Fn(Elicitation) -> BoxFuture<'static, ElicitReply> + Send + Sync>;
type SampleFn = Box<
    dyn Fn(CreateMessageParams) -> BoxFuture<'static, Result<CreateMessageResult, String>>
        + Send
        + Sync,
>;
type QuestionFn = Box<
    dyn Fn(InputRequest) -> BoxFuture<'static, Result<Box<RawValue>, ErrorObject>> + Send + Sync,
>;
type WaitFn = Box<dyn Fn(ApprovalWait) + Send + Sync>;
type HearFn = Box<dyn Fn(&str, &Object) + Send + Sync>;
pub(crate) type ProgressFn = Arc<dyn Fn(Progress) + Send + Sync>;

/// The maximum number of a server's questions that are answered at once. `QUESTION_BYTES` limits their memory.
const QUESTIONS: usize = 64;
const QUESTION_BYTES: usize = 64 * 1024 * 1024;

/// The extensions that the client declares.
const EXTENSIONS: [&str; 7] = [
    extension::TOOL_RESOLUTION,
    extension::DYNAMIC_ANNOTATIONS,
    extension::IDEMPOTENCY,
    extension::RESOURCE,
    extension::APPROVAL,
    extension::SKILLS,
    extension::STRUCTURED_CONTENT,
];

/// A question that is being answered.
struct Answering {
    task: AbortHandle,
    cost: usize,
}

/// Why a question has no answer.
pub(crate) enum ElicitFailure {
    /// The error that the server receives.
    Told(ErrorObject),
    /// The host's answer is invalid for the form.
    Invalid(Invalid),
}

impl From<ErrorObject> for ElicitFailure {
    fn from(error: ErrorObject) -> Self {
        Self::Told(error)
    }
}

/// The host's side of all sessions of a client.
#[derive(Default)]
pub(crate) struct Host {
    pub(crate) elicit: Option<ElicitFn>,
    pub(crate) visits_urls: bool,
    /// Answers all questions, instead of the functions for single kinds.
    pub(crate) question: Option<QuestionFn>,
    pub(crate) sample: Option<SampleFn>,
    pub(crate) roots: Option<Vec<Root>>,
    pub(crate) hear: Option<HearFn>,
    pub(crate) wait: Option<WaitFn>,
    /// The server is trusted, so its marks count.
    pub(crate) trusted: bool,
    requests: RunningRequests,
    progress: Mutex<HashMap<RequestId, ProgressFn>>,
    listeners: Mutex<Vec<Weak<Listener>>>,
    answering: Mutex<HashMap<RequestId, Answering>>,
    /// The number of questions that are being refused.
    refusing: AtomicUsize,
    /// How often the list of tools changed or may have changed.
    tools_changed: AtomicU64,
    /// The cache, and this server's name in it.
    pub(crate) kept: Option<(Cache, Arc<str>)>,
}

impl fmt::Debug for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Host").finish_non_exhaustive()
    }
}

impl Host {
    /// Returns the capabilities that the client declares to servers.
    pub(crate) fn capabilities(&self) -> ClientCapabilities {
        let mut can = ClientCapabilities::new();
        let all = self.question.is_some();
        can.elicitation = (all || self.elicit.is_some()).then(|| {
            let mut elicitation = ElicitationCapability::new();
            elicitation.form = Some(Object::new());
            elicitation.url = (all || self.visits_urls).then(Object::new);
            elicitation
        });
        can.sampling = (all || self.sample.is_some()).then(SamplingCapability::new);
        can.roots = (all || self.roots.is_some()).then(Object::new);
        let extensions = EXTENSIONS.map(|id| (id.to_owned(), Object::new()));
        can.extensions = Some(extensions.into_iter().collect());
        can
    }

    /// Returns true if a server may ask this client anything.
    pub(crate) fn is_asked(&self) -> bool {
        self.question.is_some()
            || self.elicit.is_some()
            || self.sample.is_some()
            || self.roots.is_some()
    }

    /// Reports the progress of a request until the returned guard is dropped.
    pub(crate) fn follow(self: &Arc<Self>, id: &RequestId, progress: ProgressFn) -> ProgressGuard {
        locked(&self.progress).insert(id.clone(), progress);
        ProgressGuard { host: self.clone(), id: id.clone() }
    }

    pub(crate) fn add(&self, listener: &Arc<Listener>) {
        let mut listeners = locked(&self.listeners);
        listeners.retain(|listener| listener.strong_count() > 0);
        listeners.push(Arc::downgrade(listener));
    }

    pub(crate) fn tools_epoch(&self) -> u64 {
        self.tools_changed.load(Ordering::Acquire)
    }

    /// Notes that the client may have missed notifications.
    pub(crate) fn missed(&self) {
        self.tools_changed.fetch_add(1, Ordering::AcqRel);
    }

    /// Removes cached answers that are no longer valid.
    fn forget(&self, which: &[&str]) {
        if let Some((cache, server)) = &self.kept {
            cache.forget(server, |method| which.contains(&method));
        }
    }

    /// Passes a notification to every listener, and returns after all have received it. Callers pass notifications in order.
    pub(crate) fn heard(&self, news: &Notification) {
        match news.method.as_str() {
            notification::PROGRESS => self.progressed(&news.params),
            notification::CANCELLED => self.taken_back(&news.params),
            notification::TOOLS_CHANGED => {
                self.tools_changed.fetch_add(1, Ordering::AcqRel);
                self.forget(&[method::TOOLS_LIST]);
            }
            notification::PROMPTS_CHANGED => self.forget(&[method::PROMPTS_LIST]),
            notification::RESOURCES_CHANGED => self.forget(&[
                method::RESOURCES_LIST,
                method::RESOURCES_TEMPLATES_LIST,
                method::DIRECTORY_READ,
            ]),
            notification::RESOURCE_UPDATED => self.forget(&[method::RESOURCES_READ]),
            _ => {}
        }
        for listener in locked(&self.listeners).iter().filter_map(Weak::upgrade) {
            listener.heard(news);
        }
        if let Some(hear) = &self.hear {
            hear(&news.method, &news.params);
        }
    }

    fn progressed(&self, params: &Object) {
        let Ok(params) = ProgressParams::decode_object(params) else { return };
        let follower = locked(&self.progress).get(&params.progress_token).cloned();
        if let Some(follower) = follower {
            follower(Progress {
                done: params.progress.as_f64(),
                total: params.total.map(|total| total.as_f64()),
                message: params.message,
                approval: ApprovalMark::read(params.meta.as_ref()),
            });
        }
    }

    fn taken_back(&self, params: &Object) {
        let id = CancelledParams::decode_object(params).ok().and_then(|params| params.request_id);
        if let Some(answering) = id.and_then(|id| locked(&self.answering).remove(&id)) {
            answering.task.abort();
        }
    }

    /// Answers a request of the server in its own task, because a user may take time. `cost`: the memory of the request, in bytes.
    /// `about`: the request on whose stream it came.
    pub(crate) fn serve<F>(
        self: &Arc<Self>,
        request: Request,
        about: Option<&RequestId>,
        cost: usize,
        send: impl FnOnce(Vec<u8>) -> F + Send + 'static,
    ) where
        F: Future<Output = ()> + Send,
    {
        let id = request.id.clone();
        let host = self.clone();
        let mut answering = locked(&self.answering);
        let bytes = answering.values().map(|answering| answering.cost).sum::<usize>() + cost;
        let full = answering.len() >= QUESTIONS || bytes > QUESTION_BYTES;
        if answering.contains_key(&id) || full {
            drop(answering);
            self.refuse(id, send);
            return;
        }
        let about = about.cloned();
        let task = tokio::spawn(async move {
            let mut params = request.params;
            // A modern server's question has `_meta` among its parameters, so give a legacy one the same form.
            if !request.meta.is_empty() {
                params.set("_meta", raw(&request.meta));
            }
            let message = match host.answer(&request.method, params).await {
                Ok(result) => {
                    if request.method == method::ELICIT {
                        host.requests.note_answer(about.as_ref());
                    }
                    write_result(&request.id, &result)
                }
                Err(ElicitFailure::Told(error)) => write_error(Some(&request.id), &error),
                Err(ElicitFailure::Invalid(invalid)) => {
                    let told = host.requests.note_invalid(about.as_ref(), &request.id, invalid);
                    write_error(Some(&request.id), &ErrorObject::internal(told))
                }
            };
            send(message).await;
            // Only after the answer is sent: a server that does not read its answers must not ask without limit.
            locked(&host.answering).remove(&request.id);
        });
        answering.insert(id, Answering { task: task.abort_handle(), cost });
    }

    /// Notes that a request runs, until the returned guard is dropped.
    pub(crate) fn running(&self) -> RunningRequest<'_> {
        self.requests.add()
    }

    /// Reports to the server that the client is busy. If too many refusals are pending, sends nothing.
    fn refuse<F>(self: &Arc<Self>, id: RequestId, send: impl FnOnce(Vec<u8>) -> F + Send + 'static)
    where
        F: Future<Output = ()> + Send,
    {
        if self.refusing.fetch_add(1, Ordering::AcqRel) >= QUESTIONS {
            self.refusing.fetch_sub(1, Ordering::AcqRel);
            tracing::warn!(%id, "the server asks more than can be answered");
            return;
        }
        let host = self.clone();
        tokio::spawn(async move {
            send(write_error(Some(&id), &ErrorObject::busy())).await;
            host.refusing.fetch_sub(1, Ordering::AcqRel);
        });
    }

    /// Answers a question of either era.
    pub(crate) async fn answer(
        &self,
        question: &str,
        params: Object,
    ) -> Result<Box<RawValue>, ElicitFailure> {
        let invalid = |problem: &dyn fmt::Display| {
            ElicitFailure::Told(ErrorObject::invalid_params(format!("Invalid params: {problem}")))
        };
        let unknown = || Err(ErrorObject::method_not_found(question).into());
        if let Some(answer) = self.question.as_ref().filter(|_| question != method::PING) {
            let mut asked = InputRequest::new(question);
            asked.params = Some(raw(&params));
            return Ok(answer(asked).await?);
        }
        match question {
            method::PING => Ok(raw(&Object::new())),
            method::ELICIT => {
                let Some(elicit) = &self.elicit else { return unknown() };
                let mut asked = elicitation(&params).map_err(|problem| invalid(&problem))?;
                asked.approval.take_if(|_| !self.trusted);
                if asked.url.is_some() && !self.visits_urls {
                    return Err(invalid(&"this client cannot visit pages"));
                }
                let schema = asked.schema.clone();
                let mut answer = ElicitResult::new(ElicitAction::Cancel);
                match elicit(asked).await {
                    ElicitReply::Cancel => {}
                    ElicitReply::Decline => answer.action = ElicitAction::Decline,
                    ElicitReply::Accept(mut form) => {
                        fill_in_defaults(&mut form, &schema);
                        fits(&form, &schema).await.map_err(ElicitFailure::Invalid)?;
                        answer.action = ElicitAction::Accept;
                        answer.content = Some(object_of(&form));
                    }
                }
                Ok(raw(&answer))
            }
            method::SAMPLE => {
                let Some(sample) = &self.sample else { return unknown() };
                let asked = CreateMessageParams::decode_object(&params).map_err(|e| invalid(&e))?;
                let answer = sample(asked).await.map_err(ErrorObject::internal)?;
                Ok(raw(&answer))
            }
            method::ROOTS_LIST => match &self.roots {
                Some(roots) => Ok(raw(&ListRootsResult::new(roots.clone()))),
                None => unknown(),
            },
            _ => unknown(),
        }
    }
}

/// A guard that reports a request's progress until it is dropped.
pub(crate) struct ProgressGuard {
    host: Arc<Host>,
    id: RequestId,
}

impl Drop for ProgressGuard {
    fn drop(&mut self) {
        locked(&self.host.progress).remove(&self.id);
    }
}

fn elicitation(params: &Object) -> Result<Elicitation, String> {
    let mode = params.read_str("mode").map_err(|e| e.to_string())?;
    if mode.as_deref() == Some("url") {
        let asked = ElicitUrl::decode_object(params).map_err(|e| e.to_string())?;
        return Ok(Elicitation {
            message: asked.message,
            schema: Value::Null,
            url: Some(asked.url),
            approval: None,
        });
    }
    let asked = ElicitForm::decode_object(params).map_err(|e| e.to_string())?;
    let schema = serde_json::from_str(asked.requested_schema.get()).map_err(|e| e.to_string())?;
    let approval = ApprovalMark::read(asked.meta.as_ref());
    Ok(Elicitation { message: asked.message, schema, url: None, approval })
}

/// Fills in the defaults of the fields that the user left out.
fn fill_in_defaults(form: &mut Map<String, Value>, schema: &Value) {
    let properties = schema.get("properties").and_then(Value::as_object);
    for (name, property) in properties.into_iter().flatten() {
        if let (false, Some(default)) = (form.contains_key(name), property.get("default")) {
            form.insert(name.clone(), default.clone());
        }
    }
}

async fn fits(form: &Map<String, Value>, schema: &Value) -> Result<(), Invalid> {
    // A schema that does not compile restricts nothing.
    let Ok(schema) = compile(schema).await else { return Ok(()) };
    schema.check(&Value::Object(form.clone()))
}
