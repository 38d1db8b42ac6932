//! The builder of a server.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use candor_engine::policy::Policy;
use candor_engine::prompt::{Prompt, PromptSet};
use candor_engine::resource::Resources;
use candor_engine::tool::{Provider, Split, Tool, ToolsProvider};
use candor_engine::{
    Audit, BuildError, Ctx, Engine, EngineSpec, IntoProposals, KeepArguments, Limits, Secret,
};
use candor_hints::AskLevel;
use candor_ledger::Store;
use candor_protocol::types::Implementation;

use crate::auth::Authenticator;
use crate::running_server::{CacheHint, RunningServer, ServerDescription};

/// A server before it runs: its name and what it offers. [`build`](Server::build) makes a [`RunningServer`] of it.
///
/// ```
/// use candor_server::{hints::Hints, tool::{JsonTool, ToolError}, Server};
///
/// let greet = JsonTool::open("greet", |_args, _ctx| async { Ok::<_, ToolError>("Hello!") }).hints(Hints::READS);
/// let server = Server::new("greeter", "1.0.0").tool(greet).build()?;
/// # Ok::<(), candor_server::BuildError>(())
/// ```
pub struct Server {
    spec: EngineSpec,
    description: ServerDescription,
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").field("spec", &self.spec).finish_non_exhaustive()
    }
}

impl Server {
    /// Returns a server that offers nothing yet.
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        let name = name.into();
        Self {
            spec: EngineSpec::new(&*name),
            description: ServerDescription {
                info: Implementation::new(name, version),
                instructions: None,
                authenticator: None,
                cache: CacheHint::default(),
            },
        }
    }

    fn with(mut self, change: impl FnOnce(EngineSpec) -> EngineSpec) -> Self {
        self.spec = change(self.spec);
        self
    }

    /// Changes how the server introduces itself.
    #[must_use]
    pub fn info(mut self, change: impl FnOnce(&mut Implementation)) -> Self {
        change(&mut self.description.info);
        self
    }

    /// Sets the advice for models on how to use the server as a whole.
    #[must_use]
    pub fn instructions(mut self, instructions: impl Into<String>) -> Self {
        self.description.instructions = Some(instructions.into());
        self
    }

    /// Adds a tool: a [`JsonTool`](crate::tool::JsonTool), or your own type. [`tools`](Self::tools) adds functions that are marked
    /// `#[tool]`.
    #[must_use]
    pub fn tool(self, tool: impl Tool) -> Self {
        self.with(|spec| spec.tool(tool))
    }

    /// Adds tools: from functions with `tools![…]`, or from a toolbox with `into_tools()`.
    #[must_use]
    pub fn tools(self, tools: impl IntoIterator<Item = Arc<dyn Tool>>) -> Self {
        self.with(|spec| spec.tools(tools))
    }

    /// Shares a value with all handlers that have a parameter `State` of its type. A server has one value of each type.
    #[must_use]
    pub fn state<T: Send + Sync + 'static>(self, value: T) -> Self {
        self.shared_state(Arc::new(value))
    }

    /// Shares a value that is in an `Arc` already.
    #[must_use]
    pub fn shared_state<T: Send + Sync + 'static>(self, value: Arc<T>) -> Self {
        self.with(|spec| spec.shared_state(value))
    }

    /// Refuses to build a server with a tool whose types have an unusable schema: one that is invalid, or whose derivation panics.
    ///
    /// Without this, the server publishes such a tool with the schema `{"type": "object", "additionalProperties": true}`, or
    /// without an output schema. The tool's types check the arguments of each call, and the log has the problem. Tools from a
    /// source that is queried on every request are always published this way.
    #[must_use]
    pub fn strict(self) -> Self {
        self.with(EngineSpec::strict)
    }

    /// Publishes an optional argument as its plain type that may be left out, instead of `anyOf` with `null`. Some hosts refuse a
    /// list of tools with such an `anyOf`. The server still accepts `null`.
    #[must_use]
    pub fn plain_optionals(self) -> Self {
        self.with(EngineSpec::plain_optionals)
    }

    /// Lists a tool whose effects depend on one argument as several tools, one for each value, with exact hints. This is for hosts
    /// that read static hints only. A call of a split tool is a call of the original tool.
    #[must_use]
    pub fn split(self, split: Split) -> Self {
        self.with(|spec| spec.split(split))
    }

    /// Sends results that are not objects to modern clients as they are. Without this, both eras get such a result inside an object
    /// with one field, so that a tool has one schema.
    #[must_use]
    pub fn native_output(self) -> Self {
        self.with(EngineSpec::native_output)
    }

    /// Takes tools from a provider on every request, instead of one by one. [`ToolsProvider`] lists the possible providers.
    #[must_use]
    pub fn tools_from<Shape: 'static>(self, provider: impl ToolsProvider<Shape>) -> Self {
        self.with(|spec| spec.tools_from(provider))
    }

    /// Adds a prompt. [`prompts`](Self::prompts) adds functions that are marked `#[prompt]`.
    #[must_use]
    pub fn prompt(self, prompt: Prompt) -> Self {
        self.with(|spec| spec.prompt(prompt))
    }

    /// Adds prompts: from functions with `prompts![…]`.
    #[must_use]
    pub fn prompts(self, prompts: impl IntoIterator<Item = Prompt>) -> Self {
        self.with(|spec| spec.prompts(prompts))
    }

    /// Takes prompts from a provider on every request, instead of a fixed list.
    #[must_use]
    pub fn prompts_from(self, provider: impl Provider<PromptSet>) -> Self {
        self.with(|spec| spec.prompts_from(provider))
    }

    /// Offers resources. A server may have several providers: each answers for the URIs that begin with its prefix, and the longest
    /// prefix wins.
    #[must_use]
    pub fn resources(self, resources: impl Resources) -> Self {
        self.with(|spec| spec.resources(resources))
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
        self,
        prompt: impl Into<String>,
        argument: impl Into<String>,
        propose: F,
    ) -> Self
    where
        F: Fn(String, BTreeMap<String, String>, Ctx) -> R + Send + Sync + 'static,
        R: Future<Output: IntoProposals> + Send + 'static,
    {
        self.with(|spec| spec.complete_prompt(prompt, argument, propose))
    }

    /// Completes a variable of a resource template. The closure is like that of [`complete_prompt`](Self::complete_prompt).
    #[must_use]
    pub fn complete_template<F, R>(
        self,
        uri_template: impl Into<String>,
        variable: impl Into<String>,
        propose: F,
    ) -> Self
    where
        F: Fn(String, BTreeMap<String, String>, Ctx) -> R + Send + Sync + 'static,
        R: Future<Output: IntoProposals> + Send + 'static,
    {
        self.with(|spec| spec.complete_template(uri_template, variable, propose))
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
    pub fn ledger(self, store: Arc<dyn Store>) -> Self {
        self.with(|spec| spec.ledger(store))
    }

    /// Names the data that this server serves: a folder, a database. Two servers with one name that share a ledger but not their
    /// data need different instances. Otherwise the key of a call to one server matches a call to the other.
    #[must_use]
    pub fn instance(self, instance: impl Into<String>) -> Self {
        self.with(|spec| spec.instance(instance))
    }

    /// Sets which calls leave a durable row in the ledger.
    #[must_use]
    pub fn audit(self, audit: Audit) -> Self {
        self.with(|spec| spec.audit(audit))
    }

    /// Sets of which calls the ledger stores the arguments for operators. Without this, it stores those that a reviewer approved or
    /// denied.
    #[must_use]
    pub fn keep_arguments(self, keep: KeepArguments) -> Self {
        self.with(|spec| spec.keep_arguments(keep))
    }

    /// Sets which calls need approval before they start. Without this, none. A tool may require approval of more calls.
    #[must_use]
    pub fn ask(self, ask: AskLevel) -> Self {
        self.with(|spec| spec.ask(ask))
    }

    /// Sets which calls of one tool need approval, instead of the server-wide level. The tool may require approval of more calls.
    #[must_use]
    pub fn ask_for(self, tool: impl Into<String>, ask: AskLevel) -> Self {
        self.with(|spec| spec.ask_for(tool, ask))
    }

    /// Denies all calls of a tool. The tool is still listed.
    #[must_use]
    pub fn deny(self, tool: impl Into<String>) -> Self {
        self.with(|spec| spec.deny(tool))
    }

    /// Lets only operators approve calls: answers through the caller's own client do not count. Those of an anonymous caller's
    /// client never count.
    #[must_use]
    pub fn operators_only(self) -> Self {
        self.with(EngineSpec::operators_only)
    }

    /// Sets how long the server holds a call that needs approval before it answers with `approval_required`. Without this, 45
    /// seconds.
    #[must_use]
    pub fn hold(self, time: Duration) -> Self {
        self.with(|spec| spec.hold(time))
    }

    /// Adds a ledger in memory, unless another one is set.
    pub(crate) fn or_in_memory(self) -> Self {
        self.with(EngineSpec::or_in_memory)
    }

    /// Returns true if any call can require approval.
    #[must_use]
    pub fn wants_to_ask(&self) -> bool {
        self.spec.wants_to_ask()
    }

    /// Returns the names of the tools, and of the previews that are generated for them. Returns `None` if a provider has the tools,
    /// because they may differ on every request.
    #[must_use]
    pub fn tool_names(&self) -> Option<Vec<String>> {
        self.spec.tool_names()
    }

    /// Returns the name of a tool that requires a ledger, if there is such a tool and no ledger is set.
    #[must_use]
    pub fn wants_ledger(&self) -> Option<&str> {
        self.spec.wants_ledger()
    }

    /// Sets the server secret. Without one, tokens end with the process, and no other replica accepts them.
    #[must_use]
    pub fn secret(self, secret: Secret) -> Self {
        self.with(|spec| spec.secret(secret))
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
        self.description.authenticator = Some(Arc::new(authenticator));
        self
    }

    /// Changes the limits on what a peer can make the server hold or do.
    #[must_use]
    pub fn limits(self, change: impl FnOnce(&mut Limits)) -> Self {
        self.with(|spec| spec.limits(change))
    }

    /// Sets how long results of lists and reads may be cached, and by whom.
    #[must_use]
    pub fn cache(mut self, hint: CacheHint) -> Self {
        self.description.cache = hint;
        self
    }

    /// Adds a policy of your own: see [`Policy`]. The strictest of all policies counts.
    #[must_use]
    pub fn policy(self, policy: impl Policy) -> Self {
        self.with(|spec| spec.policy(policy))
    }

    /// Checks the description and builds the server.
    ///
    /// # Errors
    /// The description has a mistake.
    pub fn build(self) -> Result<RunningServer, BuildError> {
        let Self { spec, mut description } = self;
        description.info.drop_nulls();
        Ok(RunningServer::new(Engine::build(spec)?, description))
    }
}
