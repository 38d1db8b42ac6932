//! Completion: proposals for an argument or a variable that a user is typing.

use std::collections::{BTreeMap, HashMap};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use crate::ctx::Ctx;
use crate::error::ToolError;

type Propose = dyn Fn(String, BTreeMap<String, String>, Ctx) -> BoxFuture<'static, Result<Vec<String>, ToolError>>
    + Send
    + Sync;

/// What a completion may return: proposals, or why there are none.
#[diagnostic::on_unimplemented(
    message = "a completion cannot return `{Self}`",
    note = "return a `Vec<String>`, or a `Result<Vec<String>, ToolError>`"
)]
pub trait IntoProposals {
    /// Returns the proposals.
    fn into_proposals(self) -> Result<Vec<String>, ToolError>;
}

impl IntoProposals for Vec<String> {
    fn into_proposals(self) -> Result<Vec<String>, ToolError> {
        Ok(self)
    }
}

impl IntoProposals for Result<Vec<String>, ToolError> {
    fn into_proposals(self) -> Result<Vec<String>, ToolError> {
        self
    }
}

/// What the user is filling in: an argument of a prompt, or a variable of a template.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum CompletionSubject {
    /// An argument of the prompt of this name.
    Prompt(String),
    /// A variable of this template.
    Template(String),
}

/// All proposals that a server can make.
#[derive(Default)]
pub(crate) struct Completions(HashMap<CompletionSubject, HashMap<String, Box<Propose>>>);

impl Completions {
    pub(crate) fn add<F, R>(&mut self, subject: CompletionSubject, argument: String, propose: F)
    where
        F: Fn(String, BTreeMap<String, String>, Ctx) -> R + Send + Sync + 'static,
        R: Future<Output: IntoProposals> + Send + 'static,
    {
        let propose = move |typed, decided, ctx| {
            propose(typed, decided, ctx).map(IntoProposals::into_proposals).boxed()
        };
        self.0.entry(subject).or_default().insert(argument, Box::new(propose));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the function that proposes values for an argument, if there is one.
    pub(crate) fn find(&self, subject: &CompletionSubject, argument: &str) -> Option<&Propose> {
        self.0.get(subject)?.get(argument).map(AsRef::as_ref)
    }
}
