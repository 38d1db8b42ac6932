//! The running server: one function that every transport calls.

use std::collections::BTreeMap;
use std::fmt;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;

use candor_ledger::{AuditRow, Store};
use candor_protocol::json::{Object, RawValue, raw};
use candor_protocol::names::{extension, notification};
use candor_protocol::rpc::{ErrorObject, Notification, Request};
use candor_protocol::types::{
    CancelledParams, Implementation, ListCapability, ResourcesCapability, ServerCapabilities,
    ToolsCapability,
};
use candor_protocol::{Era, Message, Principal};
use futures_util::FutureExt;
use tokio_util::sync::CancellationToken;
use tracing::{Instrument, Span};

use crate::about::Connected;
use crate::admission::plan::Plans;
use crate::admission::rate::RateLimiter;
use crate::admission::serial::{self, SerialGroups, SerialPosition};
use crate::answer::{Answer, Body, CacheHint, Encoder, Finality};
use crate::auth::Authenticator;
use crate::call_tracker::CallTracker;
use crate::changes::Changes;
use crate::completion::Completions;
use crate::dispatch;
use crate::exchange::{RequestContext, TransportContext};
use crate::gate::Policy;
use crate::gate::prompts::PendingElicitations;
use crate::ledger::{Audit, KeepArguments, ServerLedger, Setup};
use crate::limits::Limits;
use crate::prompt::PromptSet;
use crate::provider::Source;
use crate::resource::{Offers, Tree};
use crate::room::Capacity;
use crate::seal::{Seal, Secret};
use crate::span;
use crate::state::States;
use crate::tool::{ListingOptions, ToolSet};
use crate::trace;

/// A running server. It answers the same over every transport. Cloning shares it.
///
/// [`Server::build`](crate::Server::build) makes it. Requests reach it over a [`transport`](crate::transport), or from the same
/// process through a [`Visit`](crate::Visit).
#[derive(Clone)]
pub struct Engine(Arc<EngineInner>);

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Engine").field("name", &self.name()).finish_non_exhaustive()
    }
}

/// The parts of a server, as its builder collected and checked them.
pub(crate) struct ServerParts {
    pub(crate) info: Implementation,
    pub(crate) instructions: Option<String>,
    pub(crate) tools: Option<Source<ToolSet>>,
    pub(crate) prompts: Option<Source<PromptSet>>,
    pub(crate) resources: Tree,
    pub(crate) completions: Completions,
    pub(crate) secret: Secret,
    pub(crate) authenticator: Option<Arc<dyn Authenticator>>,
    pub(crate) limits: Limits,
    pub(crate) cache: CacheHint,
    pub(crate) states: Arc<States>,
    pub(crate) form: ListingOptions,
    /// Whether the effect of a call can depend on its arguments, for any tool.
    pub(crate) foresees: bool,
    /// The ledger's store, if the server has one.
    pub(crate) store: Option<Arc<dyn Store>>,
    pub(crate) instance: String,
    pub(crate) audit: Audit,
    pub(crate) keep_arguments: KeepArguments,
    /// Which calls need approval, and which reviewers may answer.
    pub(crate) policy: Policy,
}

impl ServerParts {
    /// Returns true if any prompt, completion or provider may propose values.
    pub(crate) fn completes(&self) -> bool {
        let by_prompts = match &self.prompts {
            None => false,
            Some(Source::Fixed(prompts)) => prompts.proposes(),
            // Known only when a caller asks.
            Some(Source::Provided(_)) => true,
        };
        by_prompts || !self.completions.is_empty() || self.resources.offers().completion
    }
}

struct EngineInner {
    parts: ServerParts,
    /// Part of every modern result, so it is encoded once.
    info_json: Box<RawValue>,
    changes: Changes,
    cursors: Seal,
    rounds: Seal,
    ledger: Option<ServerLedger>,
    plans: Plans,
    rates: RateLimiter,
    serial: SerialGroups,
    /// Whether any call may belong to a serial group.
    may_be_serial: bool,
    connected: Connected,
    prompts: PendingElicitations,
    rooms: Arc<Capacity>,
    stop: CancellationToken,
}

impl Engine {
    pub(crate) fn new(parts: ServerParts) -> Self {
        let changes = Changes::default();
        parts.resources.attach(&changes);
        let ledger = parts.store.clone().map(|store| {
            let setup = Setup {
                store,
                server: parts.info.name.clone(),
                instance: parts.instance.clone(),
                digests: parts.secret.seal("candor digest v1"),
                audit: parts.audit,
                keep_arguments: parts.keep_arguments,
            };
            ServerLedger::new(setup, &parts.limits)
        });
        // Different servers may share a secret, but must not accept each other's tokens.
        let of_this = |purpose: &str| {
            let whose = serde_json::json!([purpose, parts.info.name, parts.instance]);
            parts.secret.seal(&whose.to_string())
        };
        Self(Arc::new(EngineInner {
            info_json: raw(&parts.info),
            changes,
            cursors: of_this("candor cursor v2"),
            rounds: of_this("candor round v2"),
            ledger,
            plans: Plans::new(
                parts.secret.seal("candor plan v1"),
                &parts.info.name,
                &parts.instance,
            ),
            rates: RateLimiter::default(),
            serial: SerialGroups::default(),
            may_be_serial: serial::may_be_serial(parts.tools.as_ref()),
            connected: Connected::default(),
            prompts: PendingElicitations::default(),
            rooms: Arc::new(Capacity::new(&parts.limits)),
            stop: CancellationToken::new(),
            parts,
        }))
    }

    /// Returns the handle that tells clients what has changed.
    #[must_use]
    pub fn changes(&self) -> &Changes {
        &self.0.changes
    }

    /// Returns the server's name, as it introduces itself.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0.parts.info.name
    }

    /// Returns what finds the callers of requests over HTTP, if the server has it: see
    /// [`Server::authenticator`](crate::Server::authenticator).
    #[must_use]
    pub fn authenticator(&self) -> Option<&Arc<dyn Authenticator>> {
        self.0.parts.authenticator.as_ref()
    }

    /// Ends long-lived streams with an answer. Running requests continue.
    pub fn stop(&self) {
        self.0.stop.cancel();
    }

    /// Returns true once [`stop`](Self::stop) was called.
    #[must_use]
    pub fn is_stopping(&self) -> bool {
        self.0.stop.is_cancelled()
    }

    /// Waits for calls that keep running without their callers, for at most [`Limits::drain`]. Then it stops them and records that.
    /// Call it last, before the process ends.
    pub async fn settle(&self) {
        if let Some(ledger) = &self.0.ledger {
            ledger.settle(self.limits().drain).await;
        }
    }

    /// Returns the ledger's store, if the server has one.
    #[must_use]
    pub fn store(&self) -> Option<&Arc<dyn Store>> {
        self.0.ledger.as_ref().map(ServerLedger::store)
    }

    /// Returns the latest calls without a durable row, newest first. [`Audit`](crate::Audit) says which calls those are.
    #[must_use]
    pub fn recent_calls(&self) -> Vec<Arc<AuditRow>> {
        self.0.ledger.as_ref().map(ServerLedger::recent).unwrap_or_default()
    }

    pub(crate) fn ledger(&self) -> Option<&ServerLedger> {
        self.0.ledger.as_ref()
    }

    pub(crate) fn plans(&self) -> &Plans {
        &self.0.plans
    }

    pub(crate) fn rates(&self) -> &RateLimiter {
        &self.0.rates
    }

    pub(crate) fn connected(&self) -> &Connected {
        &self.0.connected
    }

    pub(crate) fn serial(&self) -> &SerialGroups {
        &self.0.serial
    }

    /// Returns the position of a message that arrives now, if the server may have serial tools.
    pub(crate) fn arrive(&self) -> Option<SerialPosition> {
        self.0.may_be_serial.then(|| self.0.serial.arrive())
    }

    /// Returns the position of a request that has been read, if it may be a serial call.
    pub(crate) fn position(&self, request: &Request) -> Option<SerialPosition> {
        self.keep_position(self.arrive(), request)
    }

    /// Keeps the position of a request that has been read, if it may be a serial call.
    pub(crate) fn keep_position(
        &self,
        arrived: Option<SerialPosition>,
        request: &Request,
    ) -> Option<SerialPosition> {
        let parts = self.parts();
        arrived?.after_reading(request, parts.tools.as_ref()?, parts.form)
    }

    pub(crate) fn prompts(&self) -> &PendingElicitations {
        &self.0.prompts
    }

    /// Answers a request. Every transport calls this.
    pub(crate) async fn handle(&self, request: Request, arrival: TransportContext) -> Answer {
        let Request { id, method, params, meta } = request;
        match RequestContext::receive(id.clone(), meta, arrival) {
            Err(error) => Answer::error(Some(&id), &error, false),
            Ok(exchange) => {
                let meta = exchange.meta.clone();
                // Boxed, to keep the futures of the transports small.
                Box::pin(trace::of(&meta, self.answer(method, params, exchange))).await
            }
        }
    }

    async fn answer(&self, method: String, params: Object, exchange: RequestContext) -> Answer {
        let (id, cancel) = (&exchange.id, &exchange.cancel);
        let span = span::of(&exchange, &method, &params);
        let answered = async {
            let dispatched = pin!(dispatch::dispatch(self, &method, params, &exchange));
            // Handlers have a `catch_unwind` of their own. This one covers providers and everything else.
            let dispatched = AssertUnwindSafe(dispatched);
            let answer = tokio::select! {
                biased;
                answer = dispatched.catch_unwind() => answer.unwrap_or_else(|panic| {
                    let reason = trace::panic_reason(&*panic);
                    trace::note(format_args!("the request panicked: {reason}"));
                    tracing::error!(reason, trace_id = trace::id(), "a request panicked");
                    let error = ErrorObject::internal("The request failed unexpectedly; the server's log says why");
                    Answer::error(Some(id), &trace::named(error), true)
                }),
                () = cancel.cancelled() => Answer::Silent,
            };
            // A cancelled handler may still return an answer, and the client does not want it.
            let answer = if cancel.is_cancelled() { Answer::Silent } else { answer };
            if let Answer::Error { code, .. } = &answer {
                Span::current().record("error.type", code);
                tracing::info!(code, "answered with an error");
            }
            answer
        };
        // The span is outermost, so that a request that is dropped early logs inside it. Pinned here, because each layer would move
        // the whole future.
        pin!(answered.instrument(span)).await
    }

    /// Handles a notification. Unknown ones are ignored, as the protocol requires.
    pub(crate) fn notice(&self, notice: Notification, calls: &CallTracker) {
        if notice.method == notification::CANCELLED {
            match CancelledParams::from_object(notice.params) {
                Ok(CancelledParams { request_id: Some(id), reason, .. }) => {
                    tracing::debug!(%id, reason, "request cancelled");
                    calls.cancel(&id);
                }
                _ => tracing::debug!("a cancellation that names no request"),
            }
        }
    }

    /// Returns what this server can do, as either era declares it to this caller. Without a caller, it depends on the policy alone.
    pub(crate) fn capabilities(&self, caller: Option<&Principal>) -> ServerCapabilities {
        let parts = &self.0.parts;
        let mut capabilities = ServerCapabilities::new();
        capabilities.tools = parts.tools.as_ref().map(|source| {
            let mut capability = ToolsCapability::new();
            capability.list_changed = Some(source.may_change());
            capability.dynamic_annotations = parts.foresees.then_some(true);
            capability
        });
        let offers = parts.resources.offers();
        let has_resources = !parts.resources.is_empty();
        let mut extensions = extensions(parts.foresees, has_resources, offers);
        if let (Some(ledger), true) = (&self.0.ledger, parts.tools.is_some()) {
            extensions.insert(extension::IDEMPOTENCY.to_owned(), ledger.settings());
            if parts.policy.asks() {
                let policy = &parts.policy;
                let asks_client =
                    caller.map_or(!policy.operators_only, |caller| policy.asks_client_of(caller));
                let settings = Object::new()
                    .with("version", &1)
                    .with("ask", parts.policy.ask.as_str())
                    .with("client", &asks_client)
                    .with("expect", &true)
                    .with("explain", &true);
                extensions.insert(extension::APPROVAL.to_owned(), settings);
            }
        }
        capabilities.extensions = Some(extensions).filter(|extensions| !extensions.is_empty());
        capabilities.prompts =
            parts.prompts.as_ref().map(|source| list_capability(source.may_change()));
        capabilities.resources = has_resources.then(|| {
            let mut capability = ResourcesCapability::new();
            capability.list_changed = offers.changes.then_some(true);
            capability.subscribe = offers.watching.then_some(true);
            capability
        });
        let completes = parts.completes();
        capabilities.completions = completes.then(Object::new);
        capabilities.logging = Some(Object::new());
        capabilities
    }

    /// Writes a complete result in the client's era.
    pub(crate) fn complete(&self, exchange: &RequestContext, body: impl Body) -> Answer {
        self.encoder(exchange).result(body, Finality::Complete, None)
    }

    /// Writes a complete result that clients may cache.
    pub(crate) fn complete_cacheable(
        &self,
        exchange: &RequestContext,
        body: impl Body,
        hint: CacheHint,
    ) -> Answer {
        self.encoder(exchange).result(body, Finality::Complete, Some(hint))
    }

    /// Writes a result that asks the client for input. Modern clients only.
    pub(crate) fn input_required(&self, exchange: &RequestContext, body: impl Body) -> Answer {
        debug_assert_eq!(exchange.era(), Era::Modern);
        self.encoder(exchange).result(body, Finality::InputRequired, None)
    }

    fn encoder<'a>(&'a self, exchange: &'a RequestContext) -> Encoder<'a> {
        Encoder {
            id: &exchange.id,
            era: exchange.era(),
            server_info: &self.0.info_json,
            response: exchange.response.as_ref(),
        }
    }

    pub(crate) fn parts(&self) -> &ServerParts {
        &self.0.parts
    }

    /// Returns the limits on what a peer can make the server hold or do.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.0.parts.limits
    }

    /// Returns the capacity for HTTP. A console or another app beside the MCP endpoint must take its slots from the same pools.
    #[must_use]
    pub fn rooms(&self) -> &Arc<Capacity> {
        &self.0.rooms
    }

    pub(crate) fn cursors(&self) -> &Seal {
        &self.0.cursors
    }

    pub(crate) fn rounds(&self) -> &Seal {
        &self.0.rounds
    }

    /// Returns a token that is cancelled when long-lived streams should end.
    pub(crate) fn closing(&self) -> &CancellationToken {
        &self.0.stop
    }
}

/// Returns the extensions that the server offers beyond the published protocol.
fn extensions(foresees: bool, has_resources: bool, offers: Offers) -> BTreeMap<String, Object> {
    let mut extensions = BTreeMap::new();
    if foresees {
        extensions.insert(extension::TOOL_RESOLUTION.to_owned(), Object::new());
        let settings = Object::new().with("version", &1).with("partial", &true);
        extensions.insert(extension::DYNAMIC_ANNOTATIONS.to_owned(), settings);
    }
    if has_resources {
        let settings = Object::new().with("version", &1).with("children", &offers.children);
        extensions.insert(extension::RESOURCE.to_owned(), settings);
    }
    if offers.children {
        extensions.insert(extension::SKILLS.to_owned(), Object::new().with("directoryRead", &true));
    }
    extensions
}

fn list_capability(may_change: bool) -> ListCapability {
    let mut capability = ListCapability::new();
    capability.list_changed = may_change.then_some(true);
    capability
}
