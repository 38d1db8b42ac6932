//! A call that asks first: it evaluates the call, and asks for confirmation if needed.

use std::fmt;
use std::future::{Future, IntoFuture};
use std::sync::Arc;
use std::time::Duration;

use candor_hints::Verdict;
use candor_protocol::Undo;
use candor_protocol::names::{argument, failure};
use candor_schema::canonical;
use futures_util::future::BoxFuture;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::call::{Call, Key, is_outdated};
use crate::error::{Error, RefusalSource};
use crate::explain::{EffectSource, Explanation};
use crate::host::Progress;
use crate::policy::Trust;
use crate::result::CallResult;
use crate::tools::KnownTool;

type SendFn = Box<dyn FnMut(Option<&Key>) + Send>;
type ReviewFn = Box<dyn FnMut(&KnownTool, &Value, &mut Explanation) + Send>;
type ConfirmFn = Box<dyn FnOnce(ConfirmRequest) -> BoxFuture<'static, bool> + Send>;

/// What the user confirms: exactly what will be sent.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ConfirmRequest {
    /// The tool.
    pub tool: Arc<KnownTool>,
    /// The arguments, exactly as sent.
    pub arguments: Arc<Value>,
    /// What the call would do.
    pub explanation: Explanation,
    /// The text of the tool's preview.
    pub preview: Option<String>,
    /// The idempotency key.
    pub key: Option<Key>,
    /// Whether the server is trusted.
    pub trust: Trust,
    /// The server announced that it asks for approval of this call, and then refused the call because it no longer would. This
    /// confirmation is now the only check before the call runs.
    pub decision_changed: bool,
    /// The server lists the tool that, as it says, can undo the call.
    pub undo_is_listed: bool,
}

impl ConfirmRequest {
    /// Returns the question in a few lines. Names and texts come from the server, so make them safe for the place where you show
    /// them.
    #[must_use]
    pub fn summary(&self) -> String {
        let hints = self.explanation.hints;
        let question = if hints.is_destructive() {
            "This operation may be destructive. Proceed?"
        } else {
            "This operation needs your consent. Proceed?"
        };
        let known = match (self.trust, self.explanation.basis) {
            (Trust::Trusted, EffectSource::Asked) => {
                "the server's answer for these arguments".to_owned()
            }
            (Trust::Trusted, EffectSource::Declared) => "declared by the tool".to_owned(),
            (_, EffectSource::Nothing) => "unclassified".to_owned(),
            (Trust::Untrusted, _) => {
                format!(
                    "reported by an untrusted server: {}",
                    self.explanation.said.hints.summary()
                )
            }
        };
        let preview = self.preview.as_ref().map(|text| format!("\n{text}")).unwrap_or_default();
        let changed = match self.decision_changed {
            true => "\nThe server no longer asks for approval of this call.",
            false => "",
        };
        let described = self.tool.description().map(|text| format!("\n{text}")).unwrap_or_default();
        let undo = self.undo_in_words().map(|words| format!("\n{words}")).unwrap_or_default();
        format!(
            "{} {}{described}\n{} ({known}){undo}{preview}{changed}\n{question}",
            self.tool.name(),
            self.arguments,
            self.explanation.summary(),
        )
    }

    /// Returns, as text, whether the call can be undone, and with which tool. Returns `None` for a call that only reads, or whose
    /// server says so. Only a valid tool name in the text comes from the server.
    #[must_use]
    pub fn undo_in_words(&self) -> Option<String> {
        if self.explanation.hints.is_read_only() || self.explanation.said.hints.is_read_only() {
            return None;
        }
        let words = Undo::summary(self.tool.undo());
        Some(match self.tool.undo().and_then(Undo::tool) {
            Some(_) if !self.undo_is_listed => {
                format!("{words} The server lists no tool of that name.")
            }
            _ => words,
        })
    }

    /// Returns a fingerprint of the tool and these arguments, so that a host can record exactly what its user confirmed.
    #[must_use]
    pub fn fingerprint(&self) -> String {
        fingerprint(self.tool.name(), &self.arguments)
    }
}

fn fingerprint(tool: &str, arguments: &Value) -> String {
    let digest = Sha256::digest(format!("{tool}\0{}", canonical(arguments)));
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A call that asks first. Await it to make the call.
///
/// The client finds the tool, asks the server to evaluate these arguments, and applies its trust in the server and the host's
/// policy. If the policy requires it, the client asks the user. Then it sends exactly what the user saw.
///
/// If a trusted server asks for approval itself, and checks that it does ([`Explanation::defers`]), the client leaves the question
/// to it. The call carries that expectation. If the server refuses the call with `decision_changed`, nothing was run. The client
/// then explains the call again; if the server no longer asks, the host's policy decides.
#[must_use = "a call is made when it is awaited"]
pub struct SafeCall<'a> {
    call: Call<'a>,
    review: Option<ReviewFn>,
    confirm: Option<ConfirmFn>,
    on_send: Option<SendFn>,
}

impl fmt::Debug for SafeCall<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SafeCall").field("call", &self.call).finish_non_exhaustive()
    }
}

impl<'a> SafeCall<'a> {
    pub(crate) fn new(call: Call<'a>) -> Self {
        Self { call, review: None, confirm: None, on_send: None }
    }

    /// Calls `review` with the explanation before each decision. A host may know more than its policy, such as what its user
    /// confirmed before. It can require a confirmation with [`Explanation::require_confirmation`].
    pub fn review(
        mut self,
        review: impl FnMut(&KnownTool, &Value, &mut Explanation) + Send + 'static,
    ) -> Self {
        self.review = Some(Box::new(review));
        self
    }

    /// Asks the user if the policy requires it and the server does not ask for approval itself. Without a prompt, the call is
    /// refused.
    pub fn confirm<F, A>(mut self, ask: F) -> Self
    where
        F: FnOnce(ConfirmRequest) -> A + Send + 'static,
        A: Future<Output = bool> + Send + 'static,
    {
        self.confirm = Some(Box::new(move |proposal| Box::pin(ask(proposal))));
        self
    }

    /// Sets the idempotency key; see [`Call::key`]. Without it, the client makes one if the tool has an argument for a key and the
    /// server has keys.
    pub fn key(mut self, key: impl Into<Key>) -> Self {
        self.call = self.call.key(key);
        self
    }

    /// Sends the key also to a server without idempotency keys; see [`Call::unsafe_key`].
    pub fn unsafe_key(mut self) -> Self {
        self.call = self.call.unsafe_key();
        self
    }

    /// Calls `heard` right before the client sends a call that does more than read, with the key if there is one. If the host loses
    /// the answer, it knows that the call may have run, and can retry with the key. With this, such a call gets a new key if it has
    /// none and the server has keys. If the client resends the call because the server's decision changed, it calls `heard` again.
    pub fn on_send(mut self, heard: impl FnMut(Option<&Key>) + Send + 'static) -> Self {
        self.on_send = Some(Box::new(heard));
        self
    }

    /// Reports the progress of the call; see [`Call::on_progress`].
    pub fn on_progress(mut self, heard: impl Fn(Progress) + Send + Sync + 'static) -> Self {
        self.call = self.call.on_progress(heard);
        self
    }

    /// Sets how long the client waits for an answer; see [`Call::timeout`].
    pub fn timeout(mut self, answer: Duration) -> Self {
        self.call = self.call.timeout(answer);
        self
    }

    async fn run(mut self) -> Result<CallResult, Error> {
        let client = self.call.client;
        let tool = client.tool(&self.call.tool).await?;
        self.call.check_key()?;
        let makes_key = MakesKey::of(&mut self.call, &tool, self.on_send.is_some())?;
        if makes_key == MakesKey::AtOnce {
            self.call.make_key();
        }
        self.call.put_key(&tool)?;
        let mut preview = None;
        if tool.preview().is_some_and(|(_, required)| required)
            && self.call.plan.is_none()
            && !self.call.members()?.contains_key(argument::PLAN_TOKEN)
            && let Some(shown) = client.preview_of(&tool, &self.call.arguments).await?
        {
            preview = Some(shown.text());
            if let Some(token) = shown.plan_token {
                self.call.members()?.insert(argument::PLAN_TOKEN.to_owned(), token.into());
            }
        }
        if let Some(schema) = tool.input_check().await {
            schema.check(&self.call.arguments).map_err(Error::InvalidArguments)?;
        }
        // How often the client left the question to the server, and the server refused.
        let mut changes = 0;
        let result = loop {
            let mut explanation = client.explain_tool(&tool, &self.call.arguments).await?;
            if let Some(review) = &mut self.review {
                review(&tool, &self.call.arguments, &mut explanation);
            }
            let hints = explanation.hints;
            if makes_key.when_explained(&explanation) && self.call.key.is_none() {
                self.call.make_key();
            }
            // Even if the host would not ask: this exposes a server that announces an approval and runs the call without one.
            self.call.expects_approval = explanation.verdict != Verdict::Deny
                && explanation.defers
                && changes < MOST_CHANGES;
            if !self.call.expects_approval {
                self.agree(&tool, explanation, preview.take(), changes > 0).await?;
            }
            if let Some(heard) = self.on_send.as_mut().filter(|_| !hints.is_read_only()) {
                heard(self.call.key.as_ref());
            }
            let result = self.call.perform(Some(&tool), hints).await;
            if !self.call.expects_approval || !is_decision_changed(&result) {
                let expected = self.call.expects_approval;
                break result.map(|result| result.expecting_approval(expected));
            }
            changes += 1;
        };
        // The tool changed after the user confirmed. The next call asks about its current definition.
        if result.as_ref().is_err_and(is_outdated) {
            client.forget_tools();
        }
        result
    }

    /// Asks for confirmation if the host's policy requires it, about exactly what is then sent.
    async fn agree(
        &mut self,
        tool: &Arc<KnownTool>,
        explanation: Explanation,
        mut preview: Option<String>,
        decision_changed: bool,
    ) -> Result<(), Error> {
        let client = self.call.client;
        match explanation.verdict {
            Verdict::Allow => {}
            Verdict::Deny => return Err(Error::Refused(RefusalSource::Policy)),
            Verdict::Ask => {
                let Some(confirm) = self.confirm.take() else {
                    return Err(Error::Refused(RefusalSource::NoPrompt));
                };
                if preview.is_none() {
                    match client.preview_of(tool, &self.call.arguments).await {
                        Ok(None) => {}
                        Ok(Some(shown)) => {
                            preview = Some(shown.text());
                            self.call.plan = self.call.plan.take().or(shown.plan_token);
                        }
                        Err(error) => tracing::warn!(%error, "no preview"),
                    }
                }
                let undo_is_listed = match tool.undo().and_then(Undo::tool) {
                    Some(name) => client.last_known(name).await?.is_some(),
                    None => false,
                };
                let arguments = Arc::new(std::mem::take(&mut self.call.arguments));
                let proposal = ConfirmRequest {
                    tool: tool.clone(),
                    arguments: arguments.clone(),
                    explanation,
                    preview,
                    key: self.call.key.clone(),
                    trust: client.trust(),
                    decision_changed,
                    undo_is_listed,
                };
                if !confirm(proposal).await {
                    return Err(Error::Refused(RefusalSource::Person));
                }
                // Send exactly what was shown. The arguments were shared read-only, so nothing changed them.
                self.call.arguments = Arc::unwrap_or_clone(arguments);
            }
        }
        Ok(())
    }
}

/// How often the client leaves the question to a server that announces it, and then refuses because it would not ask. After that,
/// the host's policy decides.
const MOST_CHANGES: u32 = 2;

fn is_decision_changed(result: &Result<CallResult, Error>) -> bool {
    let failure = result.as_ref().ok().and_then(CallResult::failure);
    failure.is_some_and(|failure| failure.by_server && failure.code == failure::DECISION_CHANGED)
}

/// Whether and when the client makes a key for a call. It makes one key, which every attempt has.
#[derive(Clone, Copy, PartialEq, Eq)]
enum MakesKey {
    Never,
    /// Before everything else: the key is an argument, so the evaluation and the confirmation must include it.
    AtOnce,
    /// After the evaluation: the key is sent beside the arguments, and not every call needs one.
    Explained,
}

impl MakesKey {
    /// Decides whether and when to make a key. `heard`: the host wants the key, to retry with it.
    fn of(call: &mut Call<'_>, tool: &KnownTool, heard: bool) -> Result<Self, Error> {
        let has_key = call.key.is_some() || call.members()?.contains_key(argument::IDEMPOTENCY_KEY);
        let takes = tool.takes_key_argument();
        Ok(if has_key || !call.client.has_keys() {
            // The call has a key already, or the server would ignore one. A caller could not rely on an ignored key.
            Self::Never
        } else if tool.demands_key() {
            // The tool requires the key as an argument.
            Self::AtOnce
        } else if !tool.derives_keys() && (takes || heard) {
            Self::Explained
        } else {
            // The server derives a key itself, or neither the tool nor the host wants one.
            Self::Never
        })
    }

    fn when_explained(self, explanation: &Explanation) -> bool {
        // Not if the server asks for approval of the call. Such a call has a record anyway, which a retry finds as long as it has
        // no other key.
        let recorded = explanation.server == Some(Verdict::Ask);
        self == Self::Explained && !explanation.hints.is_read_only() && !recorded
    }
}

impl<'a> IntoFuture for SafeCall<'a> {
    type Output = Result<CallResult, Error>;
    type IntoFuture = BoxFuture<'a, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}
