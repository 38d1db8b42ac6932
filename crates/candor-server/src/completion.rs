//! Proposals for what a person is typing.

use std::collections::{BTreeMap, HashMap};

use candor_protocol::rpc::ErrorObject;
use candor_protocol::types::CompleteReference;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;

type Propose =
    dyn Fn(String, BTreeMap<String, String>) -> BoxFuture<'static, Vec<String>> + Send + Sync;

/// What is being filled in: an argument of a prompt, or a variable of a template.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Subject {
    Prompt(String),
    Template(String),
}

impl Subject {
    pub(crate) fn of(reference: CompleteReference) -> Result<Self, ErrorObject> {
        match (reference.kind.as_str(), reference.name, reference.uri) {
            ("ref/prompt", Some(name), _) => Ok(Self::Prompt(name)),
            ("ref/resource", _, Some(uri)) => Ok(Self::Template(uri)),
            _ => Err(ErrorObject::invalid_params(
                r#"Invalid params: /ref is {"type": "ref/prompt", "name": …} or {"type": "ref/resource", "uri": …}"#,
            )),
        }
    }
}

/// All proposals that a server can make.
#[derive(Default)]
pub(crate) struct Completions(HashMap<(Subject, String), Box<Propose>>);

impl Completions {
    pub(crate) fn add<F, R>(&mut self, subject: Subject, argument: String, propose: F)
    where
        F: Fn(String, BTreeMap<String, String>) -> R + Send + Sync + 'static,
        R: Future<Output = Vec<String>> + Send + 'static,
    {
        let propose = move |typed, decided| propose(typed, decided).boxed();
        self.0.insert((subject, argument), Box::new(propose));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The proposals for what has been typed, given what else is decided; none if nothing is known about it.
    pub(crate) async fn propose(
        &self,
        subject: Subject,
        argument: String,
        typed: String,
        decided: BTreeMap<String, String>,
    ) -> Vec<String> {
        match self.0.get(&(subject, argument)) {
            Some(propose) => propose(typed, decided).await,
            None => Vec::new(),
        }
    }
}
