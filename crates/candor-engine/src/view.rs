//! What one request of a caller sees and can do. Every verb starts here.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use candor_hints::{EffectiveHints, Verdict};
use candor_protocol::json::Number;
use candor_protocol::mirror::Mirror;
use candor_protocol::names::method;
use candor_protocol::types::{
    GetPromptResult, ReadResourceResult, Resource, ResourceTemplate, Tool as Definition,
};
use candor_schema::Invalid;
use serde_json::{Value, json};
use tokio::sync::OnceCell;

use crate::call::decision::Decision;
use crate::call::{self, Call};
use crate::caller::Caller;
use crate::capacity::{AtCapacity, Slot};
use crate::completion::CompletionSubject;
use crate::ctx::attempt::{AttemptEnd, RunSubject, attempt_in_time};
use crate::ctx::request::RequestScope;
use crate::ctx::round::{CarriedState, PendingQuestions, RequestBinding, Resume, Round};
use crate::ctx::{Ctx, RequestSlots};
use crate::error::{Refusal, ToolError};
use crate::outcome::Outcome;
use crate::parts::Parts;
use crate::peer::{NoPeer, Peer};
use crate::prompt::{PromptArguments, PromptSet};
use crate::provider::ProviderError;
use crate::resource::{
    Children, Completing, ListStart, Page, ResolvedResource, ResourceFailure, WatchGuard,
};
use crate::tool::{
    Effects, Idempotency, ListingOptions, PAGE_SIZE, SchemaProblem, ToolPage, ToolSet,
};
use crate::trace;

/// What one request of a caller sees and can do. [`Engine::open`](crate::Engine::open) returns it.
///
/// Tool sources and prompt sources are asked when they are needed, and at most once: two verbs of one view see the same tools.
pub struct View {
    parts: Arc<Parts>,
    caller: Arc<Caller>,
    slots: RequestSlots,
    tools: OnceCell<Arc<ToolSet>>,
    prompts: OnceCell<Arc<PromptSet>>,
}

impl fmt::Debug for View {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("View")
            .field("server", &self.parts.name)
            .field("principal", &self.caller.principal)
            .finish_non_exhaustive()
    }
}

/// The answer to a request whose handler may ask questions.
#[derive(Debug)]
pub enum Reply<T> {
    /// The handler is done.
    Done(T),
    /// The handler asks the caller's client.
    Questions(PendingQuestions),
}

/// Why a request about a prompt, a resource or a completion fails.
#[derive(Debug)]
#[non_exhaustive]
pub enum RequestFailure {
    /// The caller has no prompt of this name.
    UnknownPrompt(String),
    /// The prompt requires this argument.
    MissingArgument(String),
    /// The prompt's types reject the arguments.
    InvalidArguments(Invalid),
    /// The caller's prompts could not be determined. The log has the reason.
    PromptsUnavailable,
    /// The resource cannot be answered for.
    Resource(ResourceFailure),
    /// There is no capacity. Nothing was run.
    Busy(AtCapacity),
    /// The request cannot continue an earlier one.
    Refused(Refusal),
    /// The handler failed.
    Failed(ToolError),
    /// The handler panicked. The log has the reason.
    Panicked,
    /// The handler took too long and was stopped.
    TimedOut,
}

impl From<ResourceFailure> for RequestFailure {
    fn from(failure: ResourceFailure) -> Self {
        Self::Resource(failure)
    }
}

/// A tool, with what is known about its calls in advance.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ToolView<'a> {
    /// The definition as it is published.
    pub definition: Cow<'a, Definition>,
    /// The worst case of its effect, and where each hint comes from.
    pub worst: EffectiveHints,
    /// Whether the arguments change the effect.
    pub dynamic: bool,
    /// The effect by argument, one line for each row, if the tool has an effect table.
    pub effects: Vec<String>,
    /// The policy's verdict on the worst case.
    pub verdict: Verdict,
    /// The tool that undoes a call.
    pub undo: Option<&'a str>,
    /// A less harmful tool to prefer.
    pub instead: Option<&'a str>,
    /// The tool that shows what a call would do.
    pub preview: Option<&'a str>,
    /// Whether a call needs the token of a preview.
    pub requires_preview: bool,
    /// How the server recognizes a retry.
    pub idempotency: Idempotency,
    /// The rate limit per caller.
    pub rate: Option<String>,
    /// The unusable schemas of its types. For operators.
    pub schema_problems: &'a [SchemaProblem],
}

impl View {
    pub(crate) fn new(parts: Arc<Parts>, caller: Caller, slots: RequestSlots) -> Self {
        let (tools, prompts) = (OnceCell::new(), OnceCell::new());
        Self { parts, caller: Arc::new(caller), slots, tools, prompts }
    }

    /// Returns the caller.
    #[must_use]
    pub fn caller(&self) -> &Caller {
        &self.caller
    }

    fn request(&self, peer: Arc<dyn Peer>) -> RequestScope {
        RequestScope {
            caller: self.caller.clone(),
            peer,
            slots: self.slots.clone(),
            shared: self.parts.shared.clone(),
        }
    }

    /// Returns the caller's tools; none if the server offers none.
    ///
    /// # Errors
    /// The tool source failed. The log has the reason.
    pub async fn tools(&self) -> Result<&Arc<ToolSet>, Refusal> {
        let Some(source) = &self.parts.tools else {
            return Ok(self.tools.get_or_init(async || Arc::default()).await);
        };
        let tools = self.tools.get_or_try_init(async || source.get(&self.caller.principal).await);
        tools.await.map_err(|error| {
            source_failed(&error, "tools");
            Refusal::ToolsUnavailable
        })
    }

    /// Returns the tools as they are published.
    ///
    /// # Errors
    /// As for [`tools`](Self::tools).
    pub async fn published_tools(
        &self,
        options: ListingOptions,
    ) -> Result<Vec<Cow<'_, Definition>>, Refusal> {
        Ok(self.tools().await?.published(options, &self.parts.listed_verdict()))
    }

    /// Returns a page of the tools as they are published, in JSON that is written once.
    ///
    /// # Errors
    /// As for [`tools`](Self::tools).
    pub async fn tool_page(
        &self,
        start: usize,
        options: ListingOptions,
    ) -> Result<ToolPage, Refusal> {
        Ok(self.tools().await?.page(start, options, &self.parts.listed_verdict()))
    }

    /// Returns the tool, or the part of a tool, with this name.
    ///
    /// # Errors
    /// As for [`tools`](Self::tools); [`Refusal::UnknownTool`].
    pub async fn tool(&self, name: &str) -> Result<ToolView<'_>, Refusal> {
        let options = self.parts.listing;
        let found = self.tools().await?.find(name, options);
        let found = found.ok_or_else(|| Refusal::UnknownTool(name.to_owned()))?;
        let entry = found.entry;
        let definition = found.published(options, &self.parts.listed_verdict());
        let worst = found.worst();
        let safeguards = &entry.safeguards;
        Ok(ToolView {
            dynamic: found.is_dynamic(),
            effects: match &entry.effects {
                Effects::Table(table) if found.is_dynamic() => table.summary(),
                _ => Vec::new(),
            },
            verdict: self.parts.policy.listed(entry, worst.hints),
            undo: safeguards.undo.as_deref(),
            instead: safeguards.instead.as_deref(),
            preview: entry.preview_name.as_deref(),
            requires_preview: safeguards.requires_preview,
            idempotency: entry.idempotency,
            rate: safeguards.rate.map(|rate| rate.to_string()),
            schema_problems: &entry.schema_problems,
            definition,
            worst,
        })
    }

    /// Returns the arguments of a tool that a transport mirrors in headers.
    ///
    /// # Errors
    /// As for [`tool`](Self::tool).
    pub async fn mirrors(&self, tool: &str) -> Result<&[Mirror], Refusal> {
        let found = self.tools().await?.find(tool, self.parts.listing);
        let found = found.ok_or_else(|| Refusal::UnknownTool(tool.to_owned()))?;
        Ok(&found.entry.mirrors)
    }

    /// Returns what the server does with a call now, without running it.
    ///
    /// # Errors
    /// The tool is unknown, or the caller has asked for too many explanations.
    pub async fn decide(&self, call: &Call) -> Result<Decision, Refusal> {
        let (limit, principal) = (self.parts.limits.foresights, &self.caller.principal);
        let admitted = self.parts.rates.admit_question(limit, principal);
        admitted.map_err(|wait| Refusal::TooManyQuestions { wait })?;
        let found = self.tools().await?.find(&call.tool, self.parts.listing);
        let found = found.ok_or_else(|| Refusal::UnknownTool(call.tool.clone()))?;
        let request = self.request(Arc::new(NoPeer::default()));
        Ok(call::explain(&self.parts, &request, &found, call).await)
    }

    /// Runs a call, as far as the decision about it permits. Dropping the future cancels the call, unless it has a record: then it
    /// keeps running.
    pub async fn call(&self, call: Call, peer: Arc<dyn Peer>) -> Outcome {
        let tools = match self.tools().await {
            Ok(tools) => tools,
            Err(refusal) => return Outcome::refused(refusal),
        };
        let Some(found) = tools.find(&call.tool, self.parts.listing) else {
            return Outcome::refused(Refusal::UnknownTool(call.tool));
        };
        let request = self.request(peer);
        call::call(&self.parts, &request, &found, call).await
    }

    /// Returns the caller's prompts; none if the server offers none.
    ///
    /// # Errors
    /// The prompt source failed. The log has the reason.
    pub async fn prompts(&self) -> Result<&Arc<PromptSet>, RequestFailure> {
        let Some(source) = &self.parts.prompts else {
            return Ok(self.prompts.get_or_init(async || Arc::default()).await);
        };
        let prompts =
            self.prompts.get_or_try_init(async || source.get(&self.caller.principal).await);
        prompts.await.map_err(|error| {
            source_failed(&error, "prompts");
            RequestFailure::PromptsUnavailable
        })
    }

    /// Fills a prompt in.
    ///
    /// # Errors
    /// The prompt is unknown, its arguments are invalid, or its handler failed.
    pub async fn prompt(
        &self,
        name: &str,
        arguments: PromptArguments,
        resume: &Resume,
        peer: Arc<dyn Peer>,
    ) -> Result<Reply<GetPromptResult>, RequestFailure> {
        let prompt = self.prompts().await?.find(name);
        let prompt = prompt.ok_or_else(|| RequestFailure::UnknownPrompt(name.to_owned()))?;
        if let Some(missing) = prompt.missing_argument(&arguments) {
            return Err(RequestFailure::MissingArgument(missing.to_owned()));
        }
        let binding = RequestBinding {
            kind: method::PROMPTS_GET,
            name,
            arguments: Cow::Owned(json!(&arguments)),
            key: None,
        };
        let fill = prompt.prepare(arguments).map_err(RequestFailure::InvalidArguments)?;
        match self.run(&binding, resume, peer, fill).await? {
            Reply::Done(Ok(mut result)) => {
                result.drop_nulls();
                Ok(Reply::Done(result))
            }
            Reply::Done(Err(error)) => Err(RequestFailure::Failed(error)),
            Reply::Questions(questions) => Ok(Reply::Questions(questions)),
        }
    }

    /// Returns a page of the default list of resources.
    ///
    /// # Errors
    /// A provider failed.
    pub async fn resources(
        &self,
        start: ListStart,
    ) -> Result<(Vec<Resource>, Option<ListStart>), ResourceFailure> {
        self.parts.resources.list(start, PAGE_SIZE, &self.caller.principal).await
    }

    /// Returns a page of a resource's direct children.
    ///
    /// # Errors
    /// There is no such resource, it has no children, or its provider failed.
    pub async fn children(
        &self,
        uri: &str,
        after: Option<&str>,
    ) -> Result<Children, ResourceFailure> {
        let page = Page { after, limit: PAGE_SIZE };
        self.parts.resources.children(uri, page, &self.caller.principal).await
    }

    /// Returns what a resource is, without its content.
    ///
    /// # Errors
    /// There is no such resource, or its provider failed.
    pub async fn metadata(&self, uri: &str) -> Result<Resource, ResourceFailure> {
        self.resource(uri).await.map(|found| found.resource)
    }

    async fn resource(&self, uri: &str) -> Result<ResolvedResource<'_>, ResourceFailure> {
        self.parts.resources.find(uri, &self.caller.principal).await
    }

    /// Returns the resource templates.
    ///
    /// # Errors
    /// A provider failed.
    pub async fn templates(&self) -> Result<Vec<ResourceTemplate>, ResourceFailure> {
        self.parts.resources.templates(&self.caller.principal).await
    }

    /// Reads a resource.
    ///
    /// # Errors
    /// There is no such resource, or its handler failed.
    pub async fn read(
        &self,
        uri: &str,
        resume: &Resume,
        peer: Arc<dyn Peer>,
    ) -> Result<Reply<ReadResourceResult>, RequestFailure> {
        let found = self.resource(uri).await?;
        if let Some(capacity) = &self.slots.response
            && let Some(size) = found.resource.size.as_ref().and_then(Number::as_u64)
        {
            capacity.wait_for_resource(size).await.map_err(RequestFailure::Busy)?;
        }
        let binding = RequestBinding {
            kind: method::RESOURCES_READ,
            name: uri,
            arguments: Cow::Owned(Value::Null),
            key: None,
        };
        match self.run(&binding, resume, peer, |ctx| found.read(uri, ctx)).await? {
            Reply::Done(Ok(Some(contents))) => {
                let tree = &self.parts.resources;
                let settled = tree.settle(&found, uri, contents, &self.caller.principal).await;
                Ok(Reply::Done(settled?))
            }
            Reply::Done(Ok(None)) => Err(ResourceFailure::NotFound.into()),
            Reply::Done(Err(error)) => Err(ResourceFailure::Failed(error).into()),
            Reply::Questions(questions) => Ok(Reply::Questions(questions)),
        }
    }

    /// Begins to watch a resource, until the guard is dropped. `slot` is held as long.
    ///
    /// # Errors
    /// There is no such resource, it cannot be watched, or its provider failed.
    pub async fn watch(&self, uri: &str) -> Result<WatchGuard, ResourceFailure> {
        let tree = &self.parts.resources;
        tree.watch(uri, &self.parts.shared.changes, &self.caller.principal).await
    }

    /// Takes a slot for a resource that is watched.
    ///
    /// # Errors
    /// Whose capacity is used up: the server's or the caller's.
    pub fn watch_slot(&self) -> Result<Slot, AtCapacity> {
        self.parts.capacity.watched(self.caller.sharer())
    }

    /// Returns proposals for an argument of a prompt, or for a variable of a template.
    ///
    /// # Errors
    /// The function that proposes values failed.
    pub async fn complete(
        &self,
        subject: &CompletionSubject,
        argument: &str,
        typed: String,
        decided: BTreeMap<String, String>,
        peer: Arc<dyn Peer>,
    ) -> Result<Vec<String>, RequestFailure> {
        if let CompletionSubject::Template(template) = subject {
            let completing =
                Completing { template, variable: argument, typed: &typed, decided: &decided };
            let tree = &self.parts.resources;
            if let Some(values) = tree.complete(&completing, &self.caller.principal).await? {
                return Ok(values);
            }
        }
        let (completions, prompt) = (&self.parts.completions, subject);
        match (completions.find(subject, argument), prompt) {
            (Some(propose), _) => {
                let ctx = Ctx::new(&self.request(peer), Round::default());
                let subject = RunSubject { method: method::COMPLETE, name: "" };
                let ran = attempt_in_time(&ctx, subject, |ctx| propose(typed, decided, ctx)).await;
                ctx.end().await;
                match ran {
                    AttemptEnd::Done(proposals) => proposals.map_err(RequestFailure::Failed),
                    // The protocol allows no questions here: the user is typing.
                    AttemptEnd::Asks(_) | AttemptEnd::Parks(_) => {
                        trace::note(
                            "a completion handler asked the client a question, which is not allowed",
                        );
                        tracing::error!(trace_id = trace::id(), "a completion asked its client");
                        Err(RequestFailure::Panicked)
                    }
                    AttemptEnd::Panicked => Err(RequestFailure::Panicked),
                    AttemptEnd::TookTooLong => Err(RequestFailure::TimedOut),
                }
            }
            (None, CompletionSubject::Prompt(name)) => {
                let prompt = self.prompts().await?.find(name);
                Ok(prompt.map(|prompt| prompt.proposals(argument, &typed)).unwrap_or_default())
            }
            (None, CompletionSubject::Template(_)) => Ok(Vec::new()),
        }
    }

    /// Runs a handler until it ends, or until it asks questions that have no answer yet.
    async fn run<T, F>(
        &self,
        binding: &RequestBinding<'_>,
        resume: &Resume,
        peer: Arc<dyn Peer>,
        handler: impl FnOnce(Ctx) -> F,
    ) -> Result<Reply<T>, RequestFailure>
    where
        F: Future<Output = T>,
    {
        let principal = &self.caller.principal;
        let round = Round::begin(&self.parts.rounds, principal, binding, resume);
        let round = round.map_err(RequestFailure::Refused)?;
        let ctx = Ctx::new(&self.request(peer), round);
        let subject = RunSubject { method: binding.kind, name: binding.name };
        let ran = attempt_in_time(&ctx, subject, handler).await;
        ctx.end().await;
        match ran {
            AttemptEnd::Done(done) => Ok(Reply::Done(done)),
            AttemptEnd::Asks(questions) | AttemptEnd::Parks(questions) => {
                let (bound, time) = (binding.digest(principal), self.parts.limits.round);
                let carried = CarriedState::default();
                let put = questions.put(&self.parts.rounds, &bound, time, None, carried);
                Ok(Reply::Questions(put))
            }
            AttemptEnd::Panicked => Err(RequestFailure::Panicked),
            AttemptEnd::TookTooLong => Err(RequestFailure::TimedOut),
        }
    }
}

/// Logs why a source failed. Callers do not get the reason.
fn source_failed(error: &ProviderError, what: &str) {
    trace::note(format_args!("the source of {what} failed: {error}"));
    tracing::error!(%error, what, trace_id = trace::id(), "a provider failed");
}
