//! Makes a call, and repeats it if that is safe.

use std::fmt;
use std::future::IntoFuture;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use candor_hints::Hints;
use candor_protocol::json::{Object, raw};
use candor_protocol::names::{argument, extension, failure, meta, method};
use candor_protocol::rpc::code;
use candor_schema::{Invalid, Violation};
use futures_util::future::BoxFuture;
use serde_json::{Map, Value, json};

use crate::client::{Client, read};
use crate::error::Error;
use crate::host::{ApprovalWait, Progress, ProgressFn};
use crate::policy::Trust;
use crate::result::{CallResult, Replayable};
use crate::session::{OutgoingRequest, Resend};
use crate::tools::KnownTool;

/// An idempotency key: the caller's name for one operation. It is the same on every attempt, and never used for another operation.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Key(String);

impl Key {
    /// Creates a random key, unlike all others.
    ///
    /// # Panics
    /// If the system cannot provide random numbers.
    #[must_use]
    #[allow(clippy::new_without_default)] // two of them are never equal
    pub fn new() -> Self {
        let mut bytes = [0_u8; 16];
        getrandom::fill(&mut bytes).expect("the system's random numbers");
        Self(format!("{:032x}", u128::from_be_bytes(bytes)))
    }

    /// Returns the key as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl<T: Into<String>> From<T> for Key {
    fn from(key: T) -> Self {
        Self(key.into())
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A call that is ready to be made. Await it to make the call; drop the future to cancel it.
#[must_use = "a call is made when it is awaited"]
pub struct Call<'a> {
    pub(crate) client: &'a Client,
    pub(crate) tool: String,
    pub(crate) arguments: Value,
    pub(crate) key: Option<Key>,
    /// The key is sent even to a server without keys.
    pub(crate) unsafe_key: bool,
    /// The client made the key for this call, so no earlier call had it.
    new_key: bool,
    pub(crate) plan: Option<String>,
    /// The call runs only with an approval that the server asks for.
    pub(crate) expects_approval: bool,
    progress: Option<ProgressFn>,
    timeout: Option<Duration>,
    /// Set after a resend for which only the server's word says that nothing was run. A call that is not safe to retry gets one
    /// such resend.
    resent: AtomicBool,
    /// How often the call was sent.
    sends: AtomicU64,
}

impl fmt::Debug for Call<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call").field("tool", &self.tool).finish_non_exhaustive()
    }
}

impl<'a> Call<'a> {
    pub(crate) fn new(client: &'a Client, tool: String, arguments: Value) -> Self {
        let arguments = match arguments {
            Value::Null => Value::Object(Map::new()),
            arguments => arguments,
        };
        Self {
            client,
            tool,
            arguments,
            key: None,
            unsafe_key: false,
            new_key: false,
            plan: None,
            expects_approval: false,
            progress: None,
            timeout: None,
            resent: AtomicBool::new(false),
            sends: AtomicU64::new(0),
        }
    }

    /// Makes a key for this call.
    pub(crate) fn make_key(&mut self) {
        (self.key, self.new_key) = (Some(Key::new()), true);
    }

    /// Sets the idempotency key. A server with keys starts the call at most once, so the client may retry it. A server without keys
    /// would run it again, so the call fails with [`Error::KeysUnsupported`] and nothing is sent. See
    /// [`Client::has_keys`](crate::Client::has_keys).
    ///
    /// If the tool itself defines an argument that is a key, pass it among the arguments.
    pub fn key(mut self, key: impl Into<Key>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// Sends the key also to a server without idempotency keys. A retry may then run the call twice.
    pub fn unsafe_key(mut self) -> Self {
        self.unsafe_key = true;
        self
    }

    /// Refuses two different keys, because it is unclear which one counts. Also refuses a key that the server ignores: the caller
    /// would rely on it and retry the call.
    pub(crate) fn check_key(&self) -> Result<(), Error> {
        let among = self.arguments.get(argument::IDEMPOTENCY_KEY).filter(|among| !among.is_null());
        if let (Some(key), Some(among)) = (&self.key, among)
            && among != key.as_str()
        {
            return Err(Error::TwoKeys);
        }
        match self.key.is_some() && !self.unsafe_key && !self.client.has_keys() {
            true => Err(Error::KeysUnsupported),
            false => Ok(()),
        }
    }

    /// Sets the plan token of a preview of this call.
    pub fn plan_token(mut self, token: impl Into<String>) -> Self {
        self.plan = Some(token.into());
        self
    }

    /// Runs the call only with an approval. A server that would run it without one refuses it with `decision_changed`, and runs
    /// nothing. Only servers that advertise `expect` in their `dev.candor/approval` extension check this; others ignore it.
    pub fn expect_approval(mut self) -> Self {
        self.expects_approval = true;
        self
    }

    /// Calls `heard` for each progress notification of the call, in order. Do not block in it: the client reads nothing else
    /// meanwhile.
    pub fn on_progress(mut self, heard: impl Fn(Progress) + Send + Sync + 'static) -> Self {
        self.progress = Some(Arc::new(heard));
        self
    }

    /// Sets how long the client waits for an answer. Progress restarts that time.
    pub fn timeout(mut self, answer: Duration) -> Self {
        self.timeout = Some(answer);
        self
    }

    /// Returns the arguments. Fails if they are not an object.
    pub(crate) fn members(&mut self) -> Result<&mut Map<String, Value>, Error> {
        match &mut self.arguments {
            Value::Object(arguments) => Ok(arguments),
            _ => {
                let problem = Violation::new("", "must be an object");
                Err(Error::InvalidArguments(Invalid { violations: vec![problem] }))
            }
        }
    }

    /// Adds the key to the arguments if a server with keys requires it there. On any other server, an argument of that name has the
    /// tool's own meaning.
    pub(crate) fn put_key(&mut self, tool: &KnownTool) -> Result<(), Error> {
        let only_there = tool.demands_key() && self.client.has_keys();
        let key = self.key.clone().filter(|_| only_there);
        let arguments = self.members()?;
        if let Some(key) = key
            && !arguments.contains_key(argument::IDEMPOTENCY_KEY)
        {
            arguments.insert(argument::IDEMPOTENCY_KEY.to_owned(), key.as_str().into());
        }
        Ok(())
    }

    /// Returns which replay marks can be true: those for a sent key, or for a key that a trusted server derives from the arguments.
    fn replayable(&self, tool: Option<&KnownTool>) -> Replayable {
        // A server without keys stores no results, and an argument of that name is the tool's own.
        if !self.is_trusted() || !self.client.has_keys() {
            return Replayable::No;
        }
        let among = self.arguments.get(argument::IDEMPOTENCY_KEY).and_then(Value::as_str);
        match self.key.as_ref().map(Key::as_str).or(among) {
            Some(_) if self.new_key && self.sends.load(Ordering::Acquire) < 2 => Replayable::First,
            Some(key) => Replayable::Key(Some(key.to_owned())),
            None if tool.is_some_and(KnownTool::derives_keys) => Replayable::Key(None),
            None => Replayable::No,
        }
    }

    /// Makes the call by the last known definition of the tool. If the server has another definition by now, makes the call once
    /// more with that one.
    async fn as_known(&mut self) -> Result<CallResult, Error> {
        loop {
            let tool = self.client.last_known(&self.tool).await?;
            self.check_key()?;
            if let Some(tool) = &tool {
                self.put_key(tool)?;
            }
            let declared = tool.as_ref().map(|tool| tool.annotations()).unwrap_or_default();
            let (policy, trust) = (self.client.policy(), self.client.trust());
            let hints = policy.effective(&self.tool, trust, &declared, None);
            let result = self.perform(tool.as_deref(), hints).await;
            if !result.as_ref().is_err_and(is_outdated) {
                return result;
            }
            // The definition changed since the client read it. The user did not confirm the old one, so the new one needs no
            // confirmation either.
            self.client.forget_tools();
            let may_resend = self.is_trusted() || self.is_licensed(hints, tool.as_deref());
            if !may_resend || self.resent.swap(true, Ordering::AcqRel) {
                return result;
            }
        }
    }

    /// Makes the call, and repeats it if that is safe.
    pub(crate) async fn perform(
        &self,
        tool: Option<&KnownTool>,
        hints: Hints,
    ) -> Result<CallResult, Error> {
        // Calls that may change data wait for each other.
        let _turn = match hints.is_read_only() {
            true => None,
            false => self.client.turn().await,
        };
        let writes = !hints.is_read_only();
        let (mut failed, mut may_have_run) = (0, false);
        loop {
            let licensed = self.is_licensed(hints, tool);
            let outcome = self.once(tool, licensed, writes).await;
            let again = match &outcome {
                Ok(result) => self.may_repeat_failed(result, licensed),
                Err(error) => self.may_repeat(error, licensed).then(|| error.retry_after()),
            };
            // If only the server's word says that nothing was run, a call that is not safe to retry is resent once at most.
            let unsent = outcome.as_ref().is_err_and(Error::is_unsent);
            let again =
                again.filter(|_| licensed || unsent || !self.resent.swap(true, Ordering::AcqRel));
            may_have_run |= writes && outcome.as_ref().is_err_and(Error::may_have_run);
            failed += 1;
            let wait = again.and_then(|after| self.client.retry().wait(failed, after));
            match wait {
                Some(wait) => tokio::time::sleep(wait).await,
                // Even if the last attempt did not run, an earlier one may have.
                None if may_have_run => return outcome.map_err(Error::of_sent_call),
                None => return outcome,
            }
        }
    }

    fn is_trusted(&self) -> bool {
        self.client.trust() == Trust::Trusted
    }

    /// Returns true if the call is safe to send twice: it only reads, has no further effect, or has a key that the server
    /// recognizes. An untrusted server's claim to support keys does not count.
    fn is_licensed(&self, hints: Hints, tool: Option<&KnownTool>) -> bool {
        let has_key = self.key.is_some() || tool.is_some_and(KnownTool::derives_keys);
        hints.is_read_only()
            || hints.is_idempotent()
            || (has_key && self.is_trusted() && self.client.has_keys())
    }

    /// Returns true if a failed call is sent again. The error must be passing. The call must also be safe to retry or unsent, or a
    /// trusted server must report that it did not run.
    fn may_repeat(&self, error: &Error, licensed: bool) -> bool {
        let not_done = error.is_unsent() || (self.is_trusted() && !error.may_have_run());
        error.is_passing() && (licensed || not_done)
    }

    /// Returns when to repeat a call that returned a failure: after the delay that the server asks for, if any. Returns `None` if
    /// the call must not be repeated.
    fn may_repeat_failed(&self, result: &CallResult, licensed: bool) -> Option<Option<Duration>> {
        let failure = result.failure()?;
        let again = match failure.code.as_str() {
            // An operator must resolve the outcome, or a reviewer must answer the request. A retry does neither.
            failure::OUTCOME_UNKNOWN | failure::APPROVAL_REQUIRED => false,
            failure::IN_PROGRESS => licensed,
            // The server refused the call before it ran. Only a trusted server's word counts.
            failure::RATE_LIMITED | failure::BUSY | failure::LEDGER_UNAVAILABLE
                if failure.by_server =>
            {
                licensed || self.is_trusted()
            }
            _ => failure.retriable == Some(true) && licensed,
        };
        again.then_some(failure.retry_after)
    }

    /// Returns a function that passes progress to the call's own listener, and reports a wait for approval to the host, once.
    fn progress_with_waits(&self) -> Option<ProgressFn> {
        if self.client.host().wait.is_none() {
            return self.progress.clone();
        }
        let (host, own) = (self.client.host().clone(), self.progress.clone());
        let (tool, told) = (self.tool.clone(), AtomicBool::new(false));
        Some(Arc::new(move |news: Progress| {
            if let Some(wait) = &host.wait
                && news.waits_for_approval()
                && !told.swap(true, Ordering::AcqRel)
            {
                let operation = news.operation().map(str::to_owned);
                wait(ApprovalWait { tool: tool.clone(), operation });
            }
            if let Some(own) = &own {
                own(news);
            }
        }))
    }

    async fn once(
        &self,
        tool: Option<&KnownTool>,
        licensed: bool,
        writes: bool,
    ) -> Result<CallResult, Error> {
        let mut params = Object::new();
        params.set("name", raw(&self.tool));
        params.set("arguments", raw(&self.arguments));
        let mirrored = tool.map(|tool| mirrored(tool, &self.arguments)).unwrap_or_default();
        let mut wish = OutgoingRequest::new(method::TOOLS_CALL, params);
        wish.name = Some(&self.tool);
        wish.mirrored = &mirrored;
        wish.progress = self.progress_with_waits();
        wish.timeout = self.timeout;
        wish.writes = writes;
        wish.resends = Some(&self.sends);
        wish.resend = match (licensed, self.is_trusted()) {
            (true, _) => Resend::Freely,
            (false, true) => Resend::Once(&self.resent),
            (false, false) => Resend::Never,
        };
        if let Some(key) = &self.key {
            wish.meta.set(meta::IDEMPOTENCY_KEY, raw(key.as_str()));
            wish.key = Some(key.as_str());
        }
        if self.expects_approval {
            wish.meta.set(extension::APPROVAL, raw(&json!({"expect": "ask"})));
        }
        if let Some(plan) = &self.plan {
            wish.meta.set(meta::PLAN_TOKEN, raw(plan));
        }
        let running = self.client.host().running();
        let answer = self.client.ask_as(&running, wish).await;
        if !answer.as_ref().is_err_and(Error::is_unsent) {
            self.sends.fetch_add(1, Ordering::AcqRel);
        }
        let result = read(&answer?.result)?;
        let schema = tool.and_then(KnownTool::output_schema);
        let mut result = CallResult::new(result, schema).map_err(Error::protocol)?;
        if result.is_error()
            && let Some(invalid) = running.unsent_answer(Some(&result.text())).await
        {
            return Err(Error::InvalidAnswer(invalid));
        }
        result.is_trusted = self.is_trusted();
        result.replay = self.replayable(tool);
        match tool {
            Some(tool) if !result.is_error() => checked(result, tool).await,
            _ => Ok(result),
        }
    }
}

/// Returns the result if it matches the tool's output schema, otherwise [`Error::ResultInvalid`].
async fn checked(result: CallResult, tool: &KnownTool) -> Result<CallResult, Error> {
    let Some(schema) = tool.output_check().await else { return Ok(result) };
    let invalid = match result.structured() {
        Some(value) => match schema.check(value) {
            Ok(()) => return Ok(result),
            Err(invalid) => invalid,
        },
        None => Invalid { violations: vec![Violation::new("", "structured content is missing")] },
    };
    Err(Error::ResultInvalid { result: Box::new(result), invalid })
}

/// Returns the arguments that are also sent as headers.
fn mirrored(tool: &KnownTool, arguments: &Value) -> Vec<(String, String)> {
    let mirrors = tool.mirrors.iter();
    mirrors
        .filter_map(|mirror| {
            let text = match mirror.value(arguments)? {
                Value::String(text) => text.clone(),
                value @ (Value::Bool(_) | Value::Number(_)) => value.to_string(),
                _ => return None,
            };
            Some((mirror.header.clone(), text))
        })
        .collect()
}

impl<'a> IntoFuture for Call<'a> {
    type Output = Result<CallResult, Error>;
    type IntoFuture = BoxFuture<'a, Self::Output>;

    fn into_future(mut self) -> Self::IntoFuture {
        Box::pin(async move {
            self.members()?;
            self.as_known().await
        })
    }
}

/// Returns true if the server reports a header mismatch: it has another definition of the tool than this client.
pub(crate) fn is_outdated(error: &Error) -> bool {
    matches!(error.cause(), Error::Server(error) if error.code() == code::HEADER_MISMATCH)
}
