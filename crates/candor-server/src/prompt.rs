//! Prompts: conversations to begin with, filled in by the client.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use candor_protocol::types::{
    Content, GetPromptResult, Prompt as Definition, PromptArgument, PromptMessage, Role,
};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use crate::ctx::Ctx;
use crate::tool::ToolError;

/// What the client has filled in.
pub type PromptArguments = BTreeMap<String, String>;

type Handler = dyn Fn(PromptArguments, Ctx) -> BoxFuture<'static, Result<GetPromptResult, ToolError>>
    + Send
    + Sync;

/// A prompt and how it is filled in.
#[derive(Clone)]
pub struct Prompt {
    definition: Definition,
    handler: Arc<Handler>,
}

impl Prompt {
    /// A prompt.
    ///
    /// ```
    /// use candor_server::prompt::{self, Prompt};
    ///
    /// let review = Prompt::new("review", |args, _ctx| async move {
    ///     Ok(prompt::user(format!("Please review {}.", args["file"])))
    /// })
    /// .description("Asks for a review")
    /// .argument("file", "What to review", true);
    /// ```
    pub fn new<F, R>(name: impl Into<String>, handler: F) -> Self
    where
        F: Fn(PromptArguments, Ctx) -> R + Send + Sync + 'static,
        R: Future<Output = Result<GetPromptResult, ToolError>> + Send + 'static,
    {
        Self {
            definition: Definition::new(name),
            handler: Arc::new(move |arguments, ctx| handler(arguments, ctx).boxed()),
        }
    }

    /// What it is for.
    #[must_use]
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.definition.description = Some(description.into());
        self
    }

    /// Adds something to fill in. The handler can rely on required arguments being there.
    #[must_use]
    pub fn argument(
        mut self,
        name: impl Into<String>,
        description: impl Into<String>,
        required: bool,
    ) -> Self {
        let mut argument = PromptArgument::new(name);
        argument.description = Some(description.into());
        argument.required = Some(required);
        self.definition.arguments.get_or_insert_default().push(argument);
        self
    }

    /// Changes the definition in any other way.
    #[must_use]
    pub fn define(mut self, change: impl FnOnce(&mut Definition)) -> Self {
        change(&mut self.definition);
        self
    }

    /// The first required argument that is not filled in.
    pub(crate) fn missing_argument(&self, arguments: &PromptArguments) -> Option<&str> {
        let declared = self.definition.arguments.iter().flatten();
        let mut required = declared.filter(|a| a.required == Some(true)).map(|a| a.name.as_str());
        required.find(|name| !arguments.contains_key(*name))
    }

    pub(crate) fn fill(
        &self,
        arguments: PromptArguments,
        ctx: Ctx,
    ) -> BoxFuture<'static, Result<GetPromptResult, ToolError>> {
        (self.handler)(arguments, ctx)
    }
}

/// A prompt that is one thing the user says.
pub fn user(content: impl Into<Content>) -> GetPromptResult {
    GetPromptResult::new(vec![PromptMessage::new(Role::User, content)])
}

/// Prompts in the order in which they are listed.
#[derive(Default)]
pub struct PromptSet(Vec<Prompt>);

impl PromptSet {
    /// A set. Fails for two prompts of one name, and gives that name.
    pub fn new(prompts: impl IntoIterator<Item = Prompt>) -> Result<Self, String> {
        let mut set = Self::default();
        for prompt in prompts {
            if set.find(&prompt.definition.name).is_some() {
                return Err(prompt.definition.name);
            }
            set.0.push(prompt);
        }
        Ok(set)
    }

    /// The prompts as they are listed.
    pub fn definitions(&self) -> impl Iterator<Item = &Definition> {
        self.0.iter().map(|prompt| &prompt.definition)
    }

    pub(crate) fn find(&self, name: &str) -> Option<&Prompt> {
        self.0.iter().find(|prompt| prompt.definition.name == name)
    }
}

impl fmt::Debug for PromptSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.definitions().map(|d| &d.name)).finish()
    }
}
