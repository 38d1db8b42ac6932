//! One call: prepare, gather, judge, act. An explanation of a call takes the same path, and stops before it acts.
//!
//! | stage | file |
//! |---|---|
//! | take key and plan token out, validate, evaluate the effect | `prepare`, `key`, `plan` |
//! | gather the facts: policy, plan, record, grants | `facts` |
//! | judge them: a pure function | `judge`; its laws are in `laws` |
//! | the decision as callers see it, its id, what a call may expect | `decision`, `id`, `expectation` |
//! | act: answer from the record, refuse, wait for approval, rate and turn | `admit`, `approval` |
//! | run the handler, shape its result | `run`, `shape` |

mod admit;
mod approval;
pub(crate) mod decision;
mod expectation;
mod facts;
mod id;
mod judge;
mod key;
#[cfg(test)]
mod laws;
mod plan;
mod prepare;
mod run;
mod shape;

use std::borrow::Cow;
use std::sync::Arc;

use candor_hints::{DeclaredHints, EffectiveHints, Hints};
use candor_ledger::Key;
use candor_protocol::names::method;
use candor_schema::Violation;
use serde_json::Map;

use crate::ctx::Ctx;
use crate::ctx::request::RequestScope;
use crate::ctx::round::{CarriedState, Questions, RequestBinding, Resume, ResumePoint, Round};
use crate::error::{Refusal, ToolError};
use crate::outcome::{CallEnd, Outcome, RecordedEnd};
use crate::parts::Parts;
use crate::peer::QuestionChannel;
use crate::record::EvaluatedCall;
use crate::tool::{Arguments, Evaluated, PLAN_ARGUMENT, RegisteredTool, ResolvedTool};
use admit::{ClearedCall, decide};
use decision::{Decision, NextStep, annotations};
use facts::{CallQuestion, gather};
use judge::Judgment;
use prepare::{DecodedCall, InvalidCall, PreparedCall};
use run::{CallStart, UnrecordedEnd};
use shape::ResultShaper;

pub use expectation::Expectation;
pub use id::DecisionId;
pub use key::caller_key;

/// A request to run a tool, or to explain what that would do.
#[derive(Debug, Clone, Default)]
pub struct Call {
    /// The tool's name, or that of a part of it.
    pub tool: String,
    /// The arguments.
    pub arguments: Arguments,
    /// The idempotency key beside the arguments. A server without a ledger ignores it.
    pub key: Option<Key>,
    /// The plan token beside the arguments.
    pub plan: Option<String>,
    /// What the call brings that continues an earlier request.
    pub resume: Resume,
    /// Whether arguments may still be missing. For explanations only.
    pub partial: bool,
    /// The decision that the caller expects.
    pub expect: Option<Expectation>,
}

impl Call {
    /// Creates a call.
    pub fn new(tool: impl Into<String>, arguments: Arguments) -> Self {
        Self { tool: tool.into(), arguments, ..Self::default() }
    }
}

/// Explains a call: what the server would do with it now.
pub(crate) async fn explain(
    parts: &Parts,
    request: &RequestScope,
    found: &ResolvedTool<'_>,
    call: &Call,
) -> Decision {
    let entry = found.entry;
    let dynamic = found.is_dynamic();
    let invalid = |invalid: Box<InvalidCall>| {
        let worst = match &invalid.arguments {
            None => entry.effects.worst(),
            Some(arguments) => entry.effects.of_partial(arguments),
        };
        let effect = entry.of_keyed(worst, false);
        let mut problems = invalid.refusal.violations();
        if problems.is_empty() {
            problems.push(Violation::new("", ToolError::text_of(&invalid.refusal)));
        }
        Decision {
            problems,
            effect,
            annotations: annotations(entry, effect, &Map::new()),
            fields: Map::new(),
            dynamic,
            exact: false,
            verdict: parts.policy.listed(entry, worst.hints),
            record: None,
            next: NextStep::Refuse,
            refusal: Some(invalid.refusal),
            id: None,
        }
    };
    let decoded = match DecodedCall::new(found, call, parts.ledger.is_some()) {
        Ok(decoded) => decoded,
        Err(wrong) => return invalid(wrong),
    };
    if call.partial {
        return partial(parts, entry, dynamic, &decoded);
    }
    let lacks_key = decoded.lacks_key();
    let mut prepared = match decoded.prepare(&call.tool) {
        Ok(prepared) => prepared,
        Err(wrong) => return invalid(wrong),
    };
    let evaluated = prepared.evaluate(&request.caller).await;
    let exact = evaluated.is_ok();
    // Without an evaluation, the worst case applies.
    let Evaluated { effective: without_key, fields } =
        evaluated.unwrap_or_else(|_| DeclaredHints::default().effective().into());
    let PreparedCall { arguments, key, token, .. } = prepared;
    let about = EvaluatedCall {
        entry,
        arguments: &arguments,
        hints: without_key.hints,
        has_key: key.is_some(),
        request,
    };
    let question = CallQuestion {
        call: &about,
        key: key.as_ref(),
        lacks_key,
        preview: found.preview.map(|preview| &**preview),
        token: token.as_deref(),
        resumes: None,
    };
    let gathered = gather(parts, question).await;
    let judgment = gathered.decide(&about, parts, None);
    let refusal = match judgment {
        Judgment::Refuse(reason) => gathered.refusal(reason, &about, None),
        _ => None,
    };
    let mut problems = Vec::new();
    if lacks_key {
        problems = Refusal::KeyRequired { tool: entry.name().to_owned() }.violations();
    }
    if let Err(refusal) = &gathered.plan {
        let text = ToolError::text_of(refusal);
        problems.push(Violation::new(format!("/{PLAN_ARGUMENT}"), text));
    }
    let effect = entry.of_keyed(without_key, key.is_some());
    Decision {
        problems,
        effect,
        annotations: annotations(entry, effect, &fields),
        fields,
        dynamic,
        exact,
        verdict: gathered.verdict(),
        record: gathered.record_status(),
        next: judgment.next(),
        refusal,
        id: Some(gathered.decision_id(&about, parts)),
    }
}

/// Explains a call whose arguments are not complete: the worst case that is still possible. A grant covers only complete calls.
fn partial(
    parts: &Parts,
    entry: &RegisteredTool,
    dynamic: bool,
    decoded: &DecodedCall<'_>,
) -> Decision {
    let worst = entry.effects.of_partial(&decoded.arguments);
    let effect = entry.of_keyed(worst, decoded.key.is_some());
    let verdict = parts.policy.listed(entry, worst.hints);
    Decision {
        problems: Vec::new(),
        effect,
        annotations: annotations(entry, effect, &Map::new()),
        fields: Map::new(),
        dynamic,
        exact: false,
        verdict,
        record: None,
        next: NextStep::of_verdict(verdict),
        refusal: None,
        id: None,
    }
}

/// What an outcome reports about its call.
#[derive(Clone, Copy)]
struct OutcomeContext {
    effect: Option<Hints>,
    boxed: bool,
    approved: bool,
}

impl OutcomeContext {
    const fn end(self, end: CallEnd) -> Outcome {
        let Self { effect, boxed, approved } = self;
        Outcome { end, effect, boxed, approved }
    }
}

/// Runs a call, as far as the decision about it permits.
pub(crate) async fn call(
    parts: &Parts,
    request: &RequestScope,
    found: &ResolvedTool<'_>,
    call: Call,
) -> Outcome {
    let entry = found.entry;
    if let Some(position) = &request.slots.position {
        position.narrow(entry.safeguards.serial.as_deref());
    }
    let mut context = OutcomeContext { effect: None, boxed: entry.boxed, approved: false };
    let refused = |context: OutcomeContext, refusal| context.end(CallEnd::Refused(refusal));

    // prepare
    let decoded = match DecodedCall::new(found, &call, parts.ledger.is_some()) {
        Ok(decoded) => decoded,
        Err(invalid) => return refused(context, invalid.refusal),
    };
    // Reported before what is wrong with the other arguments: without a key, no call of the tool is valid.
    if decoded.lacks_key() {
        return refused(context, Refusal::KeyRequired { tool: entry.name().to_owned() });
    }
    let mut ready = match decoded.prepare(&call.tool) {
        Ok(ready) => ready,
        Err(invalid) => return refused(context, invalid.refusal),
    };
    // An evaluator that fails cannot make a call look safe.
    let without_key = ready
        .evaluate(&request.caller)
        .await
        .map_or(Hints::WORST, |evaluated| evaluated.effective.hints);
    if without_key.is_read_only() {
        request.release_position();
    }
    let prepared = match ready.take(&call.tool) {
        Ok(prepared) => prepared,
        Err(invalid) => return refused(context, invalid.refusal),
    };
    let PreparedCall { arguments, key, token, .. } = ready;
    context.effect = entry
        .is_dynamic()
        .then(|| entry.of_keyed(EffectiveHints::resolved(without_key), key.is_some()).hints);
    let about = EvaluatedCall {
        entry,
        arguments: &arguments,
        hints: without_key,
        has_key: key.is_some(),
        request,
    };
    let binding = RequestBinding {
        kind: method::TOOLS_CALL,
        name: &call.tool,
        arguments: Cow::Borrowed(arguments.as_value()),
        key: key.as_ref().map(Key::as_str),
    };
    let signer = found.previews.map(|tool| {
        parts.plans.signer(tool, &request.caller.principal, &arguments, parts.limits.plan)
    });
    let channel = request.peer.channel();
    let shaper = ResultShaper { entry: Arc::clone(entry), channel, signer };
    let round = Round::begin(&parts.rounds, &request.caller.principal, &binding, &call.resume);
    let round = match round {
        Ok(round) => round,
        Err(refusal) => return refused(context, refusal),
    };
    let mut carried = round.carried;
    carried.expects_approval |= call.expect.is_some();
    let expectation = call.expect.or(carried.expects_approval.then_some(Expectation::Approval));

    let sealing = Sealing { parts, request, binding: &binding };

    // A parked handler has been permitted, and goes on where it is.
    if let Some(parked) = round.parked.clone() {
        let resumed = Box::pin(resume(&sealing, &parked, round)).await;
        return match resumed {
            Ok(end) => sealing.seal(end, carried, context),
            Err(end) => context.end(end),
        };
    }

    // gather, judge
    let question = CallQuestion {
        call: &about,
        key: key.as_ref(),
        lacks_key: false,
        preview: found.preview.map(|preview| &**preview),
        token: token.as_deref(),
        resumes: round.resumes,
    };
    let permitted = match decide(parts, question, expectation).await {
        Ok(permitted) => permitted,
        Err(end) => return sealing.seal(end, carried, context),
    };

    // act
    let ctx = match permitted.has_record() {
        false => Ctx::of_call(request, round),
        true => Ctx::recorded(request, round, key.clone()),
    };
    let continues = call.resume.state.is_some();
    let ClearedCall { ticket, grant, record } = match permitted.admit(parts, &ctx, continues).await
    {
        Ok(cleared) => cleared,
        Err(end) => {
            ctx.end().await;
            return sealing.seal(end, carried, context);
        }
    };
    let start = CallStart { parts, call: &about, name: &call.tool, prepared, shaper };
    match record {
        None => match start.at_once(&ctx, ticket, grant.as_deref()).await {
            UnrecordedEnd::End(end) => context.end(end),
            UnrecordedEnd::Asks(questions) => context.end(sealing.ask(questions, None, carried)),
        },
        Some(record) => {
            // An earlier round may have used the approval up.
            carried.approved |= record.approval.is_some();
            context.approved = carried.approved;
            let end = Box::pin(start.recorded(ctx, ticket, record)).await;
            sealing.seal(end, carried, context)
        }
    }
}

/// Gives the answers that a request brings to the parked handler of its call. If the handler is not here any more, what it has done
/// is unknown.
async fn resume(sealing: &Sealing<'_>, parked: &str, round: Round) -> Result<RecordedEnd, CallEnd> {
    let (parts, request) = (sealing.parts, sealing.request);
    let Some(answers) = round.all_answers() else {
        return Err(CallEnd::Refused(Refusal::ResumeInvalid));
    };
    let end = parts.parked.resume(parked, answers, request.peer.clone()).await;
    Ok(end.unwrap_or_else(|| RecordedEnd::Refused(Refusal::lost())))
}

/// Seals the questions of a call, so that only its own repetition can bring the answers.
struct Sealing<'a> {
    parts: &'a Parts,
    request: &'a RequestScope,
    binding: &'a RequestBinding<'a>,
}

impl Sealing<'_> {
    fn ask(
        &self,
        questions: Questions,
        resumes: Option<ResumePoint>,
        carried: CarriedState,
    ) -> CallEnd {
        let bound = self.binding.digest(&self.request.caller.principal);
        let time = self.parts.limits.round;
        CallEnd::Questions(questions.put(&self.parts.rounds, &bound, time, resumes, carried))
    }

    fn seal(&self, end: RecordedEnd, carried: CarriedState, context: OutcomeContext) -> Outcome {
        context.end(match end {
            RecordedEnd::Done { result, note, refusal } => CallEnd::Done { result, note, refusal },
            RecordedEnd::Replayed { members, note } => CallEnd::Replayed { members, note },
            RecordedEnd::Asks { questions, resumes } => {
                if self.request.peer.channel() == QuestionChannel::Immediate {
                    return context.end(CallEnd::Refused(Refusal::InputElsewhere));
                }
                // The client of a retry may differ from the one that was asked.
                match questions.answerable_by(&self.request.caller.client) {
                    Ok(()) => self.ask(questions, resumes, carried),
                    Err(unable) => CallEnd::Unanswerable(unable.into()),
                }
            }
            RecordedEnd::Unanswerable(error) => CallEnd::Unanswerable(error),
            RecordedEnd::Refused(refusal) => CallEnd::Refused(refusal),
        })
    }
}
