//! The test client: its revision, its principal and its answers. Its requests are in `requests`.

use std::fmt;
use std::panic::Location;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use candor_protocol::json::{Decode, Object, raw};
use candor_protocol::names::meta;
use candor_protocol::rpc::{RequestId, write_request};
use candor_protocol::types::{
    ClientCapabilities, CreateMessageParams, ElicitationCapability, InputRequired, LogLevel,
    SamplingCapability,
};
use candor_protocol::{Era, Message, Principal, Revision};

use super::answers::{Answers, ModelReply, TestQuestion};
use super::called::Notice;
use super::wire::{self, Asking, TestSession, WireResult};
use crate::running_server::RunningServer;
use candor_engine::ElicitAnswer;
use candor_engine::trace::Reasons;
use candor_engine::{Claims, Identity};

/// The answer to a request of a test.
pub(super) struct TestExchange {
    pub(super) outcome: WireResult,
    pub(super) notices: Vec<Notice>,
    /// The internal reasons of its failure.
    pub(super) reasons: Vec<String>,
}

/// Long enough for a slow machine, short enough for a developer who waits.
const DEADLINE: Duration = Duration::from_secs(10);

/// More rounds than any test needs. A handler that exceeds it changes the words of its question in each round.
const MOST_ROUNDS: usize = 64;

/// A client of a server in the same process, for tests. [`Server::test`](crate::Server::test) makes it.
///
/// Requests may run concurrently. Dropping the future of a request cancels it. A legacy client opens its session with its first
/// request.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// use candor_server::{Server, protocol::Revision, tool::{JsonTool, ToolError}};
/// use serde_json::json;
///
/// let schema = json!({"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]});
/// let greet = JsonTool::new("greet", &schema, |args, _| async move {
///     Ok::<_, ToolError>(format!("Hello, {}!", args["name"].as_str().unwrap_or_default()))
/// });
/// let client = Server::new("greeter", "1.0.0").tool(greet).test();
/// assert_eq!(client.call("greet", json!({"name": "Ada"})).await.text(), "Hello, Ada!");
///
/// let refused = client.call("greet", json!({})).await;
/// assert_eq!(refused.code(), Some("invalid_arguments"));
///
/// let legacy = client.speaking(Revision::V2025_11_25);
/// assert_eq!(legacy.call("greet", json!({"name": "Bob"})).await.text(), "Hello, Bob!");
/// # }
/// ```
pub struct TestClient {
    engine: RunningServer,
    revision: Revision,
    principal: Principal,
    claims: Claims,
    capabilities: ClientCapabilities,
    answers: Answers,
    deadline: Duration,
    /// The key of its calls.
    key: Option<String>,
    next_id: AtomicU64,
    /// Internal reasons that the test has not read yet.
    pub(super) reasons: Mutex<Vec<String>>,
    /// Notifications that the test has not read yet.
    notices: Mutex<Vec<Notice>>,
    /// The legacy session, once it is open.
    connection: OnceLock<TestSession>,
}

impl TestClient {
    /// Creates a client of an existing server. It speaks the modern revision, for the principal `tester`.
    #[must_use]
    pub fn of(engine: &RunningServer) -> Self {
        Self {
            engine: engine.clone(),
            revision: Revision::V2026_07_28,
            principal: Principal::new("tester"),
            claims: Claims::default(),
            capabilities: ClientCapabilities::new(),
            answers: Answers::default(),
            deadline: DEADLINE,
            key: None,
            next_id: AtomicU64::new(1),
            reasons: Mutex::default(),
            notices: Mutex::default(),
            connection: OnceLock::new(),
        }
    }

    /// Returns another client of the same server, for another principal: `client.by("bob").call(…)`.
    #[must_use]
    pub fn by(&self, principal: &str) -> Self {
        Self { principal: Principal::new(principal), ..self.another() }
    }

    /// Returns another client of the same server, for a caller that an authenticator has found. Handlers see its claims.
    ///
    /// ```
    /// # use candor_server::{auth::Identity, protocol::Principal, Server};
    /// # struct Staff { team: &'static str }
    /// # let client = Server::new("s", "1").test();
    /// let ada = Identity::new(Principal::new("ada")).with_claims(Staff { team: "billing" });
    /// let client = client.identified(ada);
    /// ```
    #[must_use]
    pub fn identified(&self, identity: Identity) -> Self {
        let Identity { principal, claims } = identity;
        Self { principal, claims, ..self.another() }
    }

    /// Returns another client of the same server whose calls all have this key: `client.keyed("order-17").call(…)`.
    #[must_use]
    pub fn keyed(&self, key: &str) -> Self {
        Self { key: Some(key.to_owned()), ..self.another() }
    }

    /// Returns another client of the same server that speaks this revision.
    #[must_use]
    pub fn speaking(&self, revision: Revision) -> Self {
        Self { revision, ..self.another() }
    }

    /// Answers questions to the user, and declares that the client can. The closure returns the form's values as JSON, or an
    /// [`ElicitAnswer`]. A failed assertion in it fails the test.
    ///
    /// ```
    /// # use candor_server::{ElicitAnswer, Server};
    /// # use serde_json::json;
    /// # let server = || Server::new("s", "1");
    /// server().test().on_elicit(|asked| json!({"name": "Ada"}));
    /// server().test().on_elicit(|asked| ElicitAnswer::Declined);
    /// ```
    #[must_use]
    pub fn on_elicit<A: Into<ElicitAnswer>>(
        self,
        answer: impl FnMut(&TestQuestion) -> A + Send + 'static,
    ) -> Self {
        self.changed(|client| {
            client.answers.by_person(answer);
            let mut capability = ElicitationCapability::new();
            capability.form = Some(Object::new());
            capability.url = Some(Object::new());
            client.capabilities.elicitation = Some(capability);
        })
    }

    /// Answers questions to the model, and declares that the client can. The closure returns text, content, or a whole result.
    ///
    /// ```
    /// # let server = || candor_server::Server::new("s", "1");
    /// server().test().on_sample(|asked| format!("I was told {} things", asked.messages.len()));
    /// ```
    #[must_use]
    pub fn on_sample<A: Into<ModelReply>>(
        self,
        answer: impl FnMut(&CreateMessageParams) -> A + Send + 'static,
    ) -> Self {
        self.changed(|client| {
            client.answers.by_model(answer);
            let mut capability = SamplingCapability::new();
            capability.context = Some(Object::new());
            capability.tools = Some(Object::new());
            client.capabilities.sampling = Some(capability);
        })
    }

    /// Sets the folders that the client works in, and declares that it can list them: `client.roots(["file:///home/ada"])`.
    #[must_use]
    pub fn roots(self, uris: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.changed(|client| {
            client.answers.roots(uris);
            client.capabilities.roots = Some(Object::new());
        })
    }

    /// Changes the capabilities that the client declares. Without this, it declares those that it has answers for.
    #[must_use]
    pub fn capabilities(self, change: impl FnOnce(&mut ClientCapabilities)) -> Self {
        self.changed(|client| change(&mut client.capabilities))
    }

    /// Sets the time for an answer, with all its questions, after which the test fails. Without this, ten seconds.
    #[must_use]
    pub fn deadline(self, deadline: Duration) -> Self {
        self.changed(|client| client.deadline = deadline)
    }

    /// Returns the server, for example to report [changes](candor_engine::Engine::changes) to its clients.
    #[must_use]
    pub const fn engine(&self) -> &RunningServer {
        &self.engine
    }

    /// Returns the notifications to this client since the last call of this function: progress, log messages, and for a legacy
    /// client changes.
    #[must_use]
    pub fn notices(&self) -> Vec<Notice> {
        let mut notices =
            std::mem::take(&mut *self.notices.lock().unwrap_or_else(PoisonError::into_inner));
        notices.extend(self.connection.get().map(TestSession::unread).unwrap_or_default());
        notices
    }

    /// Returns the internal reasons of failures since the last call of this function: what the server logs and hides from callers.
    ///
    /// A failure of the client and a printed [`TestResult`](super::TestResult) show them, too.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// use candor_server::{Server, tool::{JsonTool, ToolError}};
    ///
    /// let broken = JsonTool::open("broken", |_, _| async {
    ///     Err::<(), _>(ToolError::internal("the disk is full"))
    /// });
    /// let client = Server::new("s", "1").tool(broken).test();
    /// let called = client.call("broken", ()).await;
    /// assert!(!called.text().contains("disk"), "callers do not see it");
    /// assert_eq!(called.internal_reason(), Some("the disk is full"));
    /// assert_eq!(client.internal_reasons(), ["the disk is full"]);
    /// # }
    /// ```
    #[must_use]
    pub fn internal_reasons(&self) -> Vec<String> {
        std::mem::take(&mut *self.reasons.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns a copy of this client without its notifications and its session.
    fn another(&self) -> Self {
        Self {
            revision: self.revision,
            principal: self.principal.clone(),
            claims: self.claims.clone(),
            capabilities: self.capabilities.clone(),
            answers: self.answers.clone(),
            deadline: self.deadline,
            key: self.key.clone(),
            ..Self::of(&self.engine)
        }
    }

    /// Changes the client. A session keeps the capabilities that its client had when it was opened, so a changed client opens a new
    /// one.
    fn changed(self, change: impl FnOnce(&mut Self)) -> Self {
        let mut client = self.another();
        change(&mut client);
        client
    }

    /// Sends a request, with all rounds that it takes. Fails the test if there is no answer.
    pub(super) async fn ask(&self, method: &str, params: Object, at: Spot) -> TestExchange {
        let subject = subject(method, &params);
        let mut notices = Vec::new();
        let collected = Reasons::default();
        let rounds = collected.collect(self.rounds(method, params, &mut notices));
        let ended = tokio::time::timeout(self.deadline, rounds).await;
        let reasons = collected.take();
        for reason in &reasons {
            // The test runner shows stderr if a test fails.
            eprintln!("{subject}: internal reason: {reason}");
        }
        let mut known = self.reasons.lock().unwrap_or_else(PoisonError::into_inner);
        known.extend(reasons.iter().cloned());
        drop(known);
        let outcome = match ended {
            Ok(Ok(outcome)) => outcome,
            Ok(Err(problem)) => fail(at, format_args!("{subject}: {problem}")),
            Err(_) => fail(
                at,
                format_args!(
                    "{subject} has no answer after {:?}: it hangs, or it needs more time (`.deadline(…)`)",
                    self.deadline
                ),
            ),
        };
        let mut unread = self.notices.lock().unwrap_or_else(PoisonError::into_inner);
        unread.extend(notices.iter().cloned());
        TestExchange { outcome, notices, reasons }
    }

    /// Sends a request repeatedly, each time with the answers to the questions of the last round.
    async fn rounds(
        &self,
        method: &str,
        mut params: Object,
        notices: &mut Vec<Notice>,
    ) -> Result<WireResult, String> {
        let connection = self.connection()?;
        let asking = Asking {
            engine: &self.engine,
            principal: &self.principal,
            claims: &self.claims,
            connection,
            answers: &self.answers,
        };
        for _ in 0..MOST_ROUNDS {
            let id = RequestId::from(self.next_id.fetch_add(1, Ordering::Relaxed));
            let message = write_request(&id, method, &self.with_meta(&params, &id));
            let outcome = asking.send(&message, notices).await?;
            let Some(questions) = self.questions(&outcome)? else {
                return Ok(outcome);
            };
            let mut answers = Object::new();
            for (key, question) in questions.input_requests.unwrap_or_default() {
                let params = match &question.params {
                    None => Object::new(),
                    Some(params) => Object::decode((&**params).into())
                        .map_err(|e| format!("the parameters of question {key:?}: {e}"))?,
                };
                answers.set(key, self.answers.to(&question.method, params)?);
            }
            params.set("inputResponses", raw(&answers));
            if let Some(state) = questions.request_state {
                params.set("requestState", raw(&state));
            }
        }
        Err(format!(
            "it still asks after {MOST_ROUNDS} rounds: each round runs the handler again, and it must put the same \
             question in the same words"
        ))
    }

    /// Returns the session of a legacy client. Opens it if necessary.
    fn connection(&self) -> Result<Option<&TestSession>, String> {
        if self.revision.era() == Era::Modern {
            return Ok(None);
        }
        if let Some(connection) = self.connection.get() {
            return Ok(Some(connection));
        }
        let opened = TestSession::open(
            &self.engine,
            self.principal.clone(),
            self.revision,
            &self.capabilities,
        )
        .map_err(|error| format!("the server refuses the session: {}", error.message))?;
        Ok(Some(self.connection.get_or_init(|| opened)))
    }

    /// Adds the metadata of every request to the parameters. Metadata that the test set itself takes precedence.
    fn with_meta(&self, params: &Object, id: &RequestId) -> Object {
        let mut params = params.clone();
        let Ok(given) = params.read::<Object>("_meta") else {
            return params;
        };
        // Without these, the server sends no progress and no log, and tests should see both.
        let mut meta = Object::new().with(meta::PROGRESS_TOKEN, id);
        if self.revision.era() == Era::Modern {
            meta = meta
                .with(meta::PROTOCOL_VERSION, self.revision.as_str())
                .with(meta::CLIENT_CAPABILITIES, &self.capabilities)
                .with(meta::CLIENT_INFO, &wire::info())
                .with(meta::LOG_LEVEL, &LogLevel::Debug);
        }
        if let Some(key) = &self.key {
            meta = meta.with(meta::IDEMPOTENCY_KEY, key);
        }
        for (key, value) in given.unwrap_or_default().iter() {
            meta.set(key, value.to_raw());
        }
        params.set("_meta", raw(&meta));
        params
    }

    /// Returns the questions of a modern result, if it asks for input.
    fn questions(&self, outcome: &WireResult) -> Result<Option<InputRequired>, String> {
        let (Era::Modern, Ok(result)) = (self.revision.era(), outcome) else {
            return Ok(None);
        };
        let malformed = |e| format!("the server's result cannot be read: {e}");
        let result = Object::decode((&**result).into()).map_err(malformed)?;
        if result.read_str("resultType").map_err(malformed)?.as_deref() != Some("input_required") {
            return Ok(None);
        }
        InputRequired::from_object(result).map(Some).map_err(malformed)
    }
}

impl fmt::Debug for TestClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TestClient")
            .field("server", &self.engine.name())
            .field("revision", &self.revision)
            .field("principal", &self.principal)
            .finish_non_exhaustive()
    }
}

/// The line of the test that made the request. A panic inside a future does not know it.
pub(super) type Spot = &'static Location<'static>;

/// Fails the test.
pub(super) fn fail(at: Spot, problem: impl fmt::Display) -> ! {
    panic!("{problem}\n  asked at {at}")
}

/// Describes a request: `tools/call of "greet"`.
pub(super) fn subject(method: &str, params: &Object) -> String {
    match params.read_str("name").ok().flatten().or(params.read_str("uri").ok().flatten()) {
        Some(name) => format!("{method} of {name:?}"),
        None => method.to_owned(),
    }
}
