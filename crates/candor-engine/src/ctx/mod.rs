//! What a handler can do while it runs.
//!
//! - here: [`Ctx`]: progress, log, questions, changes.
//! - `ask`: questions to the client, `form`: forms from types. `round`: questions whose answers come with the next request.
//! - `attempt`: one run of a handler, `deadline`: how long it may take.
//! - `request`: the request that a context belongs to. `state`: values that a server shares with its handlers.

mod ask;
pub(crate) mod attempt;
mod deadline;
mod form;
pub(crate) mod request;
pub(crate) mod round;
pub(crate) mod state;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use candor_ledger::Key;
use candor_protocol::Principal;
use candor_protocol::json::{Number, Object, RawValue, raw};
use candor_protocol::types::{CreateMessageResult, InputRequest, LogLevel, Root};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

use crate::caller::{Caller, ClientInfo};
use crate::capacity::{ResponseCapacity, Slot};
use crate::changes::Changes;
use crate::error::{AskError, Refusal, ToolError};
use crate::peer::{NoPeer, Peer, Progress, QuestionChannel};
use deadline::Deadline;
use form::Form;
use request::{RequestScope, SharedContext};
use round::{CloseSignal, Round};

pub use ask::{Elicit, ElicitAnswer, Sample};
pub use form::FormAnswer;
pub use request::RequestSlots;
pub use state::{FromCtx, Need, State};

/// The context of one request: its caller, and the messages to the client before the answer.
///
/// Cloning is cheap. A context that outlives its request sends nothing.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// use candor_server::{Server, tool::{JsonTool, ToolError}};
/// use serde_json::json;
///
/// let count = JsonTool::open("count", |_, ctx| async move {
///     for step in 1..=3 {
///         if ctx.is_cancelled() {
///             return Err(ToolError::new("Stopped half way"));
///         }
///         ctx.progress(step, 3, "counting").await;
///     }
///     Ok(format!("{} has counted to three", ctx.principal()))
/// });
/// let client = Server::new("counter", "1.0.0").tool(count).test();
/// let called = client.by("ada").call("count", json!({})).await;
/// assert_eq!(called.text(), "ada has counted to three");
/// assert_eq!(called.progress().len(), 3);
/// # }
/// ```
#[derive(Clone)]
pub struct Ctx(Arc<Scope>);

struct Scope {
    caller: Arc<Caller>,
    /// The way back to the client. A call that was parked goes on with the peer of the request that brought its answers.
    peer: RwLock<Arc<dyn Peer>>,
    /// False once the answer was sent, so that no message can follow it. Locked while sending, so that no message can overtake
    /// another.
    open: Mutex<bool>,
    /// One more than the last progress that was sent, because progress must grow.
    next_progress: AtomicU64,
    /// How many messages have reported that the request waits.
    waited: AtomicU64,
    /// Cancelled if the handler should stop.
    cancel: CancellationToken,
    key: Option<Key>,
    ended: CloseSignal,
    round: Round,
    /// Whether the runner of the handler can park it.
    parks: bool,
    deadline: Deadline,
    shared: Arc<SharedContext>,
    /// A call that keeps running without its caller holds the request's body, so it also holds the body's slot.
    _body: Option<Arc<Slot>>,
    response: Option<ResponseCapacity>,
}

impl Ctx {
    pub(crate) fn new(request: &RequestScope, round: Round) -> Self {
        Self::of(request, request.peer.clone(), round, request.peer.gone().clone(), None, false)
    }

    /// Creates the context of a call without a record. Its handler can be parked, and a later request may bring its answers.
    pub(crate) fn of_call(request: &RequestScope, round: Round) -> Self {
        Self::of(request, request.peer.clone(), round, request.peer.gone().clone(), None, true)
    }

    /// Creates the context of a call with a record. The client's cancellation does not reach it: a write that stops halfway would
    /// leave an unknown outcome.
    pub(crate) fn recorded(request: &RequestScope, round: Round, key: Option<Key>) -> Self {
        Self::of(request, request.peer.clone(), round, CancellationToken::new(), key, true)
    }

    /// Creates the context of a handler that runs beside a request. It sends nothing to the client.
    pub(crate) fn silent(request: &RequestScope, round: Round) -> Self {
        let gone = request.peer.gone().clone();
        Self::of(request, Arc::new(NoPeer::until(gone.clone())), round, gone, None, false)
    }

    fn of(
        request: &RequestScope,
        peer: Arc<dyn Peer>,
        round: Round,
        cancel: CancellationToken,
        key: Option<Key>,
        parks: bool,
    ) -> Self {
        Self(Arc::new(Scope {
            caller: request.caller.clone(),
            peer: RwLock::new(peer),
            open: Mutex::new(true),
            next_progress: AtomicU64::new(0),
            waited: AtomicU64::new(0),
            cancel,
            key,
            ended: CloseSignal::default(),
            round,
            parks,
            deadline: Deadline::after(request.shared.deadline),
            shared: request.shared.clone(),
            _body: request.slots.body.clone(),
            response: request.slots.response.clone(),
        }))
    }

    /// Returns the principal of the caller.
    #[must_use]
    pub fn principal(&self) -> &Principal {
        &self.0.caller.principal
    }

    /// Returns what the server's authenticator knows about the caller besides the principal, if it
    /// has this type. Over stdio there is no authenticator, so this is `None`.
    ///
    /// ```
    /// # use candor_server::{Ctx, tool::ToolError};
    /// struct Staff {
    ///     team: String,
    /// }
    ///
    /// async fn close_books(ctx: Ctx) -> Result<String, ToolError> {
    ///     match ctx.claims::<Staff>() {
    ///         Some(staff) if staff.team == "billing" => Ok("closed".to_owned()),
    ///         _ => Err(ToolError::new("Only the billing team closes the books").code("forbidden")),
    ///     }
    /// }
    /// ```
    #[must_use]
    pub fn claims<T: 'static>(&self) -> Option<&T> {
        self.0.caller.claims.get()
    }

    /// Returns the client as it describes itself.
    #[must_use]
    pub fn client(&self) -> &ClientInfo {
        &self.0.caller.client
    }

    /// Returns the request's `_meta` as it was sent.
    #[must_use]
    pub fn meta(&self) -> &Object {
        &self.0.caller.meta
    }

    /// Returns the server's value of this type.
    pub fn state<T: Send + Sync + 'static>(&self) -> Result<State<T>, ToolError> {
        State::of(&self.0.shared.states)
    }

    /// Returns the handle that tells clients what has changed.
    #[must_use]
    pub fn changes(&self) -> &Changes {
        &self.0.shared.changes
    }

    /// Returns the idempotency key of this call, the same on every attempt, if the caller sent one. Pass it on to systems that take
    /// such keys themselves. If other callers may use the same key, combine it with the principal.
    ///
    /// ```
    /// # use candor_server::{Ctx, tool::ToolError};
    /// # struct Bank; impl Bank { async fn charge(&self, _: u32, _: Option<&str>) {} }
    /// async fn pay(amount: u32, bank: Bank, ctx: Ctx) -> Result<(), ToolError> {
    ///     bank.charge(amount, ctx.key()).await;
    ///     Ok(())
    /// }
    /// ```
    #[must_use]
    pub fn key(&self) -> Option<&str> {
        self.0.key.as_ref().map(Key::as_str)
    }

    /// Reserves capacity for a result with this number of bytes of text, before the handler makes it. Waits a few seconds if other
    /// responses use all of it. For handlers that know the size of their result, such as the size of a file. Without this, many
    /// such handlers at once hold all their results in memory before the server can refuse any.
    ///
    /// ```
    /// # use candor_server::{Ctx, tool::ToolError};
    /// # struct Archive; impl Archive { fn size(&self, _: &str) -> u64 { 0 } async fn text(&self, _: &str) -> String { String::new() } }
    /// async fn read(name: &str, archive: Archive, ctx: Ctx) -> Result<String, ToolError> {
    ///     ctx.reserve_response(archive.size(name)).await?;
    ///     Ok(archive.text(name).await)
    /// }
    /// ```
    ///
    /// # Errors
    /// `busy`: the server has no capacity for it. Return this error, and have no effect before.
    pub async fn reserve_response(&self, bytes: u64) -> Result<(), ToolError> {
        match &self.0.response {
            Some(capacity) => capacity
                .wait_for_tool(bytes)
                .await
                .map_err(|full| Refusal::ResponseCapacity(full).into()),
            None => Ok(()),
        }
    }

    /// Waits until the client no longer wants an answer. A call with a key that may change data keeps running without its client,
    /// and a retry with the same key returns its result.
    pub async fn cancelled(&self) {
        self.0.cancel.cancelled().await;
    }

    /// Returns true once the client no longer wants an answer, as [`Ctx::cancelled`] defines it.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.0.cancel.is_cancelled()
    }

    /// Reports progress, if the client asked for it: `ctx.progress(50, 100, "half way")`.
    ///
    /// Progress must grow: a value that does not is not sent.
    pub async fn progress<'a>(
        &self,
        done: u64,
        total: impl Into<Option<u64>>,
        message: impl Into<Option<&'a str>>,
    ) {
        if !self.peer().wants_progress() {
            return;
        }
        if self.0.next_progress.fetch_max(done.saturating_add(1), Ordering::Relaxed) > done {
            return;
        }
        let (total, message) = (total.into().map(Number::from), message.into().map(str::to_owned));
        self.report(Progress { done: done.into(), total, message, meta: None }).await;
    }

    /// Reports that the request waits, as progress in steps too small to count. `mark` reports it to programs.
    pub(crate) async fn waiting(&self, message: &str, mark: Option<&Object>) {
        if !self.peer().wants_progress() {
            return;
        }
        let step = self.0.waited.fetch_add(1, Ordering::Relaxed);
        // The handler's own progress must be larger.
        self.0.next_progress.fetch_max(1, Ordering::Relaxed);
        #[expect(clippy::cast_precision_loss, reason = "few")]
        let done = (step + 1) as f64 * 1e-6;
        let Some(done) = Number::from_f64(done) else { return };
        let (message, meta) = (Some(message.to_owned()), mark.cloned());
        self.report(Progress { done, total: None, message, meta }).await;
    }

    async fn report(&self, progress: Progress) {
        let peer = self.peer();
        self.send(&*peer, peer.progress(progress)).await;
    }

    /// Sends a log message to the client, if it asked for messages of this level.
    pub async fn log(&self, level: LogLevel, data: &(impl Serialize + ?Sized)) {
        let peer = self.peer();
        if peer.wants_log(level) {
            self.send(&*peer, peer.log(level, raw(data))).await;
        }
    }

    /// Asks the user of the client.
    ///
    /// In the modern era the handler runs again from its beginning once the client has sent the answer. The code before the last
    /// question must have no effect. Questions that are asked concurrently, with `tokio::join!`, go out together.
    pub async fn elicit(&self, question: Elicit) -> Result<ElicitAnswer, AskError> {
        ask::elicit(self, question).await
    }

    /// Asks the user of the client for a value of a type. The form, its fields and their descriptions come from `T`.
    ///
    /// `T` is a struct of strings, numbers, booleans, enums without fields, lists of such enums, and options of these. The protocol
    /// allows no more. The answer is checked against the whole type. The rule of [`Ctx::elicit`] holds.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// use candor_server::{FormAnswer, Server, tool::{JsonTool, ToolError}};
    /// use schemars::JsonSchema;
    /// use serde::Deserialize;
    /// use serde_json::json;
    ///
    /// #[derive(Deserialize, JsonSchema)]
    /// struct Order {
    ///     /// How many pieces
    ///     count: u8,
    ///     gift: Option<bool>,
    /// }
    ///
    /// let order = JsonTool::open("order", |_, ctx| async move {
    ///     match ctx.elicit_as::<Order>("What shall it be?").await? {
    ///         FormAnswer::Accepted(order) => Ok(format!("{} pieces", order.count)),
    ///         FormAnswer::Declined | FormAnswer::Cancelled => Err(ToolError::new("Nothing was ordered")),
    ///     }
    /// });
    /// let client = Server::new("shop", "1.0.0").tool(order).test();
    /// let client = client.on_elicit(|_| json!({"count": 3}));
    /// assert_eq!(client.call("order", json!({})).await.text(), "3 pieces");
    /// # }
    /// ```
    ///
    /// # Errors
    /// Those of [`Ctx::elicit`]; [`AskError::Malformed`] if the answer is not a `T`, [`AskError::NotAForm`] if `T` is not flat.
    pub async fn elicit_as<T>(&self, message: impl Into<String>) -> Result<FormAnswer<T>, AskError>
    where
        T: DeserializeOwned + JsonSchema + 'static,
    {
        let form = Form::of_type::<T>()?;
        let answer = self.elicit(Elicit::form(message, &form.requested)).await?;
        form.read(answer)
    }

    /// Asks the model of the client. The rule of [`Ctx::elicit`] holds.
    pub async fn sample(&self, question: Sample) -> Result<CreateMessageResult, AskError> {
        ask::sample(self, question).await
    }

    /// Asks for the folders that the client works in. The rule of [`Ctx::elicit`] holds.
    pub async fn roots(&self) -> Result<Vec<Root>, AskError> {
        ask::roots(self).await
    }

    /// Closes a legacy client's event stream while the handler keeps running. The client reconnects for the answer. On other
    /// transports and revisions it does nothing.
    pub async fn hang_up(&self) {
        if *self.0.open.lock().await {
            self.peer().hang_up();
        }
    }

    /// Returns when the client can answer questions.
    pub(crate) fn channel(&self) -> QuestionChannel {
        self.peer().channel()
    }

    pub(crate) fn round(&self) -> &Round {
        &self.0.round
    }

    pub(crate) fn deadline(&self) -> &Deadline {
        &self.0.deadline
    }

    pub(crate) fn ended(&self) -> &CloseSignal {
        &self.0.ended
    }

    /// Asks the client on an immediate channel, and waits for the answer, or until `stop` is cancelled. Then the client gets a
    /// cancellation of the question.
    pub(crate) async fn ask_until(
        &self,
        question: &InputRequest,
        stop: &CancellationToken,
    ) -> Result<Box<RawValue>, AskError> {
        if !*self.0.open.lock().await || self.gone().is_cancelled() {
            return Err(AskError::Gone);
        }
        let _paused = self.0.deadline.pause();
        self.peer().ask(question, stop).await
    }

    /// Forwards questions of another server to the caller's client, and returns its answers, by the same names.
    ///
    /// The handler stays where it is until the answers come: it is *parked*, not run again. If the answers come with the client's
    /// next request, the handler waits for that request in this process, for at most [`Limits::round`](crate::Limits::round). If the
    /// process ends first, the outcome of the call is unknown. For handlers that hold something open that cannot be opened again,
    /// such as a running call of another server. All others use [`elicit`](Self::elicit), which needs no memory between requests.
    ///
    /// ```
    /// # use candor_server::{Ctx, tool::ToolError, protocol::types::InputRequest};
    /// # use std::collections::BTreeMap;
    /// # struct Upstream;
    /// # impl Upstream {
    /// #     async fn question(&mut self) -> Option<BTreeMap<String, InputRequest>> { None }
    /// #     async fn answer(&mut self, _: BTreeMap<String, Box<candor_server::protocol::json::RawValue>>) {}
    /// # }
    /// async fn forward(mut upstream: Upstream, ctx: Ctx) -> Result<String, ToolError> {
    ///     while let Some(questions) = upstream.question().await {
    ///         let answers = ctx.relay(questions).await?;
    ///         upstream.answer(answers).await;
    ///     }
    ///     Ok("done".to_owned())
    /// }
    /// ```
    ///
    /// # Errors
    /// The client does not support such a question, is gone, or does not answer in time; or the handler is not that of a tool.
    pub async fn relay(
        &self,
        questions: BTreeMap<String, InputRequest>,
    ) -> Result<BTreeMap<String, Box<RawValue>>, AskError> {
        questions.values().try_for_each(|question| ask::answerable(question, self.client()))?;
        match self.channel() {
            QuestionChannel::NextRequest if self.0.parks => {
                let permit = self.0.shared.parking.clone().try_acquire_owned();
                let _permit = permit.map_err(|_| AskError::TooManyParked)?;
                let _paused = self.0.deadline.pause();
                self.round().relay(questions).await
            }
            QuestionChannel::NextRequest => Err(AskError::NoChannel),
            QuestionChannel::Immediate => {
                let mut answers = BTreeMap::new();
                for (name, question) in questions {
                    let answer = self.ask_until(&question, &self.gone()).await?;
                    answers.insert(name, answer);
                }
                Ok(answers)
            }
        }
    }

    /// Goes on with the peer of another request, which brought the answers that the handler waits for.
    pub(crate) async fn resume(&self, peer: Arc<dyn Peer>) {
        *self.0.peer.write().unwrap_or_else(PoisonError::into_inner) = peer;
        *self.0.open.lock().await = true;
    }

    fn peer(&self) -> Arc<dyn Peer> {
        self.0.peer.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Ends the context. Nothing is sent through it afterward.
    pub(crate) async fn end(&self) {
        *self.0.open.lock().await = false;
        self.0.ended.set();
    }

    /// Sends nothing more to the client, which has its answer. The handler keeps running.
    pub(crate) async fn detach(&self) {
        *self.0.open.lock().await = false;
    }

    /// Returns a token that is cancelled once the client no longer waits, even if the handler keeps running.
    pub(crate) fn gone(&self) -> CancellationToken {
        self.peer().gone().clone()
    }

    /// Tells the handler and its tasks to stop.
    pub(crate) fn stop(&self) {
        self.0.cancel.cancel();
    }

    /// Sends a message, unless the answer was sent. A message is sent only when its future is polled.
    async fn send(&self, peer: &dyn Peer, message: impl Future<Output = ()>) {
        let open = self.0.open.lock().await;
        if *open {
            // A cancelled request ends without `end`, and a task of its handler may outlive it.
            tokio::select! {
                biased;
                () = peer.gone().cancelled() => {}
                () = message => {}
            }
        }
    }
}

/// Reports that a request waits before it has a context. The steps are smaller than those of [`Ctx::waiting`], which may follow.
pub(crate) async fn report_wait(peer: &dyn Peer, step: u32, message: &str) {
    let done = Number::from_f64(f64::from(step + 1) * 1e-9);
    if let (true, Some(done)) = (peer.wants_progress(), done) {
        let progress =
            Progress { done, total: None, message: Some(message.to_owned()), meta: None };
        tokio::select! {
            biased;
            () = peer.gone().cancelled() => {}
            () = peer.progress(progress) => {}
        }
    }
}
