//! What the host brings: answers to the server's questions, and ears for its news.

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
    ElicitForm, ElicitResult, ElicitUrl, ElicitationCapability, ListRootsResult, ProgressParams,
    Root, SamplingCapability,
};
use futures_util::future::BoxFuture;
use serde_json::{Map, Value};
use tokio::task::AbortHandle;

use crate::cache::Cache;
use crate::compile::compile;
use crate::listen::Listener;
use crate::members::{DecodeObject as _, locked, object_of};

/// How far a call has come.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Progress {
    /// How much is done.
    pub done: f64,
    /// Of how much, if that is known.
    pub total: Option<f64>,
    /// What is being done.
    pub message: Option<String>,
}

/// A question to the person behind the client: a form to fill in.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Elicitation {
    /// What the server wants to know.
    pub message: String,
    /// The form: an object of plain values.
    pub schema: Value,
    /// The page to visit, if it is that and no form.
    pub url: Option<String>,
}

/// What the person answered.
#[derive(Debug, Clone, PartialEq)]
pub enum Elicited {
    /// The form, filled in. What is left out and has a default gets it.
    Accept(Map<String, Value>),
    /// They do not want to.
    Decline,
    /// They went away.
    Cancel,
}

type ElicitFn = Box<dyn Fn(Elicitation) -> BoxFuture<'static, Elicited> + Send + Sync>;
type SampleFn = Box<
    dyn Fn(CreateMessageParams) -> BoxFuture<'static, Result<CreateMessageResult, String>>
        + Send
        + Sync,
>;
type HearFn = Box<dyn Fn(&str, &Object) + Send + Sync>;
pub(crate) type ProgressFn = Arc<dyn Fn(Progress) + Send + Sync>;

/// How many questions of a server are answered at a time, and how much memory they take.
const QUESTIONS: usize = 64;
const QUESTION_BYTES: usize = 64 * 1024 * 1024;

/// What the client declares that it knows.
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

/// The host's side of all sessions of a client.
#[derive(Default)]
pub(crate) struct Host {
    pub(crate) elicit: Option<ElicitFn>,
    pub(crate) visits_urls: bool,
    pub(crate) sample: Option<SampleFn>,
    pub(crate) roots: Option<Vec<Root>>,
    pub(crate) hear: Option<HearFn>,
    progress: Mutex<HashMap<RequestId, ProgressFn>>,
    listeners: Mutex<Vec<Weak<Listener>>>,
    answering: Mutex<HashMap<RequestId, Answering>>,
    /// How many questions are being refused.
    refusing: AtomicUsize,
    /// How often the list of tools was said to have changed.
    tools_changed: AtomicU64,
    /// Answers that are kept, and the server that they are from.
    pub(crate) kept: Option<(Cache, Arc<str>)>,
}

impl fmt::Debug for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Host").finish_non_exhaustive()
    }
}

impl Host {
    /// What the client can do, as servers are told.
    pub(crate) fn capabilities(&self) -> ClientCapabilities {
        let mut can = ClientCapabilities::new();
        can.elicitation = self.elicit.is_some().then(|| {
            let mut elicitation = ElicitationCapability::new();
            elicitation.form = Some(Object::new());
            elicitation.url = self.visits_urls.then(Object::new);
            elicitation
        });
        can.sampling = self.sample.is_some().then(SamplingCapability::new);
        can.roots = self.roots.is_some().then(Object::new);
        let extensions = EXTENSIONS.map(|id| (id.to_owned(), Object::new()));
        can.extensions = Some(extensions.into_iter().collect());
        can
    }

    /// Whether there is anything that a server may ask of it.
    pub(crate) fn is_asked(&self) -> bool {
        self.elicit.is_some() || self.sample.is_some() || self.roots.is_some()
    }

    /// Hears of the progress of a request until what is returned is dropped.
    pub(crate) fn follow(self: &Arc<Self>, id: &RequestId, progress: ProgressFn) -> Following {
        locked(&self.progress).insert(id.clone(), progress);
        Following { host: self.clone(), id: id.clone() }
    }

    pub(crate) fn add(&self, listener: &Arc<Listener>) {
        let mut listeners = locked(&self.listeners);
        listeners.retain(|listener| listener.strong_count() > 0);
        listeners.push(Arc::downgrade(listener));
    }

    pub(crate) fn tools_epoch(&self) -> u64 {
        self.tools_changed.load(Ordering::Acquire)
    }

    /// News may have been missed.
    pub(crate) fn missed(&self) {
        self.tools_changed.fetch_add(1, Ordering::AcqRel);
    }

    /// What is kept and is no longer so.
    fn forget(&self, which: &[&str]) {
        if let Some((cache, server)) = &self.kept {
            cache.forget(server, |method| which.contains(&method));
        }
    }

    /// News from the server, in the order in which they came; returns when everybody has heard them.
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
            });
        }
    }

    fn taken_back(&self, params: &Object) {
        let id = CancelledParams::decode_object(params).ok().and_then(|params| params.request_id);
        if let Some(answering) = id.and_then(|id| locked(&self.answering).remove(&id)) {
            answering.task.abort();
        }
    }

    /// Answers a request of the server in a task of its own, because a person may take their time. `cost`: the memory that it takes.
    pub(crate) fn serve<F>(
        self: &Arc<Self>,
        request: Request,
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
        let task = tokio::spawn(async move {
            let message = match host.answer(&request.method, request.params).await {
                Ok(result) => write_result(&request.id, &result),
                Err(error) => write_error(Some(&request.id), &error),
            };
            send(message).await;
            // Not before it is sent: who does not read its answers may not ask for more and more of them.
            locked(&host.answering).remove(&request.id);
        });
        answering.insert(id, Answering { task: task.abort_handle(), cost });
    }

    /// Says that it is too much at a time; to whoever goes on even then, nothing.
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

    /// What the host says to a question, in whichever form it came.
    pub(crate) async fn answer(
        &self,
        question: &str,
        params: Object,
    ) -> Result<Box<RawValue>, ErrorObject> {
        let invalid = |problem: &dyn fmt::Display| {
            ErrorObject::invalid_params(format!("Invalid params: {problem}"))
        };
        match question {
            method::PING => Ok(raw(&Object::new())),
            method::ELICIT => {
                let Some(elicit) = &self.elicit else {
                    return Err(ErrorObject::method_not_found(question));
                };
                let asked = elicitation(&params).map_err(|problem| invalid(&problem))?;
                if asked.url.is_some() && !self.visits_urls {
                    return Err(invalid(&"this client cannot visit pages"));
                }
                let schema = asked.schema.clone();
                let mut answer = ElicitResult::new(ElicitAction::Cancel);
                match elicit(asked).await {
                    Elicited::Cancel => {}
                    Elicited::Decline => answer.action = ElicitAction::Decline,
                    Elicited::Accept(mut form) => {
                        fill_in_defaults(&mut form, &schema);
                        fits(&form, &schema).await?;
                        answer.action = ElicitAction::Accept;
                        answer.content = Some(object_of(&form));
                    }
                }
                Ok(raw(&answer))
            }
            method::SAMPLE => {
                let Some(sample) = &self.sample else {
                    return Err(ErrorObject::method_not_found(question));
                };
                let asked = CreateMessageParams::decode_object(&params).map_err(|e| invalid(&e))?;
                sample(asked).await.map(|answer| raw(&answer)).map_err(ErrorObject::internal)
            }
            method::ROOTS_LIST => match &self.roots {
                Some(roots) => Ok(raw(&ListRootsResult::new(roots.clone()))),
                None => Err(ErrorObject::method_not_found(question)),
            },
            _ => Err(ErrorObject::method_not_found(question)),
        }
    }
}

/// Hears of a request's progress while it is there.
pub(crate) struct Following {
    host: Arc<Host>,
    id: RequestId,
}

impl Drop for Following {
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
        });
    }
    let asked = ElicitForm::decode_object(params).map_err(|e| e.to_string())?;
    let schema = serde_json::from_str(asked.requested_schema.get()).map_err(|e| e.to_string())?;
    Ok(Elicitation { message: asked.message, schema, url: None })
}

/// What a person leaves out is what the form says it is.
fn fill_in_defaults(form: &mut Map<String, Value>, schema: &Value) {
    let properties = schema.get("properties").and_then(Value::as_object);
    for (name, property) in properties.into_iter().flatten() {
        if let (false, Some(default)) = (form.contains_key(name), property.get("default")) {
            form.insert(name.clone(), default.clone());
        }
    }
}

async fn fits(form: &Map<String, Value>, schema: &Value) -> Result<(), ErrorObject> {
    // A schema that cannot be read binds nobody.
    let Ok(schema) = compile(schema).await else { return Ok(()) };
    schema.check(&Value::Object(form.clone())).map_err(|invalid| {
        ErrorObject::internal(format!("The answer does not fit the form: {invalid}"))
    })
}
