//! The description of a server before it runs, and what can be wrong with it.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use candor_hints::AskLevel;
use candor_ledger::{MemoryStore, Options, Store};

use crate::capacity::Limits;
use crate::completion::{CompletionSubject, Completions, IntoProposals};
use crate::ctx::Ctx;
use crate::ctx::state::States;
use crate::policy::{Policy, ServerPolicy, ToolRule};
use crate::prompt::{Prompt, PromptSet};
use crate::provider::{Provider, Source};
use crate::record::{Audit, KeepArguments};
use crate::resource::{Resources, Tree};
use crate::seal::Secret;
use crate::tool::{
    Idempotency, ListingOptions, RegistrationError, Shaped, Split, Tool, ToolSet, ToolsProvider,
};

/// The description of a server before it runs. [`Engine::build`](crate::Engine::build) checks it.
pub struct EngineSpec {
    pub(crate) name: String,
    tools: Vec<Arc<dyn Tool>>,
    /// The tools come from a fixed list, so the server offers tools even if the list is empty.
    has_list: bool,
    tool_provider: Option<Box<dyn Provider<ToolSet>>>,
    prompts: Vec<Prompt>,
    prompt_provider: Option<Box<dyn Provider<PromptSet>>>,
    resources: Tree,
    completions: Completions,
    secret: Option<Secret>,
    pub(crate) limits: Limits,
    states: States,
    listing: ListingOptions,
    strict: bool,
    store: Option<Arc<dyn Store>>,
    pub(crate) instance: String,
    audit: Audit,
    keep_arguments: KeepArguments,
    pub(crate) policy: ServerPolicy,
}

impl fmt::Debug for EngineSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EngineSpec").field("name", &self.name).finish_non_exhaustive()
    }
}

/// A description without mistakes.
pub(crate) struct CheckedSpec {
    pub(crate) spec: EngineSpec,
    pub(crate) tools: Option<Source<ToolSet>>,
    pub(crate) prompts: Option<Source<PromptSet>>,
    pub(crate) resources: Tree,
    pub(crate) completions: Completions,
    pub(crate) secret: Secret,
    pub(crate) states: States,
    pub(crate) listing: ListingOptions,
    pub(crate) has_dynamic_effects: bool,
    pub(crate) store: Option<Arc<dyn Store>>,
    pub(crate) audit: Audit,
    pub(crate) keep_arguments: KeepArguments,
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

impl EngineSpec {
    /// Describes a server that offers nothing yet.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            tools: Vec::new(),
            has_list: false,
            tool_provider: None,
            prompts: Vec::new(),
            prompt_provider: None,
            resources: Tree::default(),
            completions: Completions::default(),
            secret: None,
            limits: Limits::default(),
            states: States::default(),
            listing: ListingOptions::default(),
            strict: false,
            store: None,
            instance: String::new(),
            audit: Audit::default(),
            keep_arguments: KeepArguments::default(),
            policy: ServerPolicy::default(),
        }
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
        self.listing.plain_optionals = true;
        self
    }

    /// Lists a tool whose effects depend on one argument as several tools, one for each value, with exact hints. This is for hosts
    /// that read static hints only. A call of a split tool is a call of the original tool.
    #[must_use]
    pub fn split(mut self, split: Split) -> Self {
        self.listing.split = Some(split);
        self
    }

    /// Sends results that are not objects to modern clients as they are. Without this, both eras get such a result inside an object
    /// with one field, so that a tool has one schema.
    #[must_use]
    pub fn native_output(mut self) -> Self {
        self.listing.native_output = true;
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
        self.policy.levels.ask = ask;
        self
    }

    /// Sets which calls of one tool need approval, instead of the server-wide level. The tool may require approval of more calls.
    #[must_use]
    pub fn ask_for(mut self, tool: impl Into<String>, ask: AskLevel) -> Self {
        self.policy.levels.by_tool.insert(tool.into(), ToolRule::Ask(ask));
        self
    }

    /// Denies all calls of a tool. The tool is still listed.
    #[must_use]
    pub fn deny(mut self, tool: impl Into<String>) -> Self {
        self.policy.levels.by_tool.insert(tool.into(), ToolRule::Deny);
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
    #[must_use]
    pub fn or_in_memory(mut self) -> Self {
        self.store.get_or_insert_with(|| Arc::new(MemoryStore::new(Options::default())));
        self
    }

    /// Returns true if any call can require approval.
    #[must_use]
    pub fn wants_to_ask(&self) -> bool {
        self.policy.may_ask() || self.tools.iter().any(|tool| tool.ask() != AskLevel::Never)
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

    /// Changes the limits on what a peer can make the server hold or do.
    #[must_use]
    pub fn limits(mut self, change: impl FnOnce(&mut Limits)) -> Self {
        change(&mut self.limits);
        self
    }

    /// Checks the description.
    pub(crate) fn check(mut self) -> Result<CheckedSpec, BuildError> {
        if let Some(tool) = self.wants_ledger() {
            return Err(BuildError::NoLedger(tool.to_owned()));
        }
        if self.store.is_none() && self.wants_to_ask() {
            return Err(BuildError::NobodyToAsk);
        }
        self.resources.set_patience(self.limits.deadline);
        let tools = match (self.tool_provider.take(), self.tools.is_empty() && !self.has_list) {
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
                let tools = ToolSet::new(std::mem::take(&mut self.tools))?;
                if self.strict {
                    tools.check_schemas()?;
                }
                if self.listing.split.is_some() {
                    tools.check_split()?;
                }
                Some(Source::Fixed(Arc::new(tools)))
            }
        };
        let has_dynamic_effects = match &tools {
            None => false,
            Some(Source::Fixed(tools)) => tools.has_dynamic_effects(),
            // Known only when a caller asks.
            Some(Source::Provided(_)) => true,
        };
        let prompts = match (self.prompt_provider.take(), self.prompts.is_empty()) {
            (Some(_), false) => return Err(BuildError::TwoSources("prompts")),
            (Some(provider), true) => Some(Source::Provided(provider)),
            (None, true) => None,
            (None, false) => {
                for prompt in &self.prompts {
                    check_prompt(prompt, &self.states)?;
                }
                let prompts = PromptSet::new(std::mem::take(&mut self.prompts))
                    .map_err(BuildError::DuplicatePrompt)?;
                Some(Source::Fixed(Arc::new(prompts)))
            }
        };
        let (resources, completions) =
            (std::mem::take(&mut self.resources), std::mem::take(&mut self.completions));
        Ok(CheckedSpec {
            tools,
            prompts,
            resources,
            completions,
            secret: self.secret.take().unwrap_or_else(Secret::random),
            states: std::mem::take(&mut self.states),
            listing: self.listing,
            has_dynamic_effects,
            store: self.store.take(),
            audit: self.audit,
            keep_arguments: self.keep_arguments,
            spec: self,
        })
    }

    /// Adds a policy of your own. The strictest of all policies counts.
    #[must_use]
    pub fn policy(mut self, policy: impl Policy) -> Self {
        self.policy.added.push(Box::new(policy));
        self
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
