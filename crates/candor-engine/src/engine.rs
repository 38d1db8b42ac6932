//! The engine: everything that a server can do, without a protocol and without a transport.

use std::fmt;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use candor_hints::AskLevel;
use candor_ledger::{AuditRow, Store};
use candor_protocol::json::Object;
use futures_util::FutureExt as _;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::caller::Caller;
use crate::capacity::rate::RateLimiter;
use crate::capacity::serial::SerialGroups;
use crate::capacity::{Capacity, Limits, SerialPosition};
use crate::changes::Changes;
use crate::ctx::RequestSlots;
use crate::ctx::request::SharedContext;
use crate::error::Refusal;
use crate::parts::{self, Parts};
use crate::plans::Plans;
use crate::provider::Source;
use crate::record::{ServerLedger, Setup};
use crate::resource::Offers;
use crate::seal::Seal;
use crate::spec::{BuildError, EngineSpec};
use crate::tool::ListingOptions;
use crate::trace;
use crate::view::View;

/// A running server, without a protocol and without a transport. Cloning shares it.
///
/// [`open`](Self::open) returns what one request of a caller sees and can do.
///
/// ```
/// use candor_engine::tool::{Arguments, JsonTool, ToolError};
/// use candor_engine::{Call, CallEnd, Caller, Engine, EngineSpec, NoPeer};
/// use candor_hints::Hints;
/// use candor_protocol::Principal;
/// use std::sync::Arc;
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let hello = JsonTool::open("hello", |_, _| async { Ok::<_, ToolError>("Hello!") }).hints(Hints::READS);
/// let spec = EngineSpec::new("greeter").tool(hello);
/// let view = Engine::build(spec)?.open(Caller::new(Principal::new("ada")));
///
/// let call = Call::new("hello", Arguments::default());
/// let decision = view.decide(&call).await.expect("the tool exists");
/// assert_eq!(decision.next.as_str(), "run");
/// let outcome = view.call(call, Arc::new(NoPeer::default())).await;
/// assert!(matches!(outcome.end, CallEnd::Done { .. }));
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Engine(Arc<Parts>);

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Engine").field("name", &self.name()).finish_non_exhaustive()
    }
}

impl Engine {
    /// Checks the description of a server, and builds its engine.
    ///
    /// # Errors
    /// The description has a mistake.
    pub fn build(spec: EngineSpec) -> Result<Self, BuildError> {
        let checked = spec.check()?;
        let EngineSpec { name, instance, limits, policy, .. } = checked.spec;
        let changes = Changes::default();
        checked.resources.attach(&changes);
        let secret = checked.secret;
        let ledger = checked.store.map(|store| {
            let setup = Setup {
                store,
                server: name.clone(),
                instance: instance.clone(),
                digests: secret.seal("candor digest v1"),
                audit: checked.audit,
                keep_arguments: checked.keep_arguments,
            };
            ServerLedger::new(setup, &limits)
        });
        let shared = SharedContext {
            changes,
            states: Arc::new(checked.states),
            deadline: limits.deadline,
            parking: Arc::new(Semaphore::new(limits.parked_calls)),
        };
        Ok(Self(Arc::new(Parts {
            rounds: parts::seal(&secret, "candor round v2", &name, &instance),
            plans: Plans::new(secret.seal("candor plan v1"), &name, &instance),
            capacity: Arc::new(Capacity::new(&limits)),
            listing: ListingOptions { policy: policy.id(), ..checked.listing },
            name,
            instance,
            secret,
            tools: checked.tools,
            prompts: checked.prompts,
            resources: checked.resources,
            completions: checked.completions,
            limits,
            has_dynamic_effects: checked.has_dynamic_effects,
            policy,
            ledger,
            rates: RateLimiter::default(),
            serial: SerialGroups::default(),
            elicitations: Default::default(),
            parked: Default::default(),
            shared: Arc::new(shared),
            stop: CancellationToken::new(),
        })))
    }

    /// Returns what one request of this caller sees and can do. Tool sources are asked when they are needed, and at most once.
    #[must_use]
    pub fn open(&self, caller: Caller) -> View {
        View::new(self.0.clone(), caller, RequestSlots::default())
    }

    /// Returns the view of a request that holds slots of the capacity.
    #[must_use]
    pub fn open_with(&self, caller: Caller, slots: RequestSlots) -> View {
        View::new(self.0.clone(), caller, slots)
    }

    /// Runs a request under the trace id in its `_meta`, or under a new one. A panic becomes [`Refusal::Internal`].
    ///
    /// # Errors
    /// The request panicked. The log has the reason.
    pub async fn guard<T>(
        meta: &Arc<Object>,
        request: impl Future<Output = T>,
    ) -> Result<T, Refusal> {
        let guarded = AssertUnwindSafe(request).catch_unwind();
        trace::of(meta, async {
            guarded.await.map_err(|panic| {
                let reason = trace::panic_reason(&*panic);
                trace::note(format_args!("the request panicked: {reason}"));
                tracing::error!(reason, trace_id = trace::id(), "a request panicked");
                Refusal::Internal
            })
        })
        .await
    }

    /// Returns the handle that tells clients what has changed.
    #[must_use]
    pub fn changes(&self) -> &Changes {
        &self.0.shared.changes
    }

    /// Returns the server's name, as it introduces itself.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0.name
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

    /// Returns a token that is cancelled when long-lived streams should end.
    #[must_use]
    pub fn closing(&self) -> &CancellationToken {
        &self.0.stop
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

    /// Returns the ledger's settings that clients receive, if the server has a ledger.
    #[must_use]
    pub fn ledger_settings(&self) -> Option<Object> {
        self.0.ledger.as_ref().map(ServerLedger::settings)
    }

    /// Returns the latest calls without a durable row, newest first. [`Audit`](crate::Audit) says which calls those are.
    #[must_use]
    pub fn recent_calls(&self) -> Vec<Arc<AuditRow>> {
        self.0.ledger.as_ref().map(ServerLedger::recent).unwrap_or_default()
    }

    /// Returns the limits on what a peer can make the server hold or do.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.0.limits
    }

    /// Returns how much runs at once. Every transport takes its slots here.
    #[must_use]
    pub fn capacity(&self) -> &Arc<Capacity> {
        &self.0.capacity
    }

    /// Returns which calls need approval, unless a tool or a rule says otherwise. [`View::decide`] decides about a single call.
    #[must_use]
    pub fn asks(&self) -> AskLevel {
        self.0.policy.ask_level()
    }

    /// Returns true if any call can need approval.
    #[must_use]
    pub fn may_ask(&self) -> bool {
        self.0.policy.may_ask()
    }

    /// Returns true if the caller's own client may be asked for approval; without a caller, if any caller's may.
    #[must_use]
    pub fn asks_client_of(&self, caller: Option<&candor_protocol::Principal>) -> bool {
        let policy = &self.0.policy;
        caller.map_or(!policy.operators_only, |caller| policy.asks_client_of(caller))
    }

    /// Returns how tools are listed, unless the client knows less or more.
    #[must_use]
    pub fn listing(&self) -> ListingOptions {
        self.0.listing
    }

    /// Returns true if the effect of a call can depend on its arguments, for any tool.
    #[must_use]
    pub fn has_dynamic_effects(&self) -> bool {
        self.0.has_dynamic_effects
    }

    /// Returns whether the tools may change, if the server offers tools.
    #[must_use]
    pub fn tools_may_change(&self) -> Option<bool> {
        self.0.tools.as_ref().map(Source::may_change)
    }

    /// Returns whether the prompts may change, if the server offers prompts.
    #[must_use]
    pub fn prompts_may_change(&self) -> Option<bool> {
        self.0.prompts.as_ref().map(Source::may_change)
    }

    /// Returns what the resources offer, if the server has resources.
    #[must_use]
    pub fn resource_offers(&self) -> Option<Offers> {
        (!self.0.resources.is_empty()).then(|| self.0.resources.offers())
    }

    /// Returns true if the server completes arguments.
    #[must_use]
    pub fn completes(&self) -> bool {
        self.0.completes()
    }

    /// Returns a seal of this server for one purpose: cursors, for example.
    #[must_use]
    pub fn seal(&self, purpose: &str) -> Seal {
        self.0.seal(purpose)
    }

    /// Returns the position of a message that arrives now, if the server may have serial tools.
    #[must_use]
    pub fn arrive(&self) -> Option<SerialPosition> {
        let may_be_serial = match &self.0.tools {
            None => false,
            Some(Source::Fixed(tools)) => tools.has_serial(),
            Some(Source::Provided(_)) => true,
        };
        may_be_serial.then(|| self.0.serial.arrive())
    }

    /// Keeps the position of a call of this tool, if it may be a serial one.
    #[must_use]
    pub fn keep_position(
        &self,
        arrived: Option<SerialPosition>,
        tool: &str,
    ) -> Option<SerialPosition> {
        let arrived = arrived?;
        match self.0.tools.as_ref()? {
            Source::Provided(_) => Some(arrived.keep(None)),
            Source::Fixed(tools) => {
                let group = tools.find(tool, self.0.listing)?.entry.safeguards.serial.clone()?;
                Some(arrived.keep(Some(group)))
            }
        }
    }
}
