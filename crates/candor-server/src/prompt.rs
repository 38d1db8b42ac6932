//! Prompts: conversations to begin with, filled in by the client.

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
use crate::state::Need;
use crate::tool::ToolError;

pub use messages::IntoPrompt;
pub use typed::PromptFn;
#[doc(hidden)] // for what `#[prompt]` writes
pub use typed::PromptSpec;

/// What the client has filled in.
pub type PromptArguments = BTreeMap<String, String>;

/// Reads the arguments; what it returns fills the prompt in.
type PreparePrompt = dyn Fn(PromptArguments) -> Result<Fill, Invalid> + Send + Sync;

pub(crate) type Fill =
    Box<dyn FnOnce(Ctx) -> BoxFuture<'static, Result<GetPromptResult, ToolError>> + Send>;

/// A prompt and how it is filled in.
#[derive(Clone)]
pub struct Prompt {
    definition: Definition,
    prepare: Arc<PreparePrompt>,
    /// The state that it cannot be filled in without.
    needs: Vec<Need>,
    /// The values of arguments that have only a few.
    choices: BTreeMap<String, Vec<String>>,
    /// Why its arguments cannot be checked.
    broken: Option<String>,
}

impl Prompt {
    /// A prompt. Where its arguments are known when the program is written, `#[prompt]` on a function is shorter.
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

    /// Reads the arguments. What it returns fills the prompt in.
    pub(crate) fn prepare(&self, arguments: PromptArguments) -> Result<Fill, Invalid> {
        (self.prepare)(arguments)
    }

    /// Returns the values of an argument that begin with what has been typed, in any case of letters.
    pub(crate) fn proposals(&self, argument: &str, typed: &str) -> Vec<String> {
        let typed = typed.to_lowercase();
        let values = self.choices.get(argument).into_iter().flatten();
        values.filter(|value| value.to_lowercase().starts_with(&typed)).cloned().collect()
    }

    /// Returns true if it has values to propose.
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

/// A prompt that is one thing the user says.
pub fn user(content: impl Into<Content>) -> GetPromptResult {
    GetPromptResult::new(vec![PromptMessage::user(content)])
}

/// Prompts in the order in which they are listed.
#[derive(Default)]
pub struct PromptSet(Vec<Prompt>);

impl PromptSet {
    /// A set. Fails for two prompts of one name, and gives that name.
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

    /// The prompts as they are listed.
    pub fn definitions(&self) -> impl Iterator<Item = &Definition> {
        self.0.iter().map(|prompt| &prompt.definition)
    }

    /// Returns true if any of them has values to propose.
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
