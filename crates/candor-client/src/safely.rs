//! A call that asks first: what it would do, and where that matters, whether it may.

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
use crate::foresee::{EffectSource, Explanation};
use crate::host::Progress;
use crate::policy::Trust;
use crate::result::CallResult;
use crate::tools::KnownTool;

type SendFn = Box<dyn FnMut(Option<&Key>) + Send>;
type ReviewFn = Box<dyn FnMut(&KnownTool, &Value, &mut Explanation) + Send>;
type ConfirmFn = Box<dyn FnOnce(ConfirmRequest) -> BoxFuture<'static, bool> + Send>;

/// What a person is asked to confirm: exactly what will be sent.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ConfirmRequest {
    /// The tool.
    pub tool: Arc<KnownTool>,
    /// What is sent, to the letter.
    pub arguments: Arc<Value>,
    /// What the call would do.
    pub foreseen: Explanation,
    /// What the tool's own preview says of it.
    pub preview: Option<String>,
    /// The name of the operation.
    pub key: Option<Key>,
    /// Whether the server is believed.
    pub trust: Trust,
    /// The server was to ask for approval of this call, and refused it because it no longer would: the call would run without any
    /// question but this one.
    pub decision_changed: bool,
    /// The server lists the tool that it says can undo the call.
    pub undo_is_listed: bool,
}

impl ConfirmRequest {
    /// The question in a few lines. Names and texts are the server's: make them safe for where they are shown.
    #[must_use]
    pub fn summary(&self) -> String {
        let hints = self.foreseen.hints;
        let question = if hints.is_destructive() {
            "This operation may be destructive. Proceed?"
        } else {
            "This operation needs your consent. Proceed?"
        };
        let known = match (self.trust, self.foreseen.basis) {
            (Trust::Trusted, EffectSource::Asked) => {
                "the server's answer for these arguments".to_owned()
            }
            (Trust::Trusted, EffectSource::Declared) => "declared by the tool".to_owned(),
            (_, EffectSource::Nothing) => "unclassified".to_owned(),
            (Trust::Untrusted, _) => {
                format!("reported by an untrusted server: {}", self.foreseen.said.hints.in_words())
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
            self.foreseen.in_words(),
        )
    }

    /// Says whether the call can be undone, and with which tool. `None` for a call that only reads, or whose server says so. Nothing
    /// in it but a valid tool name is the server's.
    #[must_use]
    pub fn undo_in_words(&self) -> Option<String> {
        if self.foreseen.hints.is_read_only() || self.foreseen.said.hints.is_read_only() {
            return None;
        }
        let words = Undo::in_words(self.tool.undo());
        Some(match self.tool.undo().and_then(Undo::tool) {
            Some(_) if !self.undo_is_listed => {
                format!("{words} The server lists no tool of that name.")
            }
            _ => words,
        })
    }

    /// A name for these arguments of this tool: whoever records a consent can record what it was to.
    #[must_use]
    pub fn fingerprint(&self) -> String {
        fingerprint(self.tool.name(), &self.arguments)
    }
}

fn fingerprint(tool: &str, arguments: &Value) -> String {
    let digest = Sha256::digest(format!("{tool}\0{}", canonical(arguments)));
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A call in the making that asks first: awaiting it makes it.
///
/// List, find, ask the server what these arguments would do, judge that under the trust that the server has and the host's policy,
/// ask a person where that says so, and only then call, with exactly what the person saw.
///
/// A trusted server that asks for approval itself, and checks that it does ([`Explanation::defers`]), is left to ask: the call carries
/// that expectation. If the server then refuses with `decision_changed`, nothing was run; the call is explained anew and the host
/// asks its own question.
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

    /// Reviews what is known of the call before anything is decided. A host that knows more than its policy, such as what its user
    /// agreed to before, has the user asked with [`Explanation::ask_here`].
    pub fn review(
        mut self,
        review: impl FnMut(&KnownTool, &Value, &mut Explanation) + Send + 'static,
    ) -> Self {
        self.review = Some(Box::new(review));
        self
    }

    /// Asks the user, where the policy says so and the server does not ask for approval itself. Without a prompt the call is refused.
    pub fn confirm<F, A>(mut self, ask: F) -> Self
    where
        F: FnOnce(ConfirmRequest) -> A + Send + 'static,
        A: Future<Output = bool> + Send + 'static,
    {
        self.confirm = Some(Box::new(move |proposal| Box::pin(ask(proposal))));
        self
    }

    /// Sets the idempotency key; see [`Call::key`]. Without it, a tool that has an argument for a key gets a new one, if the server
    /// has keys.
    pub fn key(mut self, key: impl Into<Key>) -> Self {
        self.call = self.call.key(key);
        self
    }

    /// Sends the key also to a server without idempotency keys; see [`Call::unsafe_key`].
    pub fn unsafe_key(mut self) -> Self {
        self.call = self.call.unsafe_key();
        self
    }

    /// Hears that a call is sent which does more than read, right before it is, and its key if it has one: whoever loses the answer
    /// knows that it may have been done, and can ask again with the key. With this, such a call has a new key if it has none and
    /// the server knows keys. Heard again if the call is sent again because the server's decision has changed.
    pub fn on_send(mut self, heard: impl FnMut(Option<&Key>) + Send + 'static) -> Self {
        self.on_send = Some(Box::new(heard));
        self
    }

    /// Hears how far it has come; see [`Call::on_progress`].
    pub fn on_progress(mut self, heard: impl Fn(Progress) + Send + Sync + 'static) -> Self {
        self.call = self.call.on_progress(heard);
        self
    }

    /// How long an answer is waited for; see [`Call::timeout`].
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
        // How often the server was left to ask, and refused.
        let mut changes = 0;
        let result = loop {
            let mut foreseen = client.foresee_of(&tool, &self.call.arguments).await?;
            if let Some(review) = &mut self.review {
                review(&tool, &self.call.arguments, &mut foreseen);
            }
            let hints = foreseen.hints;
            if makes_key.when_foreseen(&foreseen) && self.call.key.is_none() {
                self.call.make_key();
            }
            // Also where the host would not ask: a server that announces an approval and runs the call without one is found out.
            self.call.expects_approval =
                foreseen.judgement != Verdict::Deny && foreseen.defers && changes < MOST_CHANGES;
            if !self.call.expects_approval {
                self.agree(&tool, foreseen, preview.take(), changes > 0).await?;
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
        // The tool is no longer the one that the user agreed to: the next call asks about what it is now.
        if result.as_ref().is_err_and(is_outdated) {
            client.forget_tools();
        }
        result
    }

    /// Asks the host's own question, where its policy says so, about exactly what is then sent.
    async fn agree(
        &mut self,
        tool: &Arc<KnownTool>,
        foreseen: Explanation,
        mut preview: Option<String>,
        decision_changed: bool,
    ) -> Result<(), Error> {
        let client = self.call.client;
        match foreseen.judgement {
            Verdict::Allow => {}
            Verdict::Deny => return Err(Error::Refused(RefusalSource::Policy)),
            Verdict::Ask => {
                let Some(confirm) = self.confirm.take() else {
                    return Err(Error::Refused(RefusalSource::NobodyToAsk));
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
                    foreseen,
                    preview,
                    key: self.call.key.clone(),
                    trust: client.trust(),
                    decision_changed,
                    undo_is_listed,
                };
                if !confirm(proposal).await {
                    return Err(Error::Refused(RefusalSource::Person));
                }
                // What was shown is what is sent: nobody had it in hand to change it.
                self.call.arguments = Arc::unwrap_or_clone(arguments);
            }
        }
        Ok(())
    }
}

/// How often a call is left to a server that says it asks, and then refuses because it does not. After that the host asks.
const MOST_CHANGES: u32 = 2;

fn is_decision_changed(result: &Result<CallResult, Error>) -> bool {
    let failure = result.as_ref().ok().and_then(CallResult::failure);
    failure.is_some_and(|failure| failure.by_server && failure.code == failure::DECISION_CHANGED)
}

/// Whether a key is made for a call, and when. It is made once: every attempt has the same.
#[derive(Clone, Copy, PartialEq, Eq)]
enum MakesKey {
    Never,
    /// Before anything else: it is an argument, and all that is asked and shown of the call is of these arguments.
    AtOnce,
    /// When it is known what the call does: it stands beside the arguments, and not every call needs one.
    Foreseen,
}

impl MakesKey {
    /// `heard`: somebody wants to hear of it, to ask again with it.
    fn of(call: &mut Call<'_>, tool: &KnownTool, heard: bool) -> Result<Self, Error> {
        let has_key = call.key.is_some() || call.members()?.contains_key(argument::IDEMPOTENCY_KEY);
        let takes = tool.takes_key_argument();
        Ok(if has_key || !call.client.has_keys() {
            // A key that nothing makes use of promises what does not hold.
            Self::Never
        } else if tool.demands_key() {
            // It can only be an argument.
            Self::AtOnce
        } else if !tool.derives_keys() && (takes || heard) {
            Self::Foreseen
        } else {
            // Nobody would know it, or it would be a second one beside that which the server makes, or nobody asks for one.
            Self::Never
        })
    }

    fn when_foreseen(self, foreseen: &Explanation) -> bool {
        // Not for a call that the server asks a person about: that has a record by itself, which the same call finds again
        // as long as it has no other key.
        let recorded = foreseen.server == Some(Verdict::Ask);
        self == Self::Foreseen && !foreseen.hints.is_read_only() && !recorded
    }
}

impl<'a> IntoFuture for SafeCall<'a> {
    type Output = Result<CallResult, Error>;
    type IntoFuture = BoxFuture<'a, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}
