//! Settings of a connection: which server to reach, and on what terms.

use std::fmt;
use std::future::{Future, IntoFuture};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use candor_protocol::Era;
use candor_protocol::json::{Object, RawValue};
use candor_protocol::rpc::ErrorObject;
use candor_protocol::types::{
    CreateMessageParams, CreateMessageResult, Implementation, InputRequest, Root,
};
use futures_util::future::BoxFuture;
use tokio::io::{AsyncRead, AsyncWrite};

use crate::cache::Cache;
use crate::client::Client;
use crate::error::Error;
use crate::host::{ApprovalWait, ElicitReply, Elicitation, Host};
use crate::link::http::{Bearer, TokenSource};
use crate::policy::{HostPolicy, Trust};
use crate::retry::Retry;

/// A program that is an MCP server over its stdin and stdout.
#[derive(Clone)]
pub struct Program {
    pub(crate) program: PathBuf,
    pub(crate) args: Vec<String>,
    pub(crate) env: Vec<(String, String)>,
    pub(crate) unset: Vec<String>,
    pub(crate) folder: Option<PathBuf>,
    pub(crate) stderr: Option<StderrFn>,
}

/// The function that receives the program's stderr, line by line.
#[derive(Clone)]
pub(crate) struct StderrFn(pub(crate) Arc<dyn Fn(&str) + Send + Sync>);

impl fmt::Debug for StderrFn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StderrFn")
    }
}

impl Program {
    /// Creates a program from its name or path.
    pub fn new(program: impl Into<PathBuf>) -> Self {
        Self {
            program: program.into(),
            args: Vec::new(),
            env: Vec::new(),
            unset: Vec::new(),
            folder: None,
            stderr: None,
        }
    }

    /// Adds an argument.
    #[must_use]
    pub fn arg(mut self, arg: impl Into<String>) -> Self {
        self.args.push(arg.into());
        self
    }

    /// Adds arguments.
    #[must_use]
    pub fn args<T: Into<String>>(mut self, args: impl IntoIterator<Item = T>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// Sets an environment variable, in addition to those of this process.
    #[must_use]
    pub fn env(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.env.push((name.into(), value.into()));
        self
    }

    /// Removes a variable of this process from the program's environment.
    #[must_use]
    pub fn without_env(mut self, name: impl Into<String>) -> Self {
        self.unset.push(name.into());
        self
    }

    /// Sets the program's working directory.
    #[must_use]
    pub fn folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.folder = Some(folder.into());
        self
    }

    /// Calls `heard` for each line that the program writes to stderr. Without it, the lines go to the log, and errors include the
    /// last ones.
    #[must_use]
    pub fn on_stderr(mut self, heard: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.stderr = Some(StderrFn(Arc::new(heard)));
        self
    }
}

/// Shows the name only: arguments are often secrets, and errors end up in logs.
impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.program.display())
    }
}

/// Shows the names of the variables and the number of arguments, without their values.
impl fmt::Debug for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Program")
            .field("program", &self.program)
            .field("args", &self.args.len())
            .field("env", &self.env.iter().map(|(name, _)| name).collect::<Vec<_>>())
            .field("folder", &self.folder)
            .finish_non_exhaustive()
    }
}

/// A pair of streams with a server at the other end.
pub(crate) type Streams = (Box<dyn AsyncRead + Send + Unpin>, Box<dyn AsyncWrite + Send + Unpin>);

pub(crate) enum ConnectTarget {
    Url {
        url: String,
        bearer: Bearer,
        headers: Vec<(String, String)>,
    },
    Program(Program),
    /// Usable once: the client cannot reopen streams.
    Streams(std::sync::Mutex<Option<Streams>>),
}

impl fmt::Display for ConnectTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Url { url, .. } => f.write_str(url),
            Self::Program(program) => program.fmt(f),
            Self::Streams(_) => f.write_str("the server at the other end"),
        }
    }
}

impl fmt::Debug for ConnectTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Limits on what the client accepts from a server, and on how long it waits.
///
/// ```no_run
/// use std::time::Duration;
///
/// use candor_client::{Client, ClientLimits};
///
/// # async fn example() -> Result<(), candor_client::Error> {
/// let mut limits = ClientLimits::default();
/// limits.answer = Duration::from_secs(5);
/// let client = Client::connect("http://127.0.0.1:7332/mcp").limits(limits).await?;
/// # Ok(()) }
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ClientLimits {
    /// The maximum time to connect.
    pub connect: Duration,
    /// The maximum time for a server to report its era. After it, the client tries the legacy era.
    pub probe: Duration,
    /// The maximum time for an answer. Progress restarts it. No other phase takes longer, from the connection to the close.
    pub answer: Duration,
    /// The maximum total time for an answer, however much progress arrives, and for all pages of a list.
    pub answer_at_most: Duration,
    /// The maximum size of a message, in bytes.
    pub max_message: usize,
    /// How deep the JSON of a message may be nested.
    pub max_depth: usize,
    /// The maximum number of pages of a list.
    pub max_pages: usize,
    /// The maximum number of entries of a list.
    pub max_entries: usize,
    /// The maximum memory of an answer, of a list with all its pages, and of what a walk stores, in bytes. The client estimates it
    /// from the values, which take more memory than their text.
    pub max_list: usize,
    /// How often a server may answer one request with questions.
    pub max_rounds: u32,
}

impl Default for ClientLimits {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            probe: Duration::from_secs(5),
            answer: Duration::from_secs(60),
            answer_at_most: Duration::from_secs(600),
            max_message: 16 * 1024 * 1024,
            max_depth: 128,
            max_pages: 1000,
            max_entries: 100_000,
            max_list: 128 * 1024 * 1024,
            max_rounds: 10,
        }
    }
}

/// A client that is ready to connect. Await it to connect.
///
/// ```no_run
/// # async fn example() -> Result<(), candor_client::Error> {
/// use candor_client::{Client, Trust};
///
/// let client = Client::connect("http://127.0.0.1:7332/mcp").trust(Trust::Trusted).await?;
/// # Ok(()) }
/// ```
#[must_use = "a client connects when it is awaited"]
#[derive(Debug)]
pub struct Connect {
    pub(crate) target: ConnectTarget,
    pub(crate) host: Host,
    pub(crate) limits: ClientLimits,
    pub(crate) era: Option<Era>,
    pub(crate) info: Implementation,
    pub(crate) trust: Trust,
    pub(crate) policy: HostPolicy,
    pub(crate) retry: Retry,
    pub(crate) cache: Cache,
    pub(crate) parallel_writes: bool,
}

impl Connect {
    pub(crate) fn to(target: ConnectTarget) -> Self {
        Self {
            target,
            host: Host::default(),
            limits: ClientLimits::default(),
            era: None,
            info: Implementation::new("candor-client", env!("CARGO_PKG_VERSION")),
            trust: Trust::default(),
            policy: HostPolicy::default(),
            retry: Retry::default(),
            cache: Cache::default(),
            parallel_writes: false,
        }
    }

    /// Sends this bearer token with every request over HTTP.
    pub fn bearer(mut self, token: impl Into<String>) -> Self {
        if let ConnectTarget::Url { bearer, .. } = &mut self.target {
            *bearer = Bearer::Fixed(token.into());
        }
        self
    }

    /// Gets the bearer token for requests over HTTP from the host. The client asks before the first request, and again if the
    /// server refuses a token with 401. It then resends that request once, with the new token. Requests that need a token at the
    /// same time share one answer.
    ///
    /// The client never logs a token. Do not put one into the error, because errors are shown.
    ///
    /// ```no_run
    /// use candor_client::Client;
    ///
    /// # async fn refresh() -> Result<String, std::io::Error> { Ok(String::new()) }
    /// # async fn example() -> Result<(), candor_client::Error> {
    /// let client = Client::connect("https://mcp.example.com/mcp").bearer_from(refresh).await?;
    /// # Ok(()) }
    /// ```
    pub fn bearer_from<F, A, E>(mut self, token: F) -> Self
    where
        F: Fn() -> A + Send + Sync + 'static,
        A: Future<Output = Result<String, E>> + Send + 'static,
        E: fmt::Display,
    {
        if let ConnectTarget::Url { bearer, .. } = &mut self.target {
            let get = move || -> BoxFuture<'static, Result<String, String>> {
                let token = token();
                Box::pin(async move { token.await.map_err(|error| error.to_string()) })
            };
            *bearer = Bearer::From(TokenSource::new(Box::new(get)));
        }
        self
    }

    /// Sends this header with every request over HTTP.
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        if let ConnectTarget::Url { headers, .. } = &mut self.target {
            headers.push((name.into(), value.into()));
        }
        self
    }

    /// Sets the name and version that the client reports to servers.
    pub fn named(mut self, name: impl Into<String>, version: impl Into<String>) -> Self {
        self.info = Implementation::new(name, version);
        self
    }

    /// Sets whether the server's hints count. By default, the server is untrusted.
    pub fn trust(mut self, trust: Trust) -> Self {
        self.trust = trust;
        self
    }

    /// Sets the policy: which calls need confirmation, and which are denied.
    pub fn policy(mut self, policy: HostPolicy) -> Self {
        self.policy = policy;
        self
    }

    /// Sets how often, and how soon, the client retries.
    pub fn retry(mut self, retry: Retry) -> Self {
        self.retry = retry;
        self
    }

    /// Sets the cache, so that several clients can share one. It stores the answers that servers allow to be cached.
    pub fn cache(mut self, cache: &Cache) -> Self {
        self.cache = cache.clone();
        self
    }

    /// Sets the limits on size and time.
    pub fn limits(mut self, limits: ClientLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets the time for the connection, for each step of the handshake, for an answer, and for the close. Progress restarts the
    /// time for an answer.
    pub fn timeout(mut self, answer: Duration) -> Self {
        self.limits.answer = answer;
        self.limits.answer_at_most = self.limits.answer_at_most.max(answer);
        self
    }

    /// Speaks this era, without probing which one the server speaks.
    pub fn era(mut self, era: Era) -> Self {
        self.era = Some(era);
        self
    }

    /// Allows calls that may change data to run in parallel. By default, they run one at a time.
    pub fn parallel_writes(mut self) -> Self {
        self.parallel_writes = true;
        self
    }

    /// Answers the server's questions to the user.
    ///
    /// The text of a question comes from the server, so show your user which server asks.
    ///
    /// ```no_run
    /// use candor_client::{Client, ElicitReply};
    /// use serde_json::json;
    ///
    /// # async fn ask(_: &str) -> Option<String> { None }
    /// # async fn example() -> Result<(), candor_client::Error> {
    /// let client = Client::connect("http://127.0.0.1:7332/mcp")
    ///     .on_elicit(|asked| async move {
    ///         match ask(&format!("The server asks: {}", asked.message)).await {
    ///             Some(name) => ElicitReply::Accept([("name".to_owned(), json!(name))].into_iter().collect()),
    ///             None => ElicitReply::Cancel,
    ///         }
    ///     })
    ///     .await?;
    /// # Ok(()) }
    /// ```
    pub fn on_elicit<F, A>(mut self, answer: F) -> Self
    where
        F: Fn(Elicitation) -> A + Send + Sync + 'static,
        A: Future<Output = ElicitReply> + Send + 'static,
    {
        self.host.elicit = Some(Box::new(move |asked| Box::pin(answer(asked))));
        self
    }

    /// Answers all questions of the server as they come, with the result or the error that goes back unchanged. For gateways, which
    /// forward a question to a client of their own. It replaces [`on_elicit`](Self::on_elicit), [`on_sample`](Self::on_sample) and
    /// [`roots`](Self::roots).
    ///
    /// ```no_run
    /// use candor_client::{Client, Program};
    /// # use candor_client::protocol::{json::RawValue, rpc::ErrorObject, types::InputRequest};
    /// # async fn forward(_: InputRequest) -> Result<Box<RawValue>, ErrorObject> { unimplemented!() }
    ///
    /// # async fn example() -> Result<(), candor_client::Error> {
    /// let client = Client::start(Program::new("notes-server")).on_question(forward).await?;
    /// # Ok(()) }
    /// ```
    pub fn on_question<F, A>(mut self, answer: F) -> Self
    where
        F: Fn(InputRequest) -> A + Send + Sync + 'static,
        A: Future<Output = Result<Box<RawValue>, ErrorObject>> + Send + 'static,
    {
        self.host.question = Some(Box::new(move |asked| Box::pin(answer(asked))));
        self
    }

    /// Calls `heard` if the server holds a call until its operator decides, once per attempt. This asks your user nothing. Use it
    /// to show why there is no result yet, and where the operator decides. From an untrusted server, this is only a claim.
    ///
    /// ```no_run
    /// use candor_client::Client;
    ///
    /// # async fn example() -> Result<(), candor_client::Error> {
    /// let client = Client::connect("http://127.0.0.1:7332/mcp")
    ///     .on_approval_wait(|wait| eprintln!("{} waits for the operator of the server", wait.tool))
    ///     .await?;
    /// # Ok(()) }
    /// ```
    pub fn on_approval_wait(
        mut self,
        heard: impl Fn(ApprovalWait) + Send + Sync + 'static,
    ) -> Self {
        self.host.wait = Some(Box::new(heard));
        self
    }

    /// Declares that the host can also open URLs for its user; see [`Elicitation::url`].
    pub fn visits_urls(mut self) -> Self {
        self.host.visits_urls = true;
        self
    }

    /// Answers the server's questions to the model (sampling).
    pub fn on_sample<F, A>(mut self, answer: F) -> Self
    where
        F: Fn(CreateMessageParams) -> A + Send + Sync + 'static,
        A: Future<Output = Result<CreateMessageResult, String>> + Send + 'static,
    {
        self.host.sample = Some(Box::new(move |asked| Box::pin(answer(asked))));
        self
    }

    /// Sets the folders that the server may know about (roots).
    pub fn roots(mut self, roots: impl IntoIterator<Item = Root>) -> Self {
        self.host.roots = Some(roots.into_iter().collect());
        self
    }

    /// Calls `hear` for each notification of the server, in order, with its method and its parameters. Do not block in it: the
    /// client reads nothing else meanwhile.
    pub fn on_notification(mut self, hear: impl Fn(&str, &Object) + Send + Sync + 'static) -> Self {
        self.host.hear = Some(Box::new(hear));
        self
    }
}

impl IntoFuture for Connect {
    type Output = Result<Client, Error>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(Client::open(self))
    }
}
