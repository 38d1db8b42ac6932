//! Asking a person whether a call may start: once, on every channel that there is.
//!
//! The question waits in the ledger, where every operator sees it. If the caller's own client can be asked, it is, unless that is
//! switched off; what comes back that way is recorded as such. No channel never means yes.

use std::sync::Arc;
use std::time::{Duration, Instant};

use candor_ledger::{
    Answer, Binding, Decision, Event, Fence, Question, Refusal, Seen, StateKind, Via,
};
use candor_protocol::Era;
use candor_protocol::json::{Decode, RawValue, raw};
use candor_protocol::names::{extension, method};
use candor_protocol::types::{ElicitAction, ElicitForm, ElicitResult, InputRequest};
use serde_json::{Value, json};

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
    pub(crate) call: &'a Call<'a>,
    pub(crate) operation: &'a Operation,
}

impl Approval<'_> {
    fn binding(&self) -> Binding {
        self.policy.binding(self.call.entry)
    }

    /// What a client has brought back for its person.
    pub(crate) async fn brought(&self, round: &Round) {
        let Some(Resumes::Approval { fence }) = round.resumes else { return };
        let Some(decision) = round.answered(extension::APPROVAL).and_then(decided) else { return };
        self.decide(Fence(fence), decision).await;
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
        if let Err(error) = self.operation.say(event).await {
            tracing::warn!(%error, "a decision could not be written down");
        }
    }

    /// The approval that the start has to use up; or what the caller is told instead.
    pub(crate) async fn get(&self, ctx: &Ctx) -> Result<Option<Binding>, Told> {
        if self.is_granted().await.map_err(Told::Refused)? {
            return Ok(None);
        }
        let binding = self.binding();
        let asked: Arc<[u8]> = self.shown().to_string().into_bytes().into();
        let begun = Instant::now();
        // The caller's time is for the tool.
        let _paused = ctx.deadline().pause();
        let mut asked_client = false;
        loop {
            let event = Event::Ask {
                fingerprint: self.operation.fingerprint(),
                binding,
                asked: Arc::clone(&asked),
                by_nature: self.call.hints.is_idempotent(),
                keyless: self.operation.is_keyless(),
            };
            let answer = self.operation.say(event).await;
            let (fence, until) = match answer {
                Ok(Answer::Approved { .. }) => return Ok(Some(binding)),
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
            let asks_client = !self.policy.out_of_band && ctx.client().capabilities.elicits_forms();
            if asks_client && ctx.era() == Era::Modern {
                let mut request = InputRequest::new(method::ELICIT);
                request.params = Some(raw(&self.form()));
                let questions = Questions::single(extension::APPROVAL, request);
                return Err(Told::Asks {
                    questions,
                    resumes: Resumes::Approval { fence: fence.0 },
                });
            }
            let seen = Seen { fence, state: StateKind::Waiting };
            if asks_client && !asked_client {
                asked_client = true;
                let form = self.form();
                let elicit = Elicit::given(form);
                tokio::select! {
                    _ = self.operation.changed(seen) => {}
                    answer = ctx.elicit(elicit) => {
                        if let Some(decision) = answer.ok().and_then(|said| decided_in(said.action(), said.accepted())) {
                            self.decide(fence, decision).await;
                        }
                    }
                }
                continue;
            }
            let left = self.policy.hold.saturating_sub(begun.elapsed());
            if left.is_zero() {
                return Err(Told::Refused(words::approval_required(
                    &self.operation.short_id(),
                    until,
                )));
            }
            ctx.waiting("Waiting for a person's approval").await;
            let _ = tokio::time::timeout(left.min(SAY_SO), self.operation.changed(seen)).await;
        }
    }

    /// Whether a person has permitted such calls of this tool, as it is, for a while.
    async fn is_granted(&self) -> Result<bool, crate::tool::ToolError> {
        let grants = self.operation.grants().await.map_err(|error| words::unavailable(&error))?;
        let (binding, arguments) = (self.binding(), self.arguments());
        Ok(grants.iter().filter(|grant| grant.covers(binding)).any(|grant| {
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
