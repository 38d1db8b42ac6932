//! What a handler may ask of the world while it runs.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use candor_ledger::Key;
use candor_protocol::json::{Number, Object, RawValue, raw};
use candor_protocol::names::{meta, notification};
use candor_protocol::rpc::{RequestId, write_notification};
use candor_protocol::types::{
    CreateMessageResult, InputRequest, LogLevel, LogParams, ProgressParams, Root,
};
use candor_protocol::{Era, Principal, Revision};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

use crate::ask::{self, AskError, Elicit, ElicitAnswer, Sample};
use crate::caller::ClientInfo;
use crate::changes::Changes;
use crate::deadline::Deadline;
use crate::engine::Engine;
use crate::exchange::RequestContext;
use crate::form::{Form, FormAnswer};
use crate::identity::Claims;
use crate::outlet::Outlet;
use crate::response_capacity::{self, ResponseCapacity};
use crate::room::Slot;
use crate::round::{CloseSignal, Round};
use crate::session::Session;
use crate::state::{State, States};
use crate::tool::ToolError;

/// The context of one request: who asks, and how to talk to them before the answer.
///
/// Cloning is cheap. A context that outlives its request says nothing any more.
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
    principal: Principal,
    claims: Claims,
    client: Arc<ClientInfo>,
    session: Option<Arc<Session>>,
    meta: Arc<Object>,
    log_level: Option<LogLevel>,
    progress_token: Option<RequestId>,
    /// One more than the last progress that was sent, as it must grow.
    next_progress: AtomicU64,
    /// How often it was said that the request waits.
    waited: AtomicU64,
    /// Taken out before the answer is sent, so that nothing can follow the answer. Held while sending, so
    /// that nothing can overtake.
    outlet: Mutex<Option<Outlet>>,
    /// Ends when the client no longer wants an answer.
    gone: CancellationToken,
    /// Ends when the handler should stop.
    cancel: CancellationToken,
    key: Option<Key>,
    ended: CloseSignal,
    round: Round,
    deadline: Deadline,
    changes: Changes,
    states: Arc<States>,
    /// A call that goes on without its caller holds what it was sent, and so the room for that.
    _body: Option<Arc<Slot>>,
    response: Option<ResponseCapacity>,
}

impl Ctx {
    pub(crate) fn new(engine: &Engine, exchange: &RequestContext, round: Round) -> Self {
        Self::of(engine, exchange, round, exchange.cancel.clone(), None)
    }

    /// Of a call that has a record, which goes on when its client is gone: whoever is told to stop half way through leaves behind
    /// what nobody can answer for.
    pub(crate) fn recorded(
        engine: &Engine,
        exchange: &RequestContext,
        round: Round,
        key: Option<Key>,
    ) -> Self {
        Self::of(engine, exchange, round, CancellationToken::new(), key)
    }

    /// Of a handler that is run beside a request: the client hears nothing of it.
    pub(crate) fn silent(engine: &Engine, exchange: &RequestContext, round: Round) -> Self {
        let ctx = Self::new(engine, exchange, round);
        if let Ok(mut outlet) = ctx.0.outlet.try_lock() {
            *outlet = Some(Outlet::None);
        }
        ctx
    }

    fn of(
        engine: &Engine,
        exchange: &RequestContext,
        round: Round,
        cancel: CancellationToken,
        key: Option<Key>,
    ) -> Self {
        Self(Arc::new(Scope {
            principal: exchange.principal.clone(),
            claims: exchange.claims.clone(),
            client: exchange.client.clone(),
            session: exchange.session.clone(),
            progress_token: exchange.meta.read(meta::PROGRESS_TOKEN).ok().flatten(),
            meta: exchange.meta.clone(),
            log_level: exchange.log_level,
            next_progress: AtomicU64::new(0),
            waited: AtomicU64::new(0),
            outlet: Mutex::new(Some(exchange.outlet.clone())),
            gone: exchange.cancel.clone(),
            cancel,
            key,
            ended: CloseSignal::default(),
            round,
            deadline: Deadline::after(engine.limits().deadline),
            changes: engine.changes().clone(),
            states: engine.parts().states.clone(),
            _body: exchange.body.clone(),
            response: exchange.response.clone(),
        }))
    }

    /// Who is asking.
    #[must_use]
    pub fn principal(&self) -> &Principal {
        &self.0.principal
    }

    /// Returns what the server's [authenticator](crate::auth::Authenticator) knows of the caller besides the principal, if it is of
    /// this type. Over stdio there is no authenticator, so there is nothing.
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
        self.0.claims.get()
    }

    /// The client as it describes itself.
    #[must_use]
    pub fn client(&self) -> &ClientInfo {
        &self.0.client
    }

    /// The request's `_meta`, as it came.
    #[must_use]
    pub fn meta(&self) -> &Object {
        &self.0.meta
    }

    /// The server's value of this type.
    pub fn state<T: Send + Sync + 'static>(&self) -> Result<State<T>, ToolError> {
        State::of(&self.0.states)
    }

    /// Tells clients that tools, prompts or resources have changed.
    #[must_use]
    pub fn changes(&self) -> &Changes {
        &self.0.changes
    }

    /// The name that the caller has given to this operation, the same on every attempt, if it has given one. Pass it on to
    /// systems that take such keys themselves; together with the caller, if others may use the same.
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

    /// Reserves capacity for a result with so many bytes of text, before the handler makes it. Waits a few seconds if other responses
    /// have it all. For handlers that know how much they are about to return, such as the size of a file: without this, many of them at
    /// once hold all of it before the server can refuse any.
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
    /// `busy`: the server has no capacity for it. Return this error, and do nothing before.
    pub async fn reserve_response(&self, bytes: u64) -> Result<(), ToolError> {
        match &self.0.response {
            Some(capacity) => capacity.wait_for_tool(bytes).await.map_err(response_capacity::busy),
            None => Ok(()),
        }
    }

    /// Ends when the client no longer wants an answer. Not so for a call with a key: it goes on, and its result is there for
    /// whoever asks again.
    pub async fn cancelled(&self) {
        self.0.cancel.cancelled().await;
    }

    /// True once the client no longer wants an answer.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.0.cancel.is_cancelled()
    }

    /// Says how far the request has come, if the client wants to know: `ctx.progress(50, 100, "half way")`.
    ///
    /// Progress must grow; what does not is not sent.
    pub async fn progress<'a>(
        &self,
        done: u64,
        total: impl Into<Option<u64>>,
        message: impl Into<Option<&'a str>>,
    ) {
        let Some(token) = &self.0.progress_token else {
            return;
        };
        if self.0.next_progress.fetch_max(done.saturating_add(1), Ordering::Relaxed) > done {
            return;
        }
        let mut params = ProgressParams::new(token.clone(), done);
        params.total = total.into().map(Number::from);
        params.message = message.into().map(str::to_owned);
        self.notify(notification::PROGRESS, &params).await;
    }

    /// Says that the request waits for somebody, as progress in steps that are too small to count. `mark` says it to programs.
    pub(crate) async fn waiting(&self, message: &str, mark: Option<&Object>) {
        let Some(token) = &self.0.progress_token else {
            return;
        };
        let step = self.0.waited.fetch_add(1, Ordering::Relaxed);
        // The handler's own must be more.
        self.0.next_progress.fetch_max(1, Ordering::Relaxed);
        #[expect(clippy::cast_precision_loss, reason = "few")]
        let done = (step + 1) as f64 * 1e-6;
        let Some(done) = Number::from_f64(done) else { return };
        let mut params = ProgressParams::new(token.clone(), done);
        params.message = Some(message.to_owned());
        params.meta = mark.cloned();
        self.notify(notification::PROGRESS, &params).await;
    }

    /// Sends a log message to the client, if it wants messages of this level.
    pub async fn log(&self, level: LogLevel, data: &(impl Serialize + ?Sized)) {
        let least = match &self.0.session {
            Some(session) => Some(session.log_level()),
            None => self.0.log_level,
        };
        if least.is_some_and(|least| level >= least) {
            self.notify(notification::MESSAGE, &LogParams::new(level, raw(data))).await;
        }
    }

    /// Asks the person behind the client.
    ///
    /// In the modern era the handler runs again from its beginning once the answer is there: whatever stands
    /// before the last question must have no effect. Questions that are put side by side, with
    /// `tokio::join!`, go out together.
    pub async fn elicit(&self, question: Elicit) -> Result<ElicitAnswer, AskError> {
        ask::elicit(self, question).await
    }

    /// Asks the user behind the client for a value of a type: the form, its fields and their descriptions come from `T`.
    ///
    /// `T` is a struct of strings, numbers, booleans, enums without fields, lists of such enums, and options of these; the protocol
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
    /// As [`Ctx::elicit`]; [`AskError::Malformed`] if the answer is no `T`, [`AskError::NotAForm`] if `T` is not flat.
    pub async fn elicit_as<T>(&self, message: impl Into<String>) -> Result<FormAnswer<T>, AskError>
    where
        T: DeserializeOwned + JsonSchema + 'static,
    {
        let form = Form::of_type::<T>()?;
        let answer = self.elicit(Elicit::form(message, &form.requested)).await?;
        form.read(answer)
    }

    /// Asks the model behind the client. The rule of [`Ctx::elicit`] holds.
    pub async fn sample(&self, question: Sample) -> Result<CreateMessageResult, AskError> {
        ask::sample(self, question).await
    }

    /// Asks for the folders that the client works in. The rule of [`Ctx::elicit`] holds.
    pub async fn roots(&self) -> Result<Vec<Root>, AskError> {
        ask::roots(self).await
    }

    /// Lets go of a legacy client's event stream while the work goes on: the client comes back for the answer.
    /// Elsewhere it does nothing.
    pub async fn hang_up(&self) {
        // Earlier revisions give a client no id to come back with.
        if self.0.client.revision < Revision::V2025_11_25 {
            return;
        }
        if let Some(Outlet::Log(log)) = &*self.0.outlet.lock().await {
            log.hang_up();
        }
    }

    pub(crate) fn era(&self) -> Era {
        self.0.client.revision.era()
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

    /// Puts a question to a legacy client and waits.
    pub(crate) async fn ask_session(
        &self,
        question: &InputRequest,
    ) -> Result<Box<RawValue>, AskError> {
        self.ask_session_until(question, &self.0.gone).await
    }

    /// The same until `stop` ends: then the client is told that nobody waits for its answer any more.
    pub(crate) async fn ask_session_until(
        &self,
        question: &InputRequest,
        stop: &CancellationToken,
    ) -> Result<Box<RawValue>, AskError> {
        let Some(session) = &self.0.session else {
            return Err(AskError::Gone);
        };
        let Some(outlet) = self.0.outlet.lock().await.clone() else {
            return Err(AskError::Gone);
        };
        if self.0.gone.is_cancelled() {
            return Err(AskError::Gone);
        }
        if matches!(outlet, Outlet::None) {
            return Err(AskError::NoChannel);
        }
        let _paused = self.0.deadline.pause();
        session.ask(&outlet, question, stop).await
    }

    /// Ends the context: from here on nothing is sent in its name.
    pub(crate) async fn end(&self) {
        self.0.outlet.lock().await.take();
        self.0.ended.set();
    }

    /// Says nothing more to the client, which has its answer; the handler goes on.
    pub(crate) async fn let_go(&self) {
        self.0.outlet.lock().await.take();
    }

    /// True once the client no longer waits, whatever the handler does.
    pub(crate) fn gone(&self) -> &CancellationToken {
        &self.0.gone
    }

    /// Tells the handler to stop, and whatever it has begun.
    pub(crate) fn stop(&self) {
        self.0.cancel.cancel();
    }

    async fn notify(&self, method: &str, params: &impl Serialize) {
        if let Some(outlet) = &*self.0.outlet.lock().await {
            // A request that was taken back ends without `end`, and a task of its handler may live on.
            tokio::select! {
                biased;
                () = self.0.gone.cancelled() => {}
                () = outlet.send(write_notification(method, params)) => {}
            }
        }
    }
}

/// Says that a request waits that has no context yet, in steps that are smaller than those of [`Ctx::waiting`], which may follow.
pub(crate) async fn tell_of_wait(exchange: &RequestContext, step: u32, message: &str) {
    let token: Option<RequestId> = exchange.meta.read(meta::PROGRESS_TOKEN).ok().flatten();
    let done = Number::from_f64(f64::from(step + 1) * 1e-9);
    let (Some(token), Some(done)) = (token, done) else { return };
    let mut params = ProgressParams::new(token, done);
    params.message = Some(message.to_owned());
    tokio::select! {
        biased;
        () = exchange.cancel.cancelled() => {}
        () = exchange.outlet.send(write_notification(notification::PROGRESS, &params)) => {}
    }
}
