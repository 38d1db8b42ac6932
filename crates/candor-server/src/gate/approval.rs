//! Asking a person whether a call may start: once, on every channel that there is.
//!
//! The question waits in the ledger, where every operator sees it. If the caller's own client can be asked, it is, unless that is
//! switched off; what comes back that way is recorded as such. No channel never means yes.

use std::sync::Arc;
use std::time::{Duration, Instant};

use candor_ledger::{
    Answer, Binding, Decision, Event, Fence, Grant, Question, Refusal, Seen, StateKind, Via,
};
use candor_protocol::Era;
use candor_protocol::json::{Decode, RawValue, raw};
use candor_protocol::names::{extension, method};
use candor_protocol::types::{ElicitAction, ElicitForm, ElicitResult, InputRequest};
use serde_json::{Value, json};

use super::prompts::Prompts;
use super::{Pattern, Policy};
use crate::arguments::Arguments;
use crate::ask::Elicit;
use crate::ctx::Ctx;
use crate::ledger::Call;
use crate::ledger::once::{Operation, Told};
use crate::ledger::words;
use crate::round::{Questions, Resumes, Round};
use crate::tool::{KEY_ARGUMENT, effects};

/// How often a call that waits says so.
const SAY_SO: Duration = Duration::from_secs(10);

/// What is to be decided, and with what it is bound.
pub(crate) struct Approval<'a> {
    pub(crate) policy: &'a Policy,
    pub(crate) prompts: &'a Prompts,
    pub(crate) call: &'a Call<'a>,
    pub(crate) operation: &'a Operation,
    /// As the caller's plan has shown it.
    pub(crate) world: Option<[u8; 32]>,
}

/// By what a call may start that a person is asked about.
pub(crate) enum Permission {
    /// A yes to this very call, which its start uses up.
    Once(Binding),
    /// Calls like it are permitted.
    ForAWhile(Grant),
}

impl Approval<'_> {
    fn binding(&self) -> Binding {
        self.policy.binding(self.call.entry, self.world)
    }

    /// What a client has brought back from its person. Gives the question that they have answered, or left.
    pub(crate) async fn brought(&self, round: &Round) -> Option<Fence> {
        let Some(Resumes::Approval { fence }) = round.resumes else { return None };
        let fence = Fence(fence);
        let answer = round.answered(extension::APPROVAL);
        match answer.and_then(decided) {
            Some(decision) => self.decide(fence, decision).await,
            None => self.prompts.left((self.operation.digest(), fence)),
        }
        answer?;
        Some(fence)
    }

    async fn decide(&self, fence: Fence, decision: Decision) {
        if self.policy.out_of_band {
            return;
        }
        let question =
            Question { fence, fingerprint: self.operation.fingerprint(), binding: self.binding() };
        let by = self.call.exchange.principal.as_str().to_owned();
        let event = Event::Decide { question, by, via: Via::Client, decision };
        // What is in the way of it is told by whatever comes next.
        match self.operation.say(event).await {
            Ok(_) => self.prompts.decided((self.operation.digest(), fence)),
            Err(error) => tracing::warn!(%error, "a decision could not be written down"),
        }
    }

    /// By what it may start; or what the caller is told instead. The person behind the client is not asked again what
    /// they `left` undecided.
    pub(crate) async fn get(&self, ctx: &Ctx, left: Option<Fence>) -> Result<Permission, Told> {
        if let Some(grant) = self.granted().await.map_err(Told::Refused)? {
            return Ok(Permission::ForAWhile(grant));
        }
        let binding = self.binding();
        let shown: Arc<[u8]> = self.shown().to_string().into_bytes().into();
        let begun = Instant::now();
        // The caller's time is for the tool.
        let _paused = ctx.deadline().pause();
        let asks_client = !self.policy.out_of_band && ctx.client().capabilities.elicits_forms();
        // The question that this request has put to its client, or has found there.
        let mut asked = None;
        loop {
            let event = Event::Ask {
                fingerprint: self.operation.fingerprint(),
                binding,
                asked: Arc::clone(&shown),
                by_nature: self.call.hints.is_idempotent(),
                keyless: self.operation.is_keyless(),
            };
            let answer = self.operation.say(event).await;
            let (fence, until) = match answer {
                Ok(Answer::Approved { .. }) => return Ok(Permission::Once(binding)),
                Ok(Answer::Waiting { fence, until, .. }) => (fence, until),
                Ok(Answer::Refused(Refusal::TooLarge { len, most })) => {
                    return Err(Told::Refused(words::too_large_to_ask(len, most)));
                }
                Ok(other) => match self.operation.answered(other).await {
                    Some(told) => return Err(told),
                    None => continue,
                },
                Err(error) => return Err(Told::Refused(words::unavailable(&error))),
            };
            let seen = Seen { fence, state: StateKind::Waiting };
            let question = (self.operation.digest(), fence);
            let time = self.policy.hold.saturating_sub(begun.elapsed());
            let may_ask = asks_client && left != Some(fence);
            // Whoever finds it out already waits; in the end its answer may be lost, and it is put again.
            if may_ask && ctx.era() == Era::Modern && (asked != Some(fence) || time.is_zero()) {
                asked = Some(fence);
                if self.prompts.send(question, self.policy.hold) {
                    return Err(self.put(fence));
                }
            }
            if may_ask && ctx.era() == Era::Legacy && asked != Some(fence) {
                asked = Some(fence);
                if let Some(_open) = self.prompts.open(question, self.policy.hold) {
                    self.ask_client(ctx, seen).await;
                    continue;
                }
            }
            if time.is_zero() {
                return Err(Told::Refused(words::approval_required(
                    &self.operation.short_id(),
                    until,
                )));
            }
            ctx.waiting("Waiting for a person's approval").await;
            let _ = tokio::time::timeout(time.min(SAY_SO), self.operation.changed(seen)).await;
        }
    }

    /// The question as an answer, for clients that come back with theirs.
    fn put(&self, fence: Fence) -> Told {
        let mut request = InputRequest::new(method::ELICIT);
        request.params = Some(raw(&self.form()));
        let questions = Questions::single(extension::APPROVAL, request);
        Told::Asks { questions, resumes: Resumes::Approval { fence: fence.0 } }
    }

    /// Asks the client while its request waits, until somebody has decided, here or elsewhere, or the person has left.
    async fn ask_client(&self, ctx: &Ctx, seen: Seen) {
        tokio::select! {
            Ok(()) = self.operation.changed(seen) => {
                self.prompts.decided((self.operation.digest(), seen.fence));
            }
            answer = ctx.elicit(Elicit::given(self.form())) => {
                if let Some(decision) = answer.ok().and_then(|said| decided_in(said.action(), said.accepted())) {
                    self.decide(seen.fence, decision).await;
                }
            }
        }
    }

    /// What a person has permitted for a while, if this call is among it.
    async fn granted(&self) -> Result<Option<Grant>, crate::tool::ToolError> {
        let grants = self.operation.grants().await.map_err(|error| words::unavailable(&error))?;
        let arguments = self.arguments();
        Ok(grants.into_iter().find(|grant| {
            Pattern::read(&grant.pattern).is_some_and(|pattern| pattern.fits(&arguments))
        }))
    }

    /// The arguments without the key, which is another one in each call.
    fn arguments(&self) -> Arguments {
        let arguments = self.call.arguments.clone();
        if self.call.entry.takes_key { arguments.without(KEY_ARGUMENT) } else { arguments }
    }

    /// All that a person needs to know, from what we know ourselves and not from what a model says.
    fn shown(&self) -> Value {
        let Call { entry, hints, exchange, .. } = self.call;
        json!({
            "tool": entry.name(),
            "title": entry.definition.title,
            "arguments": self.arguments().as_value(),
            "effect": hints.in_words(),
            "annotations": effects::annotations(*hints),
            "description": entry.tool.definition().description,
            "client": exchange.client.info().map(|client| format!("{} {}", client.name, client.version)),
            "operation": self.operation.short_id(),
        })
    }

    fn form(&self) -> ElicitForm {
        let Call { entry, hints, .. } = self.call;
        let pretty = serde_json::to_string_pretty(self.arguments().as_value()).unwrap_or_default();
        let message = format!(
            "May {} run?\n{}\nArguments:\n{pretty}\nOperation {}",
            entry.name(),
            hints.in_words(),
            self.operation.short_id()
        );
        let schema = json!({
            "type": "object",
            "properties": {"decision": {"type": "string", "enum": ["approve", "deny"], "title": "Decision"}},
            "required": ["decision"],
        });
        ElicitForm::new(message, raw(&schema))
    }
}

fn decided(answer: &RawValue) -> Option<Decision> {
    let answer = ElicitResult::decode(answer.into()).ok()?;
    let content = answer.content.as_ref().and_then(|content| serde_json::to_value(content).ok());
    match answer.action {
        ElicitAction::Accept => decided_in("accept", content.as_ref()),
        ElicitAction::Decline => decided_in("decline", None),
        _ => None,
    }
}

/// Only a clear yes is one. Who leaves without an answer has decided nothing.
fn decided_in(action: &str, content: Option<&Value>) -> Option<Decision> {
    match (action, content.and_then(|content| content["decision"].as_str())) {
        ("accept", Some("approve")) => Some(Decision::Approve),
        ("accept" | "decline", _) => Some(Decision::Deny { reason: None }),
        _ => None,
    }
}
