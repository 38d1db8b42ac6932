//! Describing a server.

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

/// A server in the making: what it is called and what it offers.
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
    /// They were given as a list, so there is one, even if nothing is in it.
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
/// Its debug form is its message, because that is what a program prints whose `main` returns it.
#[non_exhaustive]
pub enum BuildError {
    /// A tool cannot be registered.
    Tool(RegistrationError),
    /// Two prompts have this name.
    DuplicatePrompt(String),
    /// A person is to be asked about calls, and nothing remembers what they say.
    NobodyToAsk,
    /// The calls of a tool have keys, and nothing remembers them.
    NoLedger(String),
    /// Both single items and a provider were given for this list.
    TwoSources(&'static str),
    /// A tool wants state that the server does not have.
    MissingState {
        /// The tool.
        tool: String,
        /// The type that it wants.
        type_name: &'static str,
    },
    /// A prompt wants state that the server does not have.
    MissingPromptState {
        /// The prompt.
        prompt: String,
        /// The type that it wants.
        type_name: &'static str,
    },
    /// The schema of a prompt's arguments cannot be used.
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
    /// A server without anything yet.
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

    /// Advice for models on how to use the server as a whole.
    #[must_use]
    pub fn instructions(mut self, instructions: impl Into<String>) -> Self {
        self.instructions = Some(instructions.into());
        self
    }

    /// Adds a tool: a [`JsonTool`](crate::tool::JsonTool), or a type of yours. Functions that are marked `#[tool]` are added by
    /// [`tools`](Self::tools).
    #[must_use]
    pub fn tool(mut self, tool: impl Tool) -> Self {
        self.tools.push(Arc::new(tool));
        self
    }

    /// Adds tools: what `tools![…]` makes of functions, and `into_tools()` of a toolbox.
    #[must_use]
    pub fn tools(mut self, tools: impl IntoIterator<Item = Arc<dyn Tool>>) -> Self {
        self.tools.extend(tools);
        self
    }

    /// Shares a value with all handlers that have a `State` of its type as a parameter. One of each type.
    #[must_use]
    pub fn state<T: Send + Sync + 'static>(self, value: T) -> Self {
        self.shared_state(Arc::new(value))
    }

    /// The same for a value that is shared already.
    #[must_use]
    pub fn shared_state<T: Send + Sync + 'static>(mut self, value: Arc<T>) -> Self {
        self.states.insert(value);
        self
    }

    /// Refuses to build a server with a tool whose types have a schema that cannot be used: one that is invalid, or whose derivation
    /// panics. Without this, such a tool is published with the schema `{"type": "object", "additionalProperties": true}` or without an
    /// output schema, its types check the arguments of each call, and the log has the problem. Tools from a source that is asked on
    /// every request are published like that in any case.
    #[must_use]
    pub fn strict(mut self) -> Self {
        self.strict = true;
        self
    }

    /// Publishes an optional argument as its plain type that may be left out, instead of `anyOf` with `null`: some hosts
    /// refuse a list of tools that has the latter. `null` is accepted all the same.
    #[must_use]
    pub fn plain_optionals(mut self) -> Self {
        self.form.plain_optionals = true;
        self
    }

    /// Lists a tool whose effects depend on one argument as several, one for each of its values, with exact hints: for
    /// hosts that read static hints only. Calls of a part are calls of the whole.
    #[must_use]
    pub fn split(mut self, split: Split) -> Self {
        self.form.split = Some(split);
        self
    }

    /// Sends results that are no objects to modern clients as they are. Without it, both eras get them in a box of one
    /// field, so that a tool has one schema.
    #[must_use]
    pub fn native_output(mut self) -> Self {
        self.form.native_output = true;
        self
    }

    /// Takes tools from a provider, asked on every request, instead of one by one; [`ToolsProvider`] says what can be one.
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

    /// Adds a prompt. Functions that are marked `#[prompt]` are added by [`prompts`](Self::prompts).
    #[must_use]
    pub fn prompt(mut self, prompt: Prompt) -> Self {
        self.prompts.push(prompt);
        self
    }

    /// Adds prompts: what `prompts![…]` makes of functions.
    #[must_use]
    pub fn prompts(mut self, prompts: impl IntoIterator<Item = Prompt>) -> Self {
        self.prompts.extend(prompts);
        self
    }

    /// Takes prompts from a provider, asked on every request, instead of a fixed list.
    #[must_use]
    pub fn prompts_from(mut self, provider: impl Provider<PromptSet>) -> Self {
        self.prompt_provider = Some(Box::new(provider));
        self
    }

    /// Offers resources. Several providers stand side by side: each answers for the URIs that begin with its prefix, the
    /// longest first.
    #[must_use]
    pub fn resources(mut self, resources: impl Resources) -> Self {
        self.resources.mount(resources);
        self
    }

    /// Completes an argument of a prompt: from what has been typed, the other arguments so far, and the context, which knows the
    /// principal and the server's state. The closure returns a `Vec<String>`, or a `Result` of one.
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

    /// Completes a variable of a resource template, with a closure as [`complete_prompt`](Self::complete_prompt) takes it.
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

    /// What remembers calls: their keys, their outcomes, that they were made. Without it, keys are not honoured.
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

    /// What this server serves: a folder, a database. Two servers of one name that share a ledger but not their data must
    /// differ here, or the key of a call to one is taken for that of a call to the other.
    #[must_use]
    pub fn instance(mut self, instance: impl Into<String>) -> Self {
        self.instance = instance.into();
        self
    }

    /// Which calls leave a durable row in the ledger.
    #[must_use]
    pub fn audit(mut self, audit: Audit) -> Self {
        self.audit = audit;
        self
    }

    /// Of which calls the ledger stores the arguments for operators. Without this, of those that a reviewer approved or denied.
    #[must_use]
    pub fn keep_arguments(mut self, keep: KeepArguments) -> Self {
        self.keep_arguments = keep;
        self
    }

    /// Which calls a person is asked about before they start; without this, none. A tool may want more.
    #[must_use]
    pub fn ask(mut self, ask: AskLevel) -> Self {
        self.policy.ask = ask;
        self
    }

    /// The same for one tool, instead of what holds for all.
    #[must_use]
    pub fn ask_for(mut self, tool: impl Into<String>, ask: AskLevel) -> Self {
        self.policy.by_tool.insert(tool.into(), Rule::Ask(ask));
        self
    }

    /// Lets nobody call a tool. It is still listed.
    #[must_use]
    pub fn deny(mut self, tool: impl Into<String>) -> Self {
        self.policy.by_tool.insert(tool.into(), Rule::Deny);
        self
    }

    /// Only operators decide: approvals that come through the caller's own client do not count. Those of anonymous callers never do.
    #[must_use]
    pub fn operators_only(mut self) -> Self {
        self.policy.operators_only = true;
        self
    }

    /// How long a call that waits for a person is held before it is answered with `approval_required`; without this, 45 seconds.
    #[must_use]
    pub fn hold(mut self, time: Duration) -> Self {
        self.policy.hold = time;
        self
    }

    /// With a ledger in memory, unless another was given.
    pub(crate) fn or_in_memory(mut self) -> Self {
        self.store.get_or_insert_with(|| Arc::new(MemoryStore::new(Options::default())));
        self
    }

    /// Whether a person may ever be asked about a call.
    #[must_use]
    pub fn wants_to_ask(&self) -> bool {
        self.policy.asks() || self.tools.iter().any(|tool| tool.ask() != AskLevel::Never)
    }

    /// The names of its tools, and of the previews that are made with them. `None`: a provider has them, and only who asks it knows.
    #[must_use]
    pub fn tool_names(&self) -> Option<Vec<String>> {
        if self.tool_provider.is_some() {
            return None;
        }
        let of = |tool: &Arc<dyn Tool>| tool.definition().name.clone();
        let mut names: Vec<String> = self.tools.iter().map(of).collect();
        for tool in &self.tools {
            // One that is a tool of its own stands there already.
            let preview = tool.safeguards().preview_name(&tool.definition().name);
            if let Some(preview) = preview.filter(|name| !names.contains(name)) {
                names.push(preview);
            }
        }
        Some(names)
    }

    /// A tool that cannot do without a ledger, if there is one and no ledger was given.
    #[must_use]
    pub fn wants_ledger(&self) -> Option<&str> {
        let keyed = |tool: &&Arc<dyn Tool>| tool.idempotency() != Idempotency::Beside;
        let wanting = self.tools.iter().find(keyed).map(|tool| tool.definition().name.as_str());
        wanting.filter(|_| self.store.is_none())
    }

    /// The server secret. Without one, tokens end with the process and no other instance accepts them.
    #[must_use]
    pub fn secret(mut self, secret: Secret) -> Self {
        self.secret = Some(secret);
        self
    }

    /// Finds the caller of every request over HTTP, for MCP, REST and the console: `run()` uses it, and so does an
    /// [endpoint](crate::transport::http::endpoint) that has no other. What it knows besides the principal, handlers read with
    /// [`Ctx::claims`]. Over stdio the caller is the user of the operating system.
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

    /// Changes what a peer may take.
    #[must_use]
    pub fn limits(mut self, change: impl FnOnce(&mut Limits)) -> Self {
        change(&mut self.limits);
        self
    }

    /// How long and by whom lists and reads may be kept.
    #[must_use]
    pub fn cache(mut self, hint: CacheHint) -> Self {
        self.cache = hint;
        self
    }

    /// Checks everything and makes it ready to serve.
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
            // Not known before somebody asks.
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
