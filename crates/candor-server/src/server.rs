//! The builder of a server.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use candor_ledger::{MemoryStore, Options, Store};
use candor_protocol::types::Implementation;

use crate::answer::CacheHint;
use crate::auth::Authenticator;
use crate::completion::{CompletionSubject, Completions, IntoProposals};
use crate::ctx::Ctx;
use crate::engine::{Engine, ServerParts};
use crate::gate::{Policy, Rule};
use crate::ledger::{Audit, KeepArguments};
use crate::limits::Limits;
use crate::prompt::{Prompt, PromptSet};
use crate::provider::{Provider, Source};
use crate::resource::{Resources, Tree};
use crate::seal::Secret;
use crate::state::States;
use crate::tool::{
    Idempotency, ListingOptions, RegistrationError, Shaped, Split, Tool, ToolSet, ToolsProvider,
};
use candor_hints::AskLevel;

/// A server before it runs: its name and what it offers. [`build`](Server::build) makes an [`Engine`] of it.
///
/// ```
/// use candor_server::{hints::Hints, tool::{JsonTool, ToolError}, Server};
///
/// let greet = JsonTool::open("greet", |_args, _ctx| async { Ok::<_, ToolError>("Hello!") }).hints(Hints::READS);
/// let engine = Server::new("greeter", "1.0.0").tool(greet).build()?;
/// # Ok::<(), candor_server::BuildError>(())
/// ```
pub struct Server {
    info: Implementation,
    instructions: Option<String>,
    tools: Vec<Arc<dyn Tool>>,
    /// The tools come from a fixed list, so the server offers tools even if the list is empty.
    has_list: bool,
    tool_provider: Option<Box<dyn Provider<ToolSet>>>,
    prompts: Vec<Prompt>,
    prompt_provider: Option<Box<dyn Provider<PromptSet>>>,
    resources: Tree,
    completions: Completions,
    secret: Option<Secret>,
    authenticator: Option<Arc<dyn Authenticator>>,
    limits: Limits,
    cache: CacheHint,
    states: States,
    form: ListingOptions,
    strict: bool,
    store: Option<Arc<dyn Store>>,
    instance: String,
    audit: Audit,
    keep_arguments: KeepArguments,
    policy: Policy,
}

/// Why a server cannot be built.
///
/// Its debug form is its message: a program whose `main` returns the error prints that.
#[non_exhaustive]
pub enum BuildError {
    /// A tool cannot be registered.
    Tool(RegistrationError),
    /// Two prompts have this name.
    DuplicatePrompt(String),
    /// The policy or a tool requires approval of calls, and the server has no ledger to store approval requests.
    NobodyToAsk,
    /// A tool uses idempotency keys, and the server has no ledger.
    NoLedger(String),
    /// Both single items and a provider were given for this list.
    TwoSources(&'static str),
    /// A tool needs state that the server does not have.
    MissingState {
        /// The tool.
        tool: String,
        /// The type that it needs.
        type_name: &'static str,
    },
    /// A prompt needs state that the server does not have.
    MissingPromptState {
        /// The prompt.
        prompt: String,
        /// The type that it needs.
        type_name: &'static str,
    },
    /// The schema of a prompt's arguments is invalid.
    Prompt {
        /// The prompt.
        prompt: String,
        /// What is wrong with the schema.
        problem: String,
    },
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tool(error) => error.fmt(f),
            Self::DuplicatePrompt(name) => {
                write!(f, "prompt {name:?}: another prompt has this name")
            }
            Self::NobodyToAsk => f.write_str(
                "the policy asks for approval, and approval requests need a ledger: add `.ledger(…)`",
            ),
            Self::NoLedger(tool) => write!(
                f,
                "tool {tool:?} uses idempotency keys, which need a ledger: add `.ledger(…)`"
            ),
            Self::MissingState { tool, type_name } => {
                write!(
                    f,
                    "tool {tool:?} wants State<{type_name}>: give the server one with `.state(…)`"
                )
            }
            Self::MissingPromptState { prompt, type_name } => write!(
                f,
                "prompt {prompt:?} needs State<{type_name}>: give the server one with `.state(…)`"
            ),
            Self::Prompt { prompt, problem } => {
                write!(f, "prompt {prompt:?}: its arguments have an invalid schema: {problem}")
            }
            Self::TwoSources(list) => {
                write!(f, "{list} come either one by one or from a provider, not both")
            }
        }
    }
}

impl fmt::Debug for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for BuildError {}

impl From<RegistrationError> for BuildError {
    fn from(error: RegistrationError) -> Self {
        Self::Tool(error)
    }
}

impl Server {
    /// Returns a server that offers nothing yet.
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        Self {
            info: Implementation::new(name, version),
            instructions: None,
            tools: Vec::new(),
            has_list: false,
            tool_provider: None,
            prompts: Vec::new(),
            prompt_provider: None,
            resources: Tree::default(),
            completions: Completions::default(),
            secret: None,
            authenticator: None,
            limits: Limits::default(),
            cache: CacheHint::default(),
            states: States::default(),
            form: ListingOptions::default(),
            strict: false,
            store: None,
            instance: String::new(),
            audit: Audit::default(),
            keep_arguments: KeepArguments::default(),
            policy: Policy::default(),
        }
    }

    /// Changes how the server introduces itself.
    #[must_use]
    pub fn info(mut self, change: impl FnOnce(&mut Implementation)) -> Self {
        change(&mut self.info);
        self
    }

    /// Sets the advice for models on how to use the server as a whole.
    #[must_use]
    pub fn instructions(mut self, instructions: impl Into<String>) -> Self {
        self.instructions = Some(instructions.into());
        self
    }

    /// Adds a tool: a [`JsonTool`](crate::tool::JsonTool), or your own type. [`tools`](Self::tools) adds functions that are marked
    /// `#[tool]`.
    #[must_use]
    pub fn tool(mut self, tool: impl Tool) -> Self {
        self.tools.push(Arc::new(tool));
        self
    }

    /// Adds tools: from functions with `tools![…]`, or from a toolbox with `into_tools()`.
    #[must_use]
    pub fn tools(mut self, tools: impl IntoIterator<Item = Arc<dyn Tool>>) -> Self {
        self.tools.extend(tools);
        self
    }

    /// Shares a value with all handlers that have a parameter `State` of its type. A server has one value of each type.
    #[must_use]
    pub fn state<T: Send + Sync + 'static>(self, value: T) -> Self {
        self.shared_state(Arc::new(value))
    }

    /// Shares a value that is in an `Arc` already.
    #[must_use]
    pub fn shared_state<T: Send + Sync + 'static>(mut self, value: Arc<T>) -> Self {
        self.states.insert(value);
        self
    }

    /// Refuses to build a server with a tool whose types have an unusable schema: one that is invalid, or whose derivation panics.
    ///
    /// Without this, the server publishes such a tool with the schema `{"type": "object", "additionalProperties": true}`, or
    /// without an output schema. The tool's types check the arguments of each call, and the log has the problem. Tools from a
    /// source that is queried on every request are always published this way.
    #[must_use]
    pub fn strict(mut self) -> Self {
        self.strict = true;
        self
    }

    /// Publishes an optional argument as its plain type that may be left out, instead of `anyOf` with `null`. Some hosts refuse a
    /// list of tools with such an `anyOf`. The server still accepts `null`.
    #[must_use]
    pub fn plain_optionals(mut self) -> Self {
        self.form.plain_optionals = true;
        self
    }

    /// Lists a tool whose effects depend on one argument as several tools, one for each value, with exact hints. This is for hosts
    /// that read static hints only. A call of a split tool is a call of the original tool.
    #[must_use]
    pub fn split(mut self, split: Split) -> Self {
        self.form.split = Some(split);
        self
    }

    /// Sends results that are not objects to modern clients as they are. Without this, both eras get such a result inside an object
    /// with one field, so that a tool has one schema.
    #[must_use]
    pub fn native_output(mut self) -> Self {
        self.form.native_output = true;
        self
    }

    /// Takes tools from a provider on every request, instead of one by one. [`ToolsProvider`] lists the possible providers.
    #[must_use]
    pub fn tools_from<Shape: 'static>(mut self, provider: impl ToolsProvider<Shape>) -> Self {
        match provider.fixed() {
            Some(tools) => {
                self.has_list = true;
                self.tools.extend(tools);
            }
            None => self.tool_provider = Some(Box::new(Shaped::new(provider))),
        }
        self
    }

    /// Adds a prompt. [`prompts`](Self::prompts) adds functions that are marked `#[prompt]`.
    #[must_use]
    pub fn prompt(mut self, prompt: Prompt) -> Self {
        self.prompts.push(prompt);
        self
    }

    /// Adds prompts: from functions with `prompts![…]`.
    #[must_use]
    pub fn prompts(mut self, prompts: impl IntoIterator<Item = Prompt>) -> Self {
        self.prompts.extend(prompts);
        self
    }

    /// Takes prompts from a provider on every request, instead of a fixed list.
    #[must_use]
    pub fn prompts_from(mut self, provider: impl Provider<PromptSet>) -> Self {
        self.prompt_provider = Some(Box::new(provider));
        self
    }

    /// Offers resources. A server may have several providers: each answers for the URIs that begin with its prefix, and the longest
    /// prefix wins.
    #[must_use]
    pub fn resources(mut self, resources: impl Resources) -> Self {
        self.resources.mount(resources);
        self
    }

    /// Completes an argument of a prompt. The closure gets the text typed so far, the other arguments so far, and the context,
    /// which has the principal and the server's state. It returns a `Vec<String>`, or a `Result` of one.
    ///
    /// ```
    /// # use candor_server::Server;
    /// struct Cities(Vec<String>);
    ///
    /// let server = Server::new("travel", "1.0.0")
    ///     .state(Cities(vec!["Paris".to_owned(), "Prague".to_owned()]))
    ///     .complete_prompt("plan_trip", "city", |typed, _others, ctx| async move {
    ///         let cities = ctx.state::<Cities>()?;
    ///         Ok(cities.0.iter().filter(|city| city.starts_with(&typed)).cloned().collect())
    ///     });
    /// ```
    #[must_use]
    pub fn complete_prompt<F, R>(
        mut self,
        prompt: impl Into<String>,
        argument: impl Into<String>,
        propose: F,
    ) -> Self
    where
        F: Fn(String, BTreeMap<String, String>, Ctx) -> R + Send + Sync + 'static,
        R: Future<Output: IntoProposals> + Send + 'static,
    {
        self.completions.add(CompletionSubject::Prompt(prompt.into()), argument.into(), propose);
        self
    }

    /// Completes a variable of a resource template. The closure is like that of [`complete_prompt`](Self::complete_prompt).
    #[must_use]
    pub fn complete_template<F, R>(
        mut self,
        uri_template: impl Into<String>,
        variable: impl Into<String>,
        propose: F,
    ) -> Self
    where
        F: Fn(String, BTreeMap<String, String>, Ctx) -> R + Send + Sync + 'static,
        R: Future<Output: IntoProposals> + Send + 'static,
    {
        self.completions.add(
            CompletionSubject::Template(uri_template.into()),
            variable.into(),
            propose,
        );
        self
    }

    /// Sets the ledger, which stores keys, outcomes and audit rows. Without one, the server ignores keys.
    ///
    /// ```
    /// # use candor_server::{Server, store};
    /// let ledger = store::open("memory:", store::Options::default())?;
    /// let server = Server::new("invoices", "1.0.0").ledger(ledger);
    /// # Ok::<(), store::StoreError>(())
    /// ```
    #[must_use]
    pub fn ledger(mut self, store: Arc<dyn Store>) -> Self {
        self.store = Some(store);
        self
    }

    /// Names the data that this server serves: a folder, a database. Two servers with one name that share a ledger but not their
    /// data need different instances. Otherwise the key of a call to one server matches a call to the other.
    #[must_use]
    pub fn instance(mut self, instance: impl Into<String>) -> Self {
        self.instance = instance.into();
        self
    }

    /// Sets which calls leave a durable row in the ledger.
    #[must_use]
    pub fn audit(mut self, audit: Audit) -> Self {
        self.audit = audit;
        self
    }

    /// Sets of which calls the ledger stores the arguments for operators. Without this, it stores those that a reviewer approved or
    /// denied.
    #[must_use]
    pub fn keep_arguments(mut self, keep: KeepArguments) -> Self {
        self.keep_arguments = keep;
        self
    }

    /// Sets which calls need approval before they start. Without this, none. A tool may require approval of more calls.
    #[must_use]
    pub fn ask(mut self, ask: AskLevel) -> Self {
        self.policy.ask = ask;
        self
    }

    /// Sets which calls of one tool need approval, instead of the server-wide level. The tool may require approval of more calls.
    #[must_use]
    pub fn ask_for(mut self, tool: impl Into<String>, ask: AskLevel) -> Self {
        self.policy.by_tool.insert(tool.into(), Rule::Ask(ask));
        self
    }

    /// Denies all calls of a tool. The tool is still listed.
    #[must_use]
    pub fn deny(mut self, tool: impl Into<String>) -> Self {
        self.policy.by_tool.insert(tool.into(), Rule::Deny);
        self
    }

    /// Lets only operators approve calls: answers through the caller's own client do not count. Those of an anonymous caller's
    /// client never count.
    #[must_use]
    pub fn operators_only(mut self) -> Self {
        self.policy.operators_only = true;
        self
    }

    /// Sets how long the server holds a call that needs approval before it answers with `approval_required`. Without this, 45
    /// seconds.
    #[must_use]
    pub fn hold(mut self, time: Duration) -> Self {
        self.policy.hold = time;
        self
    }

    /// Adds a ledger in memory, unless another one is set.
    pub(crate) fn or_in_memory(mut self) -> Self {
        self.store.get_or_insert_with(|| Arc::new(MemoryStore::new(Options::default())));
        self
    }

    /// Returns true if any call can require approval.
    #[must_use]
    pub fn wants_to_ask(&self) -> bool {
        self.policy.asks() || self.tools.iter().any(|tool| tool.ask() != AskLevel::Never)
    }

    /// Returns the names of the tools, and of the previews that are generated for them. Returns `None` if a provider has the tools,
    /// because they may differ on every request.
    #[must_use]
    pub fn tool_names(&self) -> Option<Vec<String>> {
        if self.tool_provider.is_some() {
            return None;
        }
        let of = |tool: &Arc<dyn Tool>| tool.definition().name.clone();
        let mut names: Vec<String> = self.tools.iter().map(of).collect();
        for tool in &self.tools {
            // A preview that is also a registered tool is in the list already.
            let preview = tool.safeguards().preview_name(&tool.definition().name);
            if let Some(preview) = preview.filter(|name| !names.contains(name)) {
                names.push(preview);
            }
        }
        Some(names)
    }

    /// Returns the name of a tool that requires a ledger, if there is such a tool and no ledger is set.
    #[must_use]
    pub fn wants_ledger(&self) -> Option<&str> {
        let keyed = |tool: &&Arc<dyn Tool>| tool.idempotency() != Idempotency::Beside;
        let wanting = self.tools.iter().find(keyed).map(|tool| tool.definition().name.as_str());
        wanting.filter(|_| self.store.is_none())
    }

    /// Sets the server secret. Without one, tokens end with the process, and no other replica accepts them.
    #[must_use]
    pub fn secret(mut self, secret: Secret) -> Self {
        self.secret = Some(secret);
        self
    }

    /// Sets what finds the caller of every request over HTTP, for MCP, REST and the console. `run()` uses it, and so does an
    /// [endpoint](crate::transport::http::endpoint) without an authenticator of its own. Handlers read what it knows besides the
    /// principal with [`Ctx::claims`]. Over stdio the caller is the user of the operating system.
    ///
    /// ```
    /// # use candor_server::{Server, auth::BearerTokens, protocol::Principal};
    /// let tokens = BearerTokens::default().token("a long and random token", Principal::new("ada"));
    /// let server = Server::new("books", "1.0.0").authenticator(tokens);
    /// ```
    #[must_use]
    pub fn authenticator(mut self, authenticator: impl Authenticator) -> Self {
        self.authenticator = Some(Arc::new(authenticator));
        self
    }

    /// Changes the limits on what a peer can make the server hold or do.
    #[must_use]
    pub fn limits(mut self, change: impl FnOnce(&mut Limits)) -> Self {
        change(&mut self.limits);
        self
    }

    /// Sets how long results of lists and reads may be cached, and by whom.
    #[must_use]
    pub fn cache(mut self, hint: CacheHint) -> Self {
        self.cache = hint;
        self
    }

    /// Checks the description and builds the engine.
    pub fn build(mut self) -> Result<Engine, BuildError> {
        if let Some(tool) = self.wants_ledger() {
            return Err(BuildError::NoLedger(tool.to_owned()));
        }
        if self.store.is_none() && self.wants_to_ask() {
            return Err(BuildError::NobodyToAsk);
        }
        self.info.drop_nulls();
        self.resources.set_patience(self.limits.deadline);
        let tools = match (self.tool_provider, self.tools.is_empty() && !self.has_list) {
            (Some(_), false) => return Err(BuildError::TwoSources("tools")),
            (Some(provider), true) => Some(Source::Provided(provider)),
            (None, true) => None,
            (None, false) => {
                for tool in &self.tools {
                    if let Some(need) = self.states.missing(tool.needs()) {
                        return Err(BuildError::MissingState {
                            tool: tool.definition().name.clone(),
                            type_name: need.type_name(),
                        });
                    }
                }
                let tools = ToolSet::new(self.tools)?;
                if self.strict {
                    tools.check_schemas()?;
                }
                if self.form.split.is_some() {
                    tools.check_split()?;
                }
                Some(Source::Fixed(Arc::new(tools)))
            }
        };
        let foresees = match &tools {
            None => false,
            Some(Source::Fixed(tools)) => tools.foresees(),
            // Known only when a caller asks.
            Some(Source::Provided(_)) => true,
        };
        let prompts = match (self.prompt_provider, self.prompts.is_empty()) {
            (Some(_), false) => return Err(BuildError::TwoSources("prompts")),
            (Some(provider), true) => Some(Source::Provided(provider)),
            (None, true) => None,
            (None, false) => {
                for prompt in &self.prompts {
                    check_prompt(prompt, &self.states)?;
                }
                let prompts = PromptSet::new(self.prompts).map_err(BuildError::DuplicatePrompt)?;
                Some(Source::Fixed(Arc::new(prompts)))
            }
        };
        Ok(Engine::new(ServerParts {
            info: self.info,
            instructions: self.instructions,
            tools,
            prompts,
            resources: self.resources,
            completions: self.completions,
            secret: self.secret.unwrap_or_else(Secret::random),
            authenticator: self.authenticator,
            limits: self.limits,
            cache: self.cache,
            states: Arc::new(self.states),
            form: ListingOptions { policy: self.policy.id(), ..self.form },
            foresees,
            store: self.store,
            instance: self.instance,
            audit: self.audit,
            keep_arguments: self.keep_arguments,
            policy: self.policy,
        }))
    }
}

fn check_prompt(prompt: &Prompt, states: &States) -> Result<(), BuildError> {
    let name = || prompt.name().to_owned();
    if let Some(need) = states.missing(prompt.needs()) {
        return Err(BuildError::MissingPromptState { prompt: name(), type_name: need.type_name() });
    }
    match prompt.broken() {
        Some(problem) => Err(BuildError::Prompt { prompt: name(), problem: problem.to_owned() }),
        None => Ok(()),
    }
}
