//! The effect of a call before it runs: as the tool declares it, or as the server evaluates these arguments.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, Weak};

use candor_hints::{DeclaredHints, Effect, EffectiveHints, HINT_NAMES, HintSource, Hints, Verdict};
use candor_protocol::json::{Object, raw};
use candor_protocol::names::{extension, method};
use candor_protocol::rpc::code;
use candor_protocol::types::{ResolveToolResult, ToolAnnotations, ToolAnnotationsResult};
use candor_schema::canonical;
use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, Shared, WeakShared};
use serde_json::Value;

use crate::client::{Client, read};
use crate::error::Error;
use crate::members::{locked, members_of};
use crate::policy::Trust;
use crate::session::{OutgoingRequest, Session};
use crate::tools::{KnownTool, declared};

/// The explanation of a call: its effect, the source of that, and the verdicts.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Explanation {
    /// The worst effect that the host must assume.
    pub hints: Hints,
    /// What the server reports about the call, trusted or not.
    pub said: EffectiveHints,
    /// The fields of the server's annotations other than the four hints, as sent. No decision depends on them.
    pub fields: Object,
    /// Where `said` comes from.
    pub basis: EffectSource,
    /// Why the server could not evaluate these arguments, if the client asked and it failed.
    pub failed: Option<Error>,
    /// The verdict of the host's policy.
    pub verdict: Verdict,
    /// The verdict of the server itself, if it reports one.
    pub server: Option<Verdict>,
    /// The server asks for approval of this call and checks that it does, so the host need not ask as well:
    /// [`call_safely`](Client::call_safely) sends that expectation instead of asking. Never true for an untrusted server.
    pub defers: bool,
}

/// The source of what is known about a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum EffectSource {
    /// The server evaluated these arguments.
    Asked,
    /// The tool declares one effect for all its calls.
    Declared,
    /// Neither the server nor the tool reports anything, so the worst case applies.
    Nothing,
}

/// The server's answer about a call.
#[derive(Debug, Clone)]
pub(crate) struct ServerAnswer {
    /// The annotations of the call. `None` if the tool's static annotations apply to every call.
    said: Option<CallAnnotations>,
    verdict: Option<Verdict>,
}

/// Annotations of a call.
#[derive(Debug, Clone)]
struct CallAnnotations {
    hints: DeclaredHints,
    /// The fields other than the hints.
    fields: Object,
}

impl CallAnnotations {
    fn of(annotations: &ToolAnnotations, meta: Option<&Object>) -> Self {
        Self { hints: declared(annotations, meta), fields: fields(annotations, meta) }
    }
}

type PendingAnswer = BoxFuture<'static, Result<ServerAnswer, Error>>;

/// The questions in flight, so that a caller with the same question can join. Answers are stored only if the policy says so.
#[derive(Default)]
pub(crate) struct Questions {
    asking: Mutex<HashMap<Question, WeakShared<PendingAnswer>>>,
    kept: Mutex<SessionAnswers>,
}

/// The tool's name and the canonical arguments.
type Question = (String, String);

/// The answers of one session since its last change of the tools.
#[derive(Default)]
struct SessionAnswers {
    session: Weak<Session>,
    epoch: u64,
    /// By the digest of the tool's definition, which includes the effect table, and the arguments. Annotations only: the server's
    /// verdict depends on grants, which come and go.
    told: HashMap<([u8; 32], String), CallAnnotations>,
}

/// The maximum number of stored answers. At the maximum, the client drops all of them: asking again costs little.
const KEPT: usize = 1024;

impl SessionAnswers {
    /// Returns the answers that are still valid: none in another session, or after a change of the tools.
    fn now(
        &mut self,
        session: &Arc<Session>,
        epoch: u64,
    ) -> &mut HashMap<([u8; 32], String), CallAnnotations> {
        // While this weak pointer exists, no other session can get the same address.
        let same = std::ptr::eq(self.session.as_ptr(), Arc::as_ptr(session)) && self.epoch == epoch;
        if !same || self.told.len() >= KEPT {
            *self = Self { session: Arc::downgrade(session), epoch, told: HashMap::new() };
        }
        &mut self.told
    }
}

impl Client {
    /// Evaluates a call of this tool with these arguments, without running it. Dropping the future is safe at any time.
    pub async fn explain(&self, tool: &str, arguments: &Value) -> Result<Explanation, Error> {
        let tool = self.tool(tool).await?;
        self.explain_tool(&tool, arguments).await
    }

    pub(crate) async fn explain_tool(
        &self,
        tool: &Arc<KnownTool>,
        arguments: &Value,
    ) -> Result<Explanation, Error> {
        let session = self.session().await?;
        let statics = tool.annotations();
        let policy = self.policy();
        let decide = |asked: Option<ServerAnswer>, failed: Option<Error>| {
            let (told, verdict) = asked.map_or((None, None), |told| (told.said, told.verdict));
            let of_call = told.as_ref().map(|told| &told.hints);
            let hints = policy.effective(tool.name(), self.trust(), &statics, of_call);
            let (said, basis) = match of_call {
                Some(told) => (asked_sources(told), EffectSource::Asked),
                None if tool.declares() => (statics.effective(), EffectSource::Declared),
                None => (statics.effective(), EffectSource::Nothing),
            };
            let server = verdict.or_else(|| listed_verdict(tool));
            Explanation {
                hints,
                said,
                fields: told.map_or_else(|| tool_fields(tool), |told| told.fields),
                basis,
                failed,
                verdict: policy.verdict(tool.name(), hints),
                server,
                defers: server == Some(Verdict::Ask)
                    && self.trust() == Trust::Trusted
                    && approval_setting(&session, "expect"),
            }
        };
        let Some(way) = QueryMethod::to(&session, tool) else { return Ok(decide(None, None)) };
        if policy.skip_where_static_suffices {
            let now = decide(None, None);
            // The policy relies on the declared effect: it should be the worst case, so an evaluation could only be less risky.
            if now.verdict != Verdict::Ask {
                return Ok(now);
            }
        }
        match self.ask_or_recall(tool, arguments, way, &session).await {
            Ok(told) => Ok(decide(Some(told), None)),
            // The list already has the effect of the call. The server checks the precondition of the call, whatever verdict the
            // list has.
            Err(error) if way == QueryMethod::Verdict => {
                tracing::debug!(tool = tool.name(), %error, "no verdict for these arguments");
                Ok(decide(None, None))
            }
            // This holds for any error: the declaration covers all calls of the tool, and the server checks the arguments of the
            // call again.
            Err(error) if tool.declares() || policy.proceed_unevaluated => {
                tracing::warn!(tool = tool.name(), %error, "Failed to get dynamic annotations, using static");
                Ok(decide(None, Some(error)))
            }
            Err(error) => {
                Err(Error::EffectUnknown { tool: tool.name().to_owned(), why: Box::new(error) })
            }
        }
    }

    /// Returns the server's answer, or a stored one if the policy allows that.
    async fn ask_or_recall(
        &self,
        tool: &Arc<KnownTool>,
        arguments: &Value,
        way: QueryMethod,
        session: &Arc<Session>,
    ) -> Result<ServerAnswer, Error> {
        let question = (tool.name().to_owned(), canonical(arguments));
        if !self.policy().keeps_answers || self.trust() != Trust::Trusted || !tool.has_table() {
            return self.ask_about(tool, arguments, way, &question).await;
        }
        let place = (tool.digest(), question.1.clone());
        // Read before the request, so that a change during the request makes the answer stale.
        let epoch = self.host().tools_epoch();
        let kept = locked(&self.questions().kept).now(session, epoch).get(&place).cloned();
        if let Some(said) = kept {
            let policy = self.policy();
            let hints =
                policy.effective(tool.name(), self.trust(), &tool.annotations(), Some(&said.hints));
            // The server's verdict decides which side asks, and it is never stored.
            let matters = policy.verdict(tool.name(), hints) == Verdict::Ask
                && session.extension(extension::APPROVAL).is_some();
            if !matters {
                return Ok(ServerAnswer { said: Some(said), verdict: None });
            }
        }
        let told = self.ask_about(tool, arguments, way, &question).await?;
        if let Some(said) = told.said.clone() {
            locked(&self.questions().kept).now(session, epoch).insert(place, said);
        }
        Ok(told)
    }

    /// Asks the server, or joins the same question in flight.
    async fn ask_about(
        &self,
        tool: &Arc<KnownTool>,
        arguments: &Value,
        way: QueryMethod,
        question: &Question,
    ) -> Result<ServerAnswer, Error> {
        let asking: Shared<PendingAnswer> = {
            let mut questions = locked(&self.questions().asking);
            match questions.get(question).and_then(WeakShared::upgrade) {
                Some(asking) => asking,
                None => {
                    let (client, tool, arguments) = (self.clone(), tool.clone(), arguments.clone());
                    let asking: PendingAnswer =
                        Box::pin(async move { client.ask_again(&tool, &arguments, way).await });
                    let asking = asking.shared();
                    questions.retain(|_, asking| asking.upgrade().is_some());
                    if let Some(weak) = asking.downgrade() {
                        questions.insert(question.clone(), weak);
                    }
                    asking
                }
            }
        };
        let told = asking.await;
        // The question is answered, so the next caller asks again.
        locked(&self.questions().asking).remove(question);
        told
    }

    /// Asks the server, and retries on failure: asking changes nothing.
    async fn ask_again(
        &self,
        tool: &KnownTool,
        arguments: &Value,
        way: QueryMethod,
    ) -> Result<ServerAnswer, Error> {
        let mut failed = 0;
        loop {
            match self.ask_once(tool, arguments, way).await {
                Err(error) if error.is_passing() || may_differ(&error) => {
                    failed += 1;
                    match self.retry().wait(failed, error.retry_after()) {
                        Some(wait) => tokio::time::sleep(wait).await,
                        None => return Err(error),
                    }
                }
                told => return told,
            }
        }
    }

    async fn ask_once(
        &self,
        tool: &KnownTool,
        arguments: &Value,
        way: QueryMethod,
    ) -> Result<ServerAnswer, Error> {
        let mut params = Object::new();
        params.set("name", raw(tool.name()));
        params.set("arguments", raw(arguments));
        match way {
            QueryMethod::Annotations | QueryMethod::Verdict => {
                let told =
                    self.ask(OutgoingRequest::new(method::TOOLS_ANNOTATIONS, params)).await?;
                let told: ToolAnnotationsResult = read(&told)?;
                let verdict = told.meta.as_ref().and_then(verdict);
                let said = (way == QueryMethod::Annotations)
                    .then(|| CallAnnotations::of(&told.annotations, told.meta.as_ref()));
                if let Some(said) = &said {
                    exceeds(tool, said.hints.effective().hints);
                }
                Ok(ServerAnswer { said, verdict })
            }
            QueryMethod::Resolve => {
                let told = self.ask(OutgoingRequest::new(method::TOOLS_RESOLVE, params)).await?;
                let told: ResolveToolResult = read(&told)?;
                if told.name != tool.name() {
                    return Err(Error::protocol("it answered for another tool"));
                }
                let CallAnnotations { hints: said, fields } =
                    CallAnnotations::of(&told.annotations, told.meta.as_ref());
                let all = [said.read_only, said.destructive, said.idempotent, said.open_world];
                if all.contains(&None) {
                    return Err(Error::protocol("it left out hints that it has to send"));
                }
                // No call may be riskier than the tool's declaration. If the server reports a riskier one, the worse of both
                // counts.
                let hints = said.effective().hints;
                let said = if exceeds(tool, hints) {
                    hints.join(tool.declared().hints).declared()
                } else {
                    said
                };
                let said = Some(CallAnnotations { hints: said, fields });
                Ok(ServerAnswer { said, verdict: told.meta.as_ref().and_then(verdict) })
            }
        }
    }

    /// Describes the effect of a call as text, for a model that is about to propose it.
    pub async fn describe_for_model(&self, tool: &str, arguments: &Value) -> Result<String, Error> {
        let explanation = self.explain(tool, arguments).await?;
        Ok(explanation.for_model(tool, arguments, self.trust()))
    }
}

impl Explanation {
    /// Makes the host ask its own question, whatever its policy and the server say, unless the policy denies the call.
    pub fn require_confirmation(&mut self) {
        if self.verdict != Verdict::Deny {
            self.verdict = Verdict::Ask;
        }
        self.defers = false;
    }

    /// Returns the worst effect of the call, as text for users. The text shows whether the tool declares the effect or the client
    /// only assumes it.
    #[must_use]
    pub fn summary(&self) -> String {
        EffectiveHints { hints: self.hints, sources: self.said.sources }.summary()
    }

    fn for_model(&self, tool: &str, arguments: &Value, trust: Trust) -> String {
        let hints = self.hints;
        let does = match hints.effect() {
            Effect::Reads => "only reads and changes nothing",
            Effect::Adds if hints.is_idempotent() => "adds something, once",
            Effect::Adds => "adds something each time it is made",
            Effect::Changes => "changes what is there",
            Effect::Deletes => "deletes what is there",
            Effect::ChangesOrDeletes if self.said.is_unclassified() => {
                "is unclassified: treat it as one that may change or delete what is there"
            }
            Effect::ChangesOrDeletes => "may change or delete what is there",
        };
        let mut told = format!("The call {tool}({arguments}) {does}.");
        if !hints.is_read_only() {
            told += if hints.is_idempotent() {
                " It is safe to repeat with the same arguments."
            } else {
                " Do not repeat it unless you know that it did not run."
            };
        }
        told += if hints.is_open_world() {
            " It may reach external systems."
        } else {
            " It is local to the server."
        };
        told += match (trust, self.basis) {
            (Trust::Trusted, EffectSource::Asked) => {
                " The server evaluated exactly these arguments."
            }
            (Trust::Trusted, EffectSource::Declared) => " The tool declares so for all its calls.",
            (Trust::Trusted, EffectSource::Nothing) => {
                " The tool is unclassified, so the worst case applies."
            }
            (Trust::Untrusted, _) => {
                " The server is untrusted, so the worst case applies where the host knows nothing better."
            }
        };
        match (self.verdict, self.server) {
            (Verdict::Deny, _) | (_, Some(Verdict::Deny)) => {
                told += " It is refused: do not make it.";
            }
            (Verdict::Ask, _) | (_, Some(Verdict::Ask)) => {
                told += " It needs approval before it starts.";
            }
            _ => told += " It will run without approval.",
        }
        told
    }
}

/// How the client asks a server about a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum QueryMethod {
    Annotations,
    Resolve,
    /// For a tool with the same hints for every call: asks only whether this call needs approval. A grant can change that, so a
    /// list cannot contain it.
    Verdict,
}

impl QueryMethod {
    /// Returns how to ask. Returns `None` if the tool does not say that its arguments matter, or the server cannot answer.
    fn to(session: &Session, tool: &KnownTool) -> Option<Self> {
        let tools = session.capabilities.tools.as_ref();
        let annotates = tools.and_then(|tools| tools.dynamic_annotations) == Some(true);
        let resolves = session.extension(extension::TOOL_RESOLUTION).is_some_and(Object::is_empty);
        if annotates && tool.is_dynamic() {
            Some(Self::Annotations)
        } else if resolves && tool.is_resolvable() {
            Some(Self::Resolve)
        } else if listed_verdict(tool).is_some() && approval_setting(session, "explain") {
            Some(Self::Verdict)
        } else {
            None
        }
    }
}

/// Returns true if the server advertises this setting of its approval extension.
fn approval_setting(session: &Session, name: &str) -> bool {
    let settings = session.extension(extension::APPROVAL);
    settings.is_some_and(|settings| settings.read(name).ok().flatten() == Some(true))
}

/// Returns true if the server evaluates a call as riskier than the tool declares, and logs that. The declaration is then no worst
/// case, so a host must not rely on it.
fn exceeds(tool: &KnownTool, hints: Hints) -> bool {
    let exceeds = !hints.is_at_most(tool.declared().hints);
    if exceeds {
        tracing::warn!(tool = tool.name(), "the server answers more than the tool declares");
    }
    exceeds
}

fn asked_sources(said: &DeclaredHints) -> EffectiveHints {
    let mut effective = said.effective();
    for source in &mut effective.sources {
        if *source == HintSource::Declared {
            *source = HintSource::Resolved;
        }
    }
    effective
}

/// Returns true if a repeated question may have another answer. Invalid arguments stay invalid.
fn may_differ(error: &Error) -> bool {
    matches!(error, Error::Server(error) if error.code() != code::INVALID_PARAMS)
}

/// Returns the fields of annotations other than the four hints. A proxy may drop members of annotations that it does not know, so
/// Candor servers repeat them in the metadata.
fn fields(annotations: &ToolAnnotations, meta: Option<&Object>) -> Object {
    let mirror = meta.and_then(|meta| meta.get(extension::DYNAMIC_ANNOTATIONS));
    let mirror = mirror.and_then(|about| members_of(&about.to_raw()).ok());
    let mirror = mirror.and_then(|mut about| about.take_object("fields").ok().flatten());
    let sent = members_of(&raw(annotations)).unwrap_or_default();
    let all =
        sent.iter().fold(mirror.unwrap_or_default(), |all, (name, value)| all.with(name, &value));
    HINT_NAMES.iter().fold(all, |fields, name| fields.without(name))
}

/// Returns the fields that a tool declares for all its calls.
fn tool_fields(tool: &KnownTool) -> Object {
    let definition = tool.definition();
    let annotations = definition.annotations.as_ref();
    annotations
        .map_or_else(Object::new, |annotations| fields(annotations, definition.meta.as_ref()))
}

/// Returns the verdict that the server lists for all calls of a tool.
fn listed_verdict(tool: &KnownTool) -> Option<Verdict> {
    tool.definition().meta.as_ref().and_then(verdict)
}

/// Returns the verdict of the server's own policy, which Candor servers add to the metadata.
fn verdict(meta: &Object) -> Option<Verdict> {
    let told = meta.get(extension::APPROVAL)?;
    let told = members_of(&told.to_raw()).ok()?;
    Verdict::of_word(&told.read_str("verdict").ok().flatten()?)
}
