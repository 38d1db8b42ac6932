//! Prompts: conversation starters that the client fills in.

mod messages;
mod typed;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use candor_protocol::types::{
    Content, GetPromptResult, Prompt as Definition, PromptArgument, PromptMessage,
};
use candor_schema::Invalid;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use crate::ctx::Ctx;
use crate::ctx::Need;
use crate::error::ToolError;

pub use messages::IntoPrompt;
pub use typed::PromptFn;
#[doc(hidden)] // for the code that `#[prompt]` generates
pub use typed::PromptSpec;

/// The arguments that the client sent.
pub type PromptArguments = BTreeMap<String, String>;

/// Parses the arguments and returns a function that fills in the prompt.
type PreparePrompt = dyn Fn(PromptArguments) -> Result<Fill, Invalid> + Send + Sync;

pub(crate) type Fill =
    Box<dyn FnOnce(Ctx) -> BoxFuture<'static, Result<GetPromptResult, ToolError>> + Send>;

/// A prompt and how it is filled in.
#[derive(Clone)]
pub struct Prompt {
    definition: Definition,
    prepare: Arc<PreparePrompt>,
    /// The state that it needs.
    needs: Vec<Need>,
    /// The values of arguments that have only a few.
    choices: BTreeMap<String, Vec<String>>,
    /// Why its schema is invalid, so that its arguments cannot be checked.
    broken: Option<String>,
}

impl Prompt {
    /// Creates a prompt. If its arguments are known at compile time, `#[prompt]` on a function is shorter.
    ///
    /// ```
    /// use candor_server::prompt::Prompt;
    ///
    /// let review = Prompt::new("review", |args, _ctx| async move {
    ///     Ok(format!("Please review {}.", args["file"]))
    /// })
    /// .description("Asks for a review")
    /// .argument("file", "What to review", true);
    /// ```
    pub fn new<F, R, P>(name: impl Into<String>, handler: F) -> Self
    where
        F: Fn(PromptArguments, Ctx) -> R + Send + Sync + 'static,
        R: Future<Output = Result<P, ToolError>> + Send + 'static,
        P: IntoPrompt,
    {
        let handler = Arc::new(handler);
        Self {
            definition: Definition::new(name),
            prepare: Arc::new(move |arguments| {
                let handler = handler.clone();
                Ok(Box::new(move |ctx| {
                    handler(arguments, ctx).map(|made| made.map(IntoPrompt::into_prompt)).boxed()
                }))
            }),
            needs: Vec::new(),
            choices: BTreeMap::new(),
            broken: None,
        }
    }

    /// Sets the description of the prompt.
    #[must_use]
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.definition.description = Some(description.into());
        self
    }

    /// Adds an argument. Required arguments are always present when the handler runs.
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

    /// Returns the first required argument that is missing.
    pub(crate) fn missing_argument(&self, arguments: &PromptArguments) -> Option<&str> {
        let declared = self.definition.arguments.iter().flatten();
        let mut required = declared.filter(|a| a.required == Some(true)).map(|a| a.name.as_str());
        required.find(|name| !arguments.contains_key(*name))
    }

    /// Parses the arguments, and returns a function that fills in the prompt.
    pub(crate) fn prepare(&self, arguments: PromptArguments) -> Result<Fill, Invalid> {
        (self.prepare)(arguments)
    }

    /// Returns the values of an argument that begin with the typed text, ignoring case.
    pub(crate) fn proposals(&self, argument: &str, typed: &str) -> Vec<String> {
        let typed = typed.to_lowercase();
        let values = self.choices.get(argument).into_iter().flatten();
        values.filter(|value| value.to_lowercase().starts_with(&typed)).cloned().collect()
    }

    /// Returns true if any argument has values to propose.
    pub(crate) fn proposes(&self) -> bool {
        !self.choices.is_empty()
    }

    pub(crate) fn needs(&self) -> &[Need] {
        &self.needs
    }

    pub(crate) fn broken(&self) -> Option<&str> {
        self.broken.as_deref()
    }

    pub(crate) fn name(&self) -> &str {
        &self.definition.name
    }
}

/// Returns a prompt with a single message of the user.
pub fn user(content: impl Into<Content>) -> GetPromptResult {
    GetPromptResult::new(vec![PromptMessage::user(content)])
}

/// Prompts in their listed order.
#[derive(Default)]
pub struct PromptSet(Vec<Prompt>);

impl PromptSet {
    /// Returns a set of prompts. Fails with the name if two prompts have the same name.
    pub fn new(prompts: impl IntoIterator<Item = Prompt>) -> Result<Self, String> {
        let mut set = Self::default();
        for mut prompt in prompts {
            prompt.definition.drop_nulls();
            if set.find(&prompt.definition.name).is_some() {
                return Err(prompt.definition.name);
            }
            set.0.push(prompt);
        }
        Ok(set)
    }

    /// Returns the prompts as they are listed.
    pub fn definitions(&self) -> impl Iterator<Item = &Definition> {
        self.0.iter().map(|prompt| &prompt.definition)
    }

    /// Returns true if any prompt has values to propose.
    pub(crate) fn proposes(&self) -> bool {
        self.0.iter().any(Prompt::proposes)
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
