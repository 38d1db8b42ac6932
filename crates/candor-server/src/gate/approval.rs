//! Asks for approval of a call: once, through every approval channel.
//!
//! The ledger stores the request, and every operator sees it. If the caller is not anonymous and its client can ask its user, the
//! client gets the request too, unless the server allows operators only. The ledger records which channel an answer came from. If
//! there is no channel, the call does not run.

use std::pin::pin;
use std::time::{Duration, Instant};

use candor_ledger::{
    ApprovalChannel, Binding, Event, EventError, EventReply, Fence, Moment, RecordVersion,
    RequestVersion, Review, StateKind,
};
use candor_protocol::json::{Decode, Object, RawValue, raw};
use candor_protocol::names::{extension, method, waiting};
use candor_protocol::types::{ElicitAction, ElicitForm, ElicitResult, InputRequest};
use candor_protocol::{Era, Undo};
use serde_json::{Value, json};

use super::Policy;
use super::prompts::{ElicitationId, PendingElicitations};
use crate::admission::plan::{PlanStatus, PreviewRun};
use crate::ctx::Ctx;
use crate::engine::Engine;
use crate::ledger::join::WaitingCaller;
use crate::ledger::operation::{Outcome, RecordedCall};
use crate::ledger::words;
use crate::ledger::{Call, readable};
use crate::people::shown::{cut, json_shown, shown};
use crate::round::{Questions, ResumePoint, Round};
use crate::tool::{RegisteredTool, effects, secret, undo_of_call};

/// Interval between the notices of a call that waits.
const SAY_SO: Duration = Duration::from_secs(10);

/// Maximum number of times that one call asks again because its request changed. Without a limit, two servers with different
/// definitions of a tool would ask in turns for as long as both wait.
const MOST_LOOKS: usize = 16;

/// The approval of one call: what the reviewer decides on, and what the approval is bound to.
pub(crate) struct ApprovalFlow<'a> {
    pub(crate) engine: &'a Engine,
    pub(crate) call: &'a Call<'a>,
    pub(crate) operation: &'a RecordedCall,
    /// The preview of the call's tool, if it has one.
    pub(crate) preview: Option<&'a RegisteredTool>,
    /// The plan that the caller saw.
    pub(crate) planned: PlanStatus<'a>,
}

/// A call that may start.
pub(crate) struct ApprovedStart<'a> {
    /// The approval that the start uses. `None` if it uses none.
    pub(crate) binding: Option<Binding>,
    /// The plan that must still hold.
    pub(crate) planned: PlanStatus<'a>,
}

/// The state of an approval request.
enum ApprovalState {
    Approved,
    Waiting {
        fence: Fence,
        until: Moment,
    },
    /// The record was in another state and has changed since: ask again.
    Changed,
}

/// What a reviewer is asked.
struct ApprovalSubject<'a> {
    look: Option<PreviewRun<'a>>,
    binding: Binding,
}

impl<'a> ApprovalFlow<'a> {
    fn policy(&self) -> &'a Policy {
        &self.engine.parts().policy
    }

    fn prompts(&self) -> &'a PendingElicitations {
        self.engine.prompts()
    }

    /// Returns the current request. An approval covers what the reviewer saw: if the preview sees another state, this is another
    /// request.
    async fn question(&self) -> ApprovalSubject<'a> {
        let look = match self.preview {
            Some(preview) => Some(PreviewRun::at(self.engine, self.call, preview).await),
            None => None,
        };
        let world = look.as_ref().and_then(|look| look.world);
        ApprovalSubject { binding: self.policy().binding(self.call.entry, world), look }
    }

    /// Records the answer that the client brings from its user. Returns the request that the user answered or left undecided.
    async fn brought(&self, round: &Round) -> Option<Fence> {
        let Some(ResumePoint::Approval { fence, binding }) = round.resumes else { return None };
        let fence = Fence(fence);
        let answer = round.answered(extension::APPROVAL);
        match answer.and_then(decided) {
            // Bound to what the user saw: if the request has changed since, the ledger refuses the answer.
            Some(decision) => self.decide(fence, binding, decision).await,
            None => self.prompts().left(self.prompt(fence)),
        }
        answer?;
        Some(fence)
    }

    fn prompt(&self, fence: Fence) -> ElicitationId {
        (self.operation.digest(), fence)
    }

    /// Returns true if the answer of the caller's own client counts.
    fn asks_client(&self) -> bool {
        self.policy().asks_client_of(&self.call.exchange.principal)
    }

    async fn decide(&self, fence: Fence, binding: Binding, decision: Review) {
        if !self.asks_client() {
            return;
        }
        let question = RequestVersion { fence, fingerprint: self.operation.fingerprint(), binding };
        let by = self.call.exchange.principal.as_str().to_owned();
        let event = Event::Decide { question, by, via: ApprovalChannel::Client, decision };
        // If the ledger refuses the answer, the next step reports why.
        match self.operation.say(event).await {
            Ok(_) => self.prompts().decided(self.prompt(fence)),
            Err(error) => tracing::warn!(%error, "a decision could not be written down"),
        }
    }

    /// Waits for an approval. Returns it, or the outcome that the caller receives instead.
    pub(crate) async fn get(&self, ctx: &Ctx) -> Result<ApprovedStart<'a>, Outcome> {
        // A user that left a request undecided is not asked again.
        let left = self.brought(ctx.round()).await;
        let asks_client = self.asks_client() && ctx.client().capabilities.elicits_forms();
        let begun = Instant::now();
        // The deadline is for the tool, not for the reviewer.
        let _paused = ctx.deadline().pause();
        // The request that this call sent to its client, or found there.
        let mut asked_client = None;
        for _ in 0..MOST_LOOKS {
            let asked = self.question().await;
            let planned = match &asked.look {
                // No reviewer is asked about a plan that no longer holds.
                Some(look) => self.planned.seen_in(look, self.call).map_err(Outcome::Refused)?,
                None => self.planned,
            };
            let (fence, until) = match self.put(ctx, &asked).await? {
                ApprovalState::Approved => {
                    return Ok(ApprovedStart { binding: Some(asked.binding), planned });
                }
                ApprovalState::Waiting { fence, until } => (fence, until),
                ApprovalState::Changed => continue,
            };
            let may_ask = asks_client && left != Some(fence);
            let is_modern = ctx.era() == Era::Modern;
            if may_ask && asked_client != Some(fence) {
                asked_client = Some(fence);
                if is_modern && self.prompts().send(self.prompt(fence), self.policy().hold) {
                    return Err(self.goes_back(fence, &asked));
                }
                if !is_modern
                    && let Some(_open) = self.prompts().open(self.prompt(fence), self.policy().hold)
                {
                    self.ask_client(ctx, fence, &asked).await;
                    continue;
                }
            }
            let seen = RecordVersion { fence, state: StateKind::Waiting };
            if !self.hold(ctx, seen, begun).await {
                // The review may have come at the last moment: a caller that is still connected must not be asked to wait for it.
                if !matches!(self.put(ctx, &asked).await?, ApprovalState::Waiting { fence: now, .. } if now == fence)
                {
                    continue;
                }
                // The question went out with another response, which may be lost: send it again.
                if may_ask
                    && is_modern
                    && self.prompts().send(self.prompt(fence), self.policy().hold)
                {
                    return Err(self.goes_back(fence, &asked));
                }
                return Err(Outcome::Refused(self.operation.approval_required(Some(until))));
            }
        }
        Err(Outcome::Refused(self.operation.approval_required(None)))
    }

    /// Returns the unused approval of this call, bound to `binding`, unless the tool, the policy or the previewed state has
    /// changed.
    pub(crate) async fn given(&self, binding: Binding) -> Result<ApprovedStart<'a>, Outcome> {
        let asked = self.question().await;
        if asked.binding != binding {
            return Ok(ApprovedStart { binding: None, planned: self.planned });
        }
        let planned = match &asked.look {
            Some(look) => self.planned.seen_in(look, self.call).map_err(Outcome::Refused)?,
            None => self.planned,
        };
        Ok(ApprovedStart { binding: Some(binding), planned })
    }

    fn request(&self, asked: &ApprovalSubject<'_>) -> InputRequest {
        let mut request = InputRequest::new(method::ELICIT);
        request.params = Some(raw(&self.form(asked)));
        request
    }

    /// Returns the request as the answer to this round, for clients that retry with the user's answer.
    fn goes_back(&self, fence: Fence, asked: &ApprovalSubject<'_>) -> Outcome {
        let questions = Questions::single(extension::APPROVAL, self.request(asked));
        let resumes = ResumePoint::Approval { fence: fence.0, binding: asked.binding };
        Outcome::Asks { questions, resumes }
    }

    /// Asks the client while its call waits, until a reviewer decides on any channel, or the user leaves.
    async fn ask_client(&self, ctx: &Ctx, fence: Fence, asked: &ApprovalSubject<'_>) {
        let seen = RecordVersion { fence, state: StateKind::Waiting };
        let (request, stop) = (self.request(asked), ctx.gone().child_token());
        let mut answer = pin!(ctx.ask_session_until(&request, &stop));
        let said = tokio::select! {
            Ok(()) = self.operation.changed(seen) => {
                self.prompts().decided(self.prompt(fence));
                // Cancel the question that the client still shows.
                stop.cancel();
                let _ = answer.await;
                return;
            }
            said = &mut answer => said,
        };
        if let Some(decision) = said.ok().as_deref().and_then(decided) {
            self.decide(fence, asked.binding, decision).await;
        }
    }

    /// Stores the request where every operator sees it, or finds it there.
    async fn put(&self, ctx: &Ctx, asked: &ApprovalSubject<'_>) -> Result<ApprovalState, Outcome> {
        let event = Event::Ask {
            fingerprint: self.operation.fingerprint(),
            binding: asked.binding,
            asked: self.shown(asked).to_string().into_bytes().into(),
            idempotent: self.operation.idempotent(),
            keyless: self.operation.is_keyless(),
        };
        match self.operation.ask(event, self.call).await {
            Ok(EventReply::Approved { .. }) => Ok(ApprovalState::Approved),
            Ok(EventReply::Waiting { fence, until, .. }) => {
                Ok(ApprovalState::Waiting { fence, until })
            }
            Ok(EventReply::Refused(EventError::TooLarge { len, most })) => {
                Err(Outcome::Refused(words::too_large_to_ask(len, most)))
            }
            Ok(other) => match self.operation.answered(other, WaitingCaller::Ctx(ctx)).await {
                Some(told) => Err(told),
                None => Ok(ApprovalState::Changed),
            },
            Err(error) => Err(Outcome::Refused(words::unavailable(&error))),
        }
    }

    /// Waits until the request changes, at most as long as a call may be held. Returns true if it changed.
    async fn hold(&self, ctx: &Ctx, seen: RecordVersion, begun: Instant) -> bool {
        let says = format!("{}{}", waiting::FOR_APPROVAL, self.operation.short_id());
        let mark = self.mark();
        loop {
            let left = self.policy().hold.saturating_sub(begun.elapsed());
            if left.is_zero() {
                return false;
            }
            ctx.waiting(&says, Some(&mark)).await;
            let changed =
                tokio::time::timeout(left.min(SAY_SO), self.operation.changed(seen)).await;
            if changed.is_ok() {
                return true;
            }
        }
    }

    /// Returns what a reviewer needs to know. It comes from the server, not from what a model says about the call.
    fn shown(&self, asked: &ApprovalSubject<'_>) -> Value {
        let Call { entry, exchange, .. } = self.call;
        let effect = self.call.effect();
        let (sent, readable) =
            (self.call.entry.without_key(self.call.arguments), readable(self.call));
        json!({
            "tool": entry.name(),
            "title": entry.definition.title,
            // A secret's value is not stored, so no grant can match it again.
            "secrets": secret::changed(sent.as_value(), &readable),
            "arguments": readable,
            "effect": effect.summary(),
            "annotations": effects::annotations(effect.hints),
            "description": entry.tool.definition().description,
            "client": exchange.client.info().map(|client| format!("{} {}", client.name, client.version)),
            "preview": asked.look.as_ref().map(|look| &look.text),
            "undo": self.undo().as_ref().map(Undo::to_value),
            "operation": self.operation.short_id(),
        })
    }

    fn undo(&self) -> Option<Undo> {
        undo_of_call(self.call.entry, self.call.effect())
    }

    fn form(&self, asked: &ApprovalSubject<'_>) -> ElicitForm {
        let entry = self.call.entry;
        let description = entry.tool.definition().description.as_deref();
        // Escape what a client may not show: a user cannot approve what is invisible.
        let pretty = serde_json::to_string_pretty(&readable(self.call)).unwrap_or_default();
        let pretty = json_shown(&pretty);
        let line = |line: &str| format!("\n{}", shown(line));
        let preview = asked.look.as_ref().map(|look| {
            let lines: String = look.text.lines().map(line).collect();
            format!("\nWhat it would do:{lines}")
        });
        let effect = self.call.effect();
        let undo = match effect.hints.is_read_only() {
            true => String::new(),
            false => format!("\n{}", shown(&Undo::summary(self.undo().as_ref()))),
        };
        let message = format!(
            "May {} run?\n{}\n{}{}\nArguments:\n{pretty}{}\nOperation {}",
            shown(entry.name()),
            effect.summary(),
            quoted(description.unwrap_or_default()),
            undo,
            preview.unwrap_or_default(),
            self.operation.short_id()
        );
        let schema = json!({
            "type": "object",
            "properties": {"decision": {"type": "string", "enum": ["approve", "deny"], "title": "Decision"}},
            "required": ["decision"],
        });
        let mut form = ElicitForm::new(message, raw(&schema));
        form.meta = Some(self.mark());
        form
    }

    /// Marks the request and the progress of a waiting call as being about an approval, so that programs need not parse the text.
    fn mark(&self) -> Object {
        let (tool, operation) = (self.call.entry.name(), self.operation.short_id());
        Object::new().with(extension::APPROVAL, &json!({"tool": tool, "operation": operation}))
    }
}

/// Maximum lines of a description, and characters per line. More would push the arguments out of sight.
const DESCRIPTION: (usize, usize) = (12, 200);

/// Returns the description, each line marked as the author's, because it must not pass for a line of ours.
fn quoted(description: &str) -> String {
    let (lines, columns) = DESCRIPTION;
    let text = description.trim();
    if text.is_empty() {
        return "(the tool has no description)".to_owned();
    }
    let mut quoted: Vec<_> =
        text.lines().take(lines).map(|line| format!("> {}", cut(line, columns))).collect();
    match text.lines().count().saturating_sub(lines) {
        0 => {}
        1 => quoted.push("(1 more line of the description is not shown)".to_owned()),
        more => quoted.push(format!("({more} more lines of the description are not shown)")),
    }
    quoted.join("\n")
}

/// Reads the review from an answer. Only a clear yes is an approval. A user that leaves without an answer decides nothing.
fn decided(answer: &RawValue) -> Option<Review> {
    let answer = ElicitResult::decode(answer.into()).ok()?;
    let content = answer.content.and_then(|content| serde_json::to_value(&content).ok());
    match (answer.action, content.as_ref().and_then(|content| content["decision"].as_str())) {
        (ElicitAction::Accept, Some("approve")) => Some(Review::Approve),
        (ElicitAction::Accept | ElicitAction::Decline, _) => Some(Review::Deny { reason: None }),
        _ => None,
    }
}
