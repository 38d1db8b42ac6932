//! Asks for approval of a call: once, through every approval channel.
//!
//! The ledger stores the request, and every operator sees it. If the caller is not anonymous and its client can ask its user, the
//! client gets the request too, unless the server allows operators only. The ledger records which channel an answer came from. If
//! there is no channel, the call does not run.

use std::pin::pin;
use std::time::{Duration, Instant};

use candor_ledger::{
    ApprovalChannel, Binding, Event, EventError, EventReply, Fence, Moment, Record, RecordState,
    RecordVersion, RequestVersion, Review, StateKind,
};
use candor_protocol::Undo;
use candor_protocol::json::{Decode, Object, RawValue, raw};
use candor_protocol::names::{extension, method, waiting};
use candor_protocol::shown::{cut, json_shown, shown};
use candor_protocol::types::{ElicitAction, ElicitForm, ElicitResult, InputRequest};
use serde_json::json;

use super::plan::{PreviewRun, stale};
use crate::ctx::Ctx;
use crate::ctx::round::{Questions, ResumePoint, Round};
use crate::display::RequestDetails;
use crate::elicitations::{ElicitationId, PendingElicitations};
use crate::error::Refusal;
use crate::outcome::RecordedEnd;
use crate::parts::Parts;
use crate::peer::QuestionChannel;
use crate::plans::StateDigest;
use crate::policy::{CombinedRuling, ServerPolicy};
use crate::record::join::WaitingCaller;
use crate::record::recorded::RecordedCall;
use crate::record::{EvaluatedCall, readable};
use crate::tool::{RegisteredTool, secret, undo_of_call};

/// Interval between the notices of a call that waits.
const SAY_SO: Duration = Duration::from_secs(10);

/// Maximum number of times that one call asks again because its request changed. Without a limit, two servers with different
/// definitions of a tool would ask in turns for as long as both wait.
pub(super) const MOST_REQUESTS: usize = 16;

/// The approval of one call: what the reviewer decides on, and what the approval is bound to.
pub(super) struct ApprovalFlow<'a> {
    pub(super) parts: &'a Parts,
    pub(super) call: &'a EvaluatedCall<'a>,
    pub(super) ruling: &'a CombinedRuling,
    pub(super) operation: &'a RecordedCall,
    /// The preview of the call's tool, if it has one.
    pub(super) preview: Option<&'a RegisteredTool>,
    /// The state that the caller's own preview saw.
    pub(super) planned: StateDigest,
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
pub(super) struct ApprovalSubject {
    preview: Option<PreviewRun>,
    binding: Binding,
}

/// Why an approval does not permit a start: the state is another one than the reviewer or the caller saw.
pub(super) enum StateChange {
    /// The caller's own plan does not hold any more.
    Plan(Refusal),
    /// The reviewer saw another state. This is the present one.
    Review(ApprovalSubject),
}

impl<'a> ApprovalFlow<'a> {
    const fn policy(&self) -> &'a ServerPolicy {
        &self.parts.policy
    }

    const fn prompts(&self) -> &'a PendingElicitations {
        &self.parts.elicitations
    }

    fn bound(&self, state: StateDigest) -> Binding {
        self.policy().binding(self.call.entry, self.ruling, state)
    }

    /// Runs the preview for a reviewer. An approval covers what the reviewer saw: if the preview sees another state, this is another
    /// request.
    async fn subject(&self) -> ApprovalSubject {
        match self.preview {
            Some(preview) => {
                let run = PreviewRun::at(&self.parts.plans, self.call, preview).await;
                ApprovalSubject { binding: self.bound(run.state), preview: Some(run) }
            }
            None => ApprovalSubject { binding: self.bound(None), preview: None },
        }
    }

    /// Checks the state just before the start: the caller's plan must hold, and the approval must be for this state. Runs the
    /// preview only if one of them names a state.
    pub(super) async fn check_state(&self, approval: Option<Binding>) -> Result<(), StateChange> {
        // An approval of another binding is for a state, or for another definition of the tool, or for other rules.
        let is_other = approval.is_some_and(|binding| binding != self.bound(None));
        if !is_other && self.planned.is_none() {
            return Ok(());
        }
        // Boxed, because most calls have no plan.
        let now = Box::pin(self.subject()).await;
        let Some(preview) = self.preview else { return Err(StateChange::Review(now)) };
        let run = now.preview.as_ref();
        if self.planned.is_some() && run.and_then(|run| run.state) != self.planned {
            // The preview's own error tells why the plan no longer holds.
            let error = now.preview.and_then(|run| run.error);
            let refusal = error.map_or_else(|| stale(preview, self.call), Refusal::PreviewFailed);
            return Err(StateChange::Plan(refusal));
        }
        match approval {
            Some(binding) if binding != now.binding => Err(StateChange::Review(now)),
            _ => Ok(()),
        }
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
        self.policy().asks_client_of(&self.call.request.caller.principal)
    }

    async fn decide(&self, fence: Fence, binding: Binding, decision: Review) {
        if !self.asks_client() {
            return;
        }
        let question = RequestVersion { fence, fingerprint: self.operation.fingerprint(), binding };
        let by = self.call.request.caller.principal.as_str().to_owned();
        let event = Event::Decide { question, by, via: ApprovalChannel::Client, decision };
        // If the ledger refuses the answer, the next step reports why.
        match self.operation.say(event).await {
            Ok(_) => self.prompts().decided(self.prompt(fence)),
            Err(error) => tracing::warn!(%error, "a decision could not be written down"),
        }
    }

    /// Waits for an approval of the subject, or of what the preview shows now. Returns what the approval is bound to, or what the
    /// caller receives instead.
    pub(super) async fn obtain(
        &self,
        ctx: &Ctx,
        subject: Option<ApprovalSubject>,
    ) -> Result<Binding, RecordedEnd> {
        // A user that left a request undecided is not asked again.
        let left = self.brought(ctx.round()).await;
        let asks_client = self.asks_client() && ctx.client().can_elicit();
        let is_immediate = ctx.channel() == QuestionChannel::Immediate;
        let begun = Instant::now();
        // The deadline is for the tool, not for the reviewer.
        let _paused = ctx.deadline().pause();
        // The request that this call sent to its client, or found there.
        let mut asked_client = None;
        let mut subject = match subject {
            Some(subject) => subject,
            None => self.subject().await,
        };
        for _ in 0..MOST_REQUESTS {
            self.check_plan(&subject).map_err(RecordedEnd::Refused)?;
            let (fence, until) = match self.put(ctx, &subject).await? {
                ApprovalState::Approved => return Ok(subject.binding),
                ApprovalState::Waiting { fence, until } => (fence, until),
                ApprovalState::Changed => continue,
            };
            let may_ask = asks_client && left != Some(fence);
            if may_ask && asked_client != Some(fence) {
                asked_client = Some(fence);
                if !is_immediate && self.prompts().send(self.prompt(fence), self.policy().hold) {
                    return Err(self.goes_back(fence, &subject));
                }
                if is_immediate
                    && let Some(_open) = self.prompts().open(self.prompt(fence), self.policy().hold)
                {
                    self.ask_client(ctx, fence, &subject).await;
                    subject = self.present(subject).await;
                    continue;
                }
            }
            let seen = RecordVersion { fence, state: StateKind::Waiting };
            if !self.hold(ctx, seen, begun).await {
                // The review may have come at the last moment: a caller that is still connected must not be asked to wait for it.
                if !matches!(self.put(ctx, &subject).await?, ApprovalState::Waiting { fence: now, .. } if now == fence)
                {
                    subject = self.present(subject).await;
                    continue;
                }
                // The question went out with another response, which may be lost: send it again.
                if may_ask
                    && !is_immediate
                    && self.prompts().send(self.prompt(fence), self.policy().hold)
                {
                    return Err(self.goes_back(fence, &subject));
                }
                return Err(RecordedEnd::Refused(self.operation.approval_required(Some(until))));
            }
            subject = self.present(subject).await;
        }
        Err(RecordedEnd::Refused(self.operation.approval_required(None)))
    }

    /// Returns the subject to go on with after the record changed. It stays the same, without another run of the preview, unless
    /// another call like this one has asked about another state.
    async fn present(&self, subject: ApprovalSubject) -> ApprovalSubject {
        let stored = self.operation.stored().await;
        let other = match stored {
            Ok(Some(Record {
                state: RecordState::Waiting { binding, .. } | RecordState::Approved { binding, .. },
                ..
            })) => binding != subject.binding,
            _ => false,
        };
        if other { self.subject().await } else { subject }
    }

    /// Refuses to ask about a plan that no longer holds.
    fn check_plan(&self, subject: &ApprovalSubject) -> Result<(), Refusal> {
        match (self.planned, &subject.preview, self.preview) {
            (Some(planned), Some(run), Some(preview)) if run.state != Some(planned) => {
                Err(stale(preview, self.call))
            }
            _ => Ok(()),
        }
    }

    fn request(&self, asked: &ApprovalSubject) -> InputRequest {
        let mut request = InputRequest::new(method::ELICIT);
        request.params = Some(raw(&self.form(asked)));
        request
    }

    /// Returns the request as the answer to this round, for clients that retry with the user's answer.
    fn goes_back(&self, fence: Fence, asked: &ApprovalSubject) -> RecordedEnd {
        let questions = Questions::single(extension::APPROVAL, self.request(asked));
        let resumes = ResumePoint::Approval { fence: fence.0, binding: asked.binding };
        RecordedEnd::Asks { questions, resumes: Some(resumes) }
    }

    /// Asks the client while its call waits, until a reviewer decides on any channel, or the user leaves.
    async fn ask_client(&self, ctx: &Ctx, fence: Fence, asked: &ApprovalSubject) {
        let seen = RecordVersion { fence, state: StateKind::Waiting };
        let (request, stop) = (self.request(asked), ctx.gone().child_token());
        let mut answer = pin!(ctx.ask_until(&request, &stop));
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
    async fn put(&self, ctx: &Ctx, asked: &ApprovalSubject) -> Result<ApprovalState, RecordedEnd> {
        let event = Event::Ask {
            fingerprint: self.operation.fingerprint(),
            binding: asked.binding,
            asked: self.details(asked).to_bytes().into(),
            idempotent: self.operation.idempotent(),
            keyless: self.operation.is_keyless(),
        };
        match self.operation.ask(event, self.call).await {
            Ok(EventReply::Approved { .. }) => Ok(ApprovalState::Approved),
            Ok(EventReply::Waiting { fence, until, .. }) => {
                Ok(ApprovalState::Waiting { fence, until })
            }
            Ok(EventReply::Refused(EventError::TooLarge { len, most })) => {
                Err(RecordedEnd::Refused(Refusal::RequestTooLarge { bytes: len, most }))
            }
            Ok(other) => match self.operation.answered(other, WaitingCaller::Ctx(ctx)).await {
                Some(told) => Err(told),
                None => Ok(ApprovalState::Changed),
            },
            Err(error) => Err(RecordedEnd::Refused(Refusal::of_store(&error))),
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
    fn details(&self, asked: &ApprovalSubject) -> RequestDetails {
        let EvaluatedCall { entry, request, arguments, .. } = self.call;
        let effect = self.call.effect();
        let (sent, readable) = (entry.without_key(arguments), readable(self.call));
        let secrets = secret::changed(sent.as_value(), &readable);
        let client = request.caller.client.info();
        RequestDetails {
            tool: entry.name().to_owned(),
            title: entry.definition.title.clone(),
            // A secret's value is not stored, so no grant can match it again.
            secrets: secrets.into_iter().map(str::to_owned).collect(),
            arguments: raw(&readable),
            summary: effect.summary(),
            effect: Some(effect),
            description: entry.tool.definition().description.clone(),
            client: client.map(|client| format!("{} {}", client.name, client.version)),
            preview: asked.preview.as_ref().map(|run| run.text.clone()),
            undo: self.undo(),
            operation: self.operation.short_id(),
        }
    }

    fn undo(&self) -> Option<Undo> {
        undo_of_call(self.call.entry, self.call.effect())
    }

    fn form(&self, asked: &ApprovalSubject) -> ElicitForm {
        let entry = self.call.entry;
        let description = entry.tool.definition().description.as_deref();
        // Escape what a client may not show: a user cannot approve what is invisible.
        let pretty = serde_json::to_string_pretty(&readable(self.call)).unwrap_or_default();
        let pretty = json_shown(&pretty);
        let line = |line: &str| format!("\n{}", shown(line));
        let preview = asked.preview.as_ref().map(|run| {
            let lines: String = run.text.lines().map(line).collect();
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
