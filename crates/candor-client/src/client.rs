//! The client of one server. It reconnects when needed.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use candor_protocol::json::{Object, RawValue, raw};
use candor_protocol::names::method;
use candor_protocol::types::{
    CompleteArgument, CompleteContext, CompleteParams, CompleteReference, CompleteResult,
    GetPromptParams, GetPromptResult, Implementation, Prompt, ServerCapabilities,
};
use candor_protocol::{Era, Revision};
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::Mutex as AsyncMutex;

use crate::breaker::{Breaker, Work};
use crate::cache::Cache;
use crate::call::{Call, Key};
use crate::connect::{ClientLimits, Connect, ConnectTarget, Program};
use crate::error::Error;
use crate::explain::Questions;
use crate::host::Host;
use crate::link::http::Bearer;
use crate::lists::Page;
use crate::members::{DecodeObject as _, locked, members_of};
use crate::policy::{HostPolicy, Trust};
use crate::retry::Retry;
use crate::safely::SafeCall;
use crate::session::{OutgoingRequest, Session};
use crate::tools::{KnownTool, Tools};

/// A client of one MCP server, of either era. Clones share the connection and all state.
///
/// ```no_run
/// use candor_client::{Client, Trust};
/// use serde_json::json;
///
/// # async fn example() -> Result<(), candor_client::Error> {
/// let client = Client::connect("http://127.0.0.1:7332/mcp").trust(Trust::Trusted).await?;
/// for tool in client.tools().await?.iter() {
///     println!("{}", tool.name());
/// }
/// let result = client.call("greet", json!({"name": "Ada"})).await?;
/// println!("{}", result.text());
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Client(Arc<Inner>);

struct Inner {
    target: ConnectTarget,
    era: Option<Era>,
    info: Implementation,
    host: Arc<Host>,
    limits: ClientLimits,
    trust: Trust,
    policy: HostPolicy,
    retry: Retry,
    cache: Cache,
    breaker: Breaker,
    /// A digest of the credentials. The cache separates private answers by it.
    principal: [u8; 32],
    name: Arc<str>,
    session: Mutex<Option<Arc<Session>>>,
    /// Held by the task that connects. Others wait.
    connecting: AsyncMutex<()>,
    tools: Mutex<Option<ToolCache>>,
    questions: Questions,
    /// Held by a call that may change data.
    turn: AsyncMutex<()>,
    parallel_writes: bool,
}

#[derive(Clone)]
struct ToolCache {
    tools: Arc<Tools>,
    /// The tools are fresh until then, unless the server reports a change earlier. `None`: until the server reports a change.
    until: Option<Instant>,
    epoch: u64,
    session: Arc<Session>,
}

impl Client {
    /// Connects to a server behind a URL.
    pub fn connect(url: impl Into<String>) -> Connect {
        Connect::to(ConnectTarget::Url {
            url: url.into(),
            bearer: Bearer::None,
            headers: Vec::new(),
        })
    }

    /// Starts a server as a child process, and talks to it over its stdin and stdout.
    ///
    /// ```no_run
    /// # async fn example() -> Result<(), candor_client::Error> {
    /// use candor_client::{Client, Program};
    ///
    /// let client = Client::start(Program::new("candor").args(["files", ".", "--stdio"])).await?;
    /// for tool in client.tools().await?.iter() {
    ///     println!("{}: {}", tool.name(), tool.declared().hints.summary());
    /// }
    /// # Ok(()) }
    /// ```
    pub fn start(program: Program) -> Connect {
        Connect::to(ConnectTarget::Program(program))
    }

    /// Connects to a server over a pair of streams, with one message per line.
    pub fn over(
        input: impl AsyncRead + Send + Unpin + 'static,
        output: impl AsyncWrite + Send + Unpin + 'static,
    ) -> Connect {
        Connect::to(ConnectTarget::Streams(Mutex::new(Some((Box::new(input), Box::new(output))))))
    }

    pub(crate) async fn open(connect: Connect) -> Result<Self, Error> {
        let Connect {
            target,
            mut host,
            mut limits,
            era,
            info,
            trust,
            policy,
            retry,
            cache,
            parallel_writes,
        } = connect;
        // No phase may take longer than an answer.
        limits.connect = limits.connect.min(limits.answer);
        limits.probe = limits.probe.min(limits.answer);
        let name: Arc<str> = target.to_string().into();
        host.kept = Some((cache.clone(), name.clone()));
        host.trusted = trust == Trust::Trusted;
        let client = Self(Arc::new(Inner {
            principal: principal(&target),
            name,
            target,
            era,
            info,
            host: Arc::new(host),
            limits,
            trust,
            policy,
            retry,
            cache,
            breaker: Breaker::default(),
            session: Mutex::new(None),
            connecting: AsyncMutex::new(()),
            tools: Mutex::new(None),
            questions: Questions::default(),
            turn: AsyncMutex::new(()),
            parallel_writes,
        }));
        client.session_for(Work::Connecting).await?;
        Ok(client)
    }

    /// Returns the protocol revision in use.
    #[must_use]
    pub fn revision(&self) -> Revision {
        self.known(|session| session.revision).unwrap_or(Revision::V2026_07_28)
    }

    /// Returns the era in use.
    #[must_use]
    pub fn era(&self) -> Era {
        self.revision().era()
    }

    /// Returns the name and version that the server reports.
    #[must_use]
    pub fn server(&self) -> Option<Implementation> {
        self.known(|session| session.server.clone()).flatten()
    }

    /// Returns the server's capabilities.
    #[must_use]
    pub fn capabilities(&self) -> ServerCapabilities {
        self.known(|session| session.capabilities.clone()).unwrap_or_else(ServerCapabilities::new)
    }

    /// Returns the server's instructions for models.
    #[must_use]
    pub fn instructions(&self) -> Option<String> {
        self.known(|session| session.instructions.clone()).flatten()
    }

    /// Returns whether the server is trusted.
    #[must_use]
    pub fn trust(&self) -> Trust {
        self.0.trust
    }

    /// Returns the server's tools, all pages. The client caches them until they expire or the server reports a change.
    pub async fn tools(&self) -> Result<Arc<Tools>, Error> {
        let session = self.session().await?;
        if let Some(kept) =
            locked(&self.0.tools).as_ref().filter(|kept| self.is_fresh(kept, &session))
        {
            return Ok(kept.tools.clone());
        }
        if session.capabilities.tools.is_none() {
            return Err(Error::Unsupported("tools".to_owned()));
        }
        // Read before the request, so that a change during the request makes the answer stale.
        let (epoch, now) = (self.0.host.tools_epoch(), Instant::now());
        let told = session.tells_of_tools();
        let mut tools = Tools::default();
        let read = |page: &Page| page.entries("tools").map(|entries| tools.add(entries));
        let lasts = self.each_page(method::TOOLS_LIST, "tools", &Object::new(), read).await?;
        let tools = Arc::new(tools);
        for left_out in tools.left_out() {
            let (tool, problem) = (&left_out.name, &left_out.reason);
            tracing::warn!(tool, problem, "a tool that cannot be used");
        }
        // `told` was read before the request, so no change since then was missed.
        let until = if told { None } else { Some(now + lasts) };
        *locked(&self.0.tools) = Some(ToolCache { tools: tools.clone(), until, epoch, session });
        Ok(tools)
    }

    fn is_fresh(&self, kept: &ToolCache, session: &Arc<Session>) -> bool {
        kept.epoch == self.0.host.tools_epoch()
            && Arc::ptr_eq(&kept.session, session)
            && match kept.until {
                Some(until) => Instant::now() < until,
                None => session.tells_of_tools(),
            }
    }

    /// Returns a tool by its name. Fails with [`Error::UnknownTool`] if the server does not list it. No tool is called.
    pub async fn tool(&self, name: &str) -> Result<Arc<KnownTool>, Error> {
        let tools = self.tools().await?;
        match tools.get(name) {
            Some(tool) => Ok(tool.clone()),
            None => Err(Error::UnknownTool { name: name.to_owned(), like: tools.like(name) }),
        }
    }

    /// Returns the last known definition of a tool, to encode a call and decode its result. Lists the tools if the client knows
    /// none yet.
    pub(crate) async fn last_known(&self, name: &str) -> Result<Option<Arc<KnownTool>>, Error> {
        let kept = locked(&self.0.tools).as_ref().map(|kept| kept.tools.clone());
        match kept {
            Some(tools) => Ok(tools.get(name).cloned()),
            None => match self.tools().await {
                Ok(tools) => Ok(tools.get(name).cloned()),
                Err(Error::Unsupported(_)) => Ok(None),
                Err(error) => Err(error),
            },
        }
    }

    /// Calls a tool without confirmation. See [`Client::call_safely`].
    pub fn call(&self, tool: impl Into<String>, arguments: Value) -> Call<'_> {
        Call::new(self, tool.into(), arguments)
    }

    /// Evaluates a call, asks the user for confirmation if the policy requires it, and then makes the call.
    pub fn call_safely(&self, tool: impl Into<String>, arguments: Value) -> SafeCall<'_> {
        SafeCall::new(Call::new(self, tool.into(), arguments))
    }

    /// Returns the server's prompts, all pages.
    pub async fn prompts(&self) -> Result<Vec<Prompt>, Error> {
        if self.capabilities().prompts.is_none() {
            return Err(Error::Unsupported("prompts".to_owned()));
        }
        self.list(method::PROMPTS_LIST, "prompts", &Object::new()).await
    }

    /// Returns a prompt with its arguments filled in.
    pub async fn prompt(
        &self,
        name: &str,
        arguments: impl IntoIterator<Item = (String, String)>,
    ) -> Result<GetPromptResult, Error> {
        let mut params = GetPromptParams::new(name);
        params.arguments = Some(arguments.into_iter().collect());
        let mut wish = OutgoingRequest::new(method::PROMPTS_GET, written(&params)?);
        wish.name = Some(name);
        read(&self.ask_in_rounds(wish).await?.result)
    }

    /// Returns completions for an argument of a prompt (`ref/prompt` with its name) or of a template (`ref/resource` with its URI).
    /// `others` are the arguments that already have a value.
    pub async fn complete(
        &self,
        reference: CompleteReference,
        (argument, value): (&str, &str),
        others: impl IntoIterator<Item = (String, String)>,
    ) -> Result<CompleteResult, Error> {
        let mut params = CompleteParams::new(reference, CompleteArgument::new(argument, value));
        let others: BTreeMap<_, _> = others.into_iter().collect();
        if !others.is_empty() {
            let context = params.context.get_or_insert_with(CompleteContext::new);
            context.arguments = Some(others);
        }
        read(&self.ask(OutgoingRequest::new(method::COMPLETE, written(&params)?)).await?)
    }

    /// Sends any request, for methods that this crate does not know. Returns the result as received.
    pub async fn request(&self, method: &str, params: &Value) -> Result<Value, Error> {
        let params = match params {
            Value::Null => Object::new(),
            params => members_of(&raw(params)).map_err(Error::protocol)?,
        };
        let name = params.read::<String>("name").ok().flatten();
        let uri = params.read::<String>("uri").ok().flatten();
        let mut wish = OutgoingRequest::new(method, params);
        wish.name = match method {
            method::TOOLS_CALL | method::PROMPTS_GET => name.as_deref(),
            method::RESOURCES_READ => uri.as_deref(),
            _ => None,
        };
        let result = self.ask(wish).await?;
        serde_json::from_str(result.get()).map_err(Error::protocol)
    }

    /// Checks that the server still answers.
    pub async fn ping(&self) -> Result<(), Error> {
        let session = self.session().await?;
        let question = match session.era() {
            Era::Legacy => method::PING,
            Era::Modern => method::DISCOVER,
        };
        self.ask(OutgoingRequest::new(question, Object::new())).await.map(|_| ())
    }

    /// Closes the connection. Waits for a child process to exit, and ends it if it does not.
    pub async fn close(&self) {
        let session = locked(&self.0.session).take();
        if let Some(session) = session {
            session.close().await;
        }
    }

    /// Clears the failures that the breaker has counted, so that the next request is sent at once. Use it if the host knows more
    /// than the client: the network is back, or the user pressed a button.
    pub fn reset(&self) {
        self.0.breaker.reset();
    }

    /// Drops the cached tools, so that the client lists them again when it needs them.
    pub(crate) fn forget_tools(&self) {
        *locked(&self.0.tools) = None;
        self.0.cache.forget(&self.0.name, |kept| kept == method::TOOLS_LIST);
    }

    /// Returns true if the server has idempotency keys: it starts a call at most once per key.
    #[must_use]
    pub fn has_keys(&self) -> bool {
        self.known(Session::knows_keys) == Some(true)
    }

    pub(crate) fn limits(&self) -> &ClientLimits {
        &self.0.limits
    }

    pub(crate) fn policy(&self) -> &HostPolicy {
        &self.0.policy
    }

    pub(crate) fn retry(&self) -> &Retry {
        &self.0.retry
    }

    pub(crate) fn cache(&self) -> &Cache {
        &self.0.cache
    }

    pub(crate) fn host(&self) -> &Arc<Host> {
        &self.0.host
    }

    pub(crate) fn questions(&self) -> &Questions {
        &self.0.questions
    }

    pub(crate) fn principal(&self) -> [u8; 32] {
        self.0.principal
    }

    pub(crate) fn server_name(&self) -> Arc<str> {
        self.0.name.clone()
    }

    /// Waits until no other call that may change data runs. Returns `None` if such calls may run in parallel.
    pub(crate) async fn turn(&self) -> Option<tokio::sync::MutexGuard<'_, ()>> {
        match self.0.parallel_writes {
            true => None,
            false => Some(self.0.turn.lock().await),
        }
    }

    fn known<T>(&self, read: impl FnOnce(&Session) -> T) -> Option<T> {
        locked(&self.0.session).as_ref().map(|session| read(session))
    }

    /// Returns the session, or a new one if it has ended.
    pub(crate) async fn session(&self) -> Result<Arc<Session>, Error> {
        self.session_for(Work::Connecting).await
    }

    /// Returns the session if it is open, for work that does not justify a new one.
    pub(crate) fn open_session(&self) -> Option<Arc<Session>> {
        locked(&self.0.session).clone().filter(|session| session.is_alive())
    }

    /// Returns the session, or a new one if it has ended. The breaker counts a failure as this kind of `work`.
    pub(crate) async fn session_for(&self, work: Work) -> Result<Arc<Session>, Error> {
        if let Some(session) = self.open_session() {
            return Ok(session);
        }
        let _turn = self.0.connecting.lock().await;
        if let Some(session) = self.open_session() {
            return Ok(session);
        }
        let inner = &*self.0;
        let admitted = inner.breaker.admit(work)?;
        let opened =
            Session::open(&inner.target, inner.era, &inner.info, &inner.host, &inner.limits).await;
        admitted.saw(opened.as_ref().map(|_| ()), &inner.retry);
        let session = Arc::new(opened?);
        *locked(&inner.session) = Some(session.clone());
        Ok(session)
    }

    /// Sends a request. Resends it in a new session if the old one ended before the server took the request. If only the server
    /// says so, the request must allow the resend.
    pub(crate) async fn send(
        &self,
        wish: &OutgoingRequest<'_>,
    ) -> Result<(Arc<Session>, Box<RawValue>), Error> {
        let connecting = if wish.listens { Work::Listening } else { Work::Connecting };
        let session = self.session_for(connecting).await?;
        let result = self.send_in(&session, wish).await;
        let again = match &result {
            Err(Error::Lost { sent: false, .. }) => !session.is_alive(),
            Err(Error::SessionExpired) => wish.may_resend(),
            _ => false,
        };
        if !again {
            return result.map(|result| (session, result));
        }
        let session = match self.session_for(connecting).await {
            Ok(session) => session,
            // The request was sent once already, whatever the server says about it.
            Err(error) if result.as_ref().is_err_and(Error::may_have_run) => {
                tracing::warn!(%error, "no new session");
                return Err(Error::SessionExpired);
            }
            Err(error) => return Err(error),
        };
        if matches!(result, Err(Error::SessionExpired))
            && let Some(resends) = wish.resends
        {
            resends.fetch_add(1, Ordering::AcqRel);
        }
        let earlier = result.is_err_and(|earlier| earlier.may_have_run());
        match self.send_in(&session, wish).await {
            Err(error) if earlier && wish.writes && !error.is_claim() => Err(error.of_sent_call()),
            result => result.map(|result| (session, result)),
        }
    }

    /// Sends a request once, and reports the result to the breaker.
    async fn send_in(
        &self,
        session: &Arc<Session>,
        wish: &OutgoingRequest<'_>,
    ) -> Result<Box<RawValue>, Error> {
        let inner = &*self.0;
        let work = if wish.listens { Work::Listening } else { Work::of(wish.method) };
        let admitted = inner.breaker.admit(work)?;
        let result = session.request(wish).await;
        admitted.saw(result.as_ref().map(|_| ()), &inner.retry);
        // An untrusted server's claim that nothing was run proves nothing.
        result.map_err(|error| {
            match wish.writes && error.is_claim() && inner.trust != Trust::Trusted {
                true => error.of_sent_call(),
                false => error,
            }
        })
    }
}

pub(crate) fn read<T: candor_protocol::Message>(result: &RawValue) -> Result<T, Error> {
    members_of(result).and_then(|members| T::decode_object(&members)).map_err(Error::protocol)
}

pub(crate) fn written(params: &impl serde::Serialize) -> Result<Object, Error> {
    members_of(&raw(params)).map_err(Error::protocol)
}

/// Returns a digest that identifies the credentials without revealing them.
fn principal(target: &ConnectTarget) -> [u8; 32] {
    let mut digest = Sha256::new();
    if let ConnectTarget::Url { bearer, headers, .. } = target {
        for (name, value) in headers {
            digest.update(format!("{name}\0{value}\0"));
        }
        match bearer {
            Bearer::None => {}
            Bearer::Fixed(token) => digest.update(token),
            // The principal of these tokens is unknown, so no other client shares the cached answers.
            Bearer::From(_) => digest.update(Key::new().as_str()),
        }
    }
    digest.finalize().into()
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("target", &self.0.target).finish_non_exhaustive()
    }
}
