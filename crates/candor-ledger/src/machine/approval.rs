//! A person is asked, and decides. What they have said is used by a start (`claim`), once.

use std::sync::Arc;

use super::{Turn, claim, lapse};
use crate::event::{Answer, Decision, Refusal};
use crate::id::{Binding, Fence, Fingerprint, Moment};
use crate::record::{License, Question, Record, State, StateKind, Via};
use crate::rules::Rules;

/// What [`Event::Ask`](crate::Event::Ask) brings.
pub(super) struct Asking {
    pub(super) fingerprint: Fingerprint,
    pub(super) binding: Binding,
    pub(super) asked: Arc<[u8]>,
    pub(super) by_nature: bool,
    pub(super) keyless: bool,
}

/// What a call is told that finds its own question.
pub(super) fn told(record: &Record) -> Option<Answer> {
    let fence = record.fence;
    match &record.state {
        State::Waiting { asked, since, until, .. } => {
            Some(Answer::Waiting { fence, since: *since, until: *until, asked: Arc::clone(asked) })
        }
        State::Approved { by, via, until, .. } => {
            Some(Answer::Approved { fence, by: by.clone(), via: *via, until: *until })
        }
        _ => None,
    }
}

/// Whether it may be used for another call of the same name: nobody holds it, and nobody is asked.
fn is_over(state: &State, now: Moment) -> bool {
    match state {
        State::Denied { until, .. } => now > *until,
        State::Open { .. }
        | State::Completed { .. }
        | State::Indeterminate { .. }
        | State::Tombstone { .. }
        | State::Abandoned { .. } => true,
        State::Waiting { .. }
        | State::Approved { .. }
        | State::Claimed { .. }
        | State::Dispatched { .. }
        | State::Suspended { .. } => false,
    }
}

pub(super) fn ask(record: Option<&Record>, ask: Asking, now: Moment, rules: &Rules) -> Turn {
    let Asking { fingerprint, binding, asked, by_nature, keyless } = ask;
    let fence = record.map_or(Fence::FIRST, |record| record.fence.next());
    let over = record.filter(|record| keyless && is_over(&record.state, now));
    let (license, before) = match over {
        // Another call of the same name: nothing of the last one counts but its fence.
        Some(over) if over.fingerprint == fingerprint => (License::First, None),
        _ => match claim::license(record, fingerprint, by_nature, now) {
            Ok(license) => (license, record),
            Err(answer) => return Turn::stays(answer),
        },
    };
    if let Some(record) = before
        && record.question().is_some_and(|question| question.binding == binding)
        && let Some(answer) = told(record)
    {
        return Turn::stays(answer);
    }
    // Who is to decide must see all of it. An outcome may be left out, because it has happened anyway.
    let len = asked.len() as u64;
    if len > rules.max_outcome {
        let refusal = Refusal::TooLarge { len, most: rules.max_outcome };
        return Turn::stays(Answer::Refused(refusal));
    }
    let until = now.after(rules.approval_wait);
    let answer = Answer::Waiting { fence, since: now, until, asked: Arc::clone(&asked) };
    let next = Record {
        fingerprint,
        fence,
        attempt: before.map_or(0, |record| record.attempt),
        by_nature,
        created: before.map_or(now, |record| record.created),
        touched: now,
        error: before.and_then(|record| record.error.clone()),
        arguments: None,
        state: State::Waiting { asked, binding, since: now, until, license },
    };
    Turn::becomes(next, answer)
}

pub(super) fn decide(
    record: Option<&Record>,
    question: Question,
    by: String,
    via: Via,
    decision: Decision,
    now: Moment,
    rules: &Rules,
) -> Turn {
    let refused = |refusal| Turn::stays(Answer::Refused(refusal));
    let Some(record) = record else { return refused(Refusal::NotWaiting(StateKind::Absent)) };
    let stands = record.state.kind();
    if matches!(record.state, State::Denied { until, .. } if now > until) {
        return refused(Refusal::NotWaiting(stands));
    }
    match record.question() {
        None => return refused(Refusal::NotWaiting(stands)),
        Some(asked) if asked != question => return refused(Refusal::AskedAnew),
        Some(_) => {}
    }
    let state = match &record.state {
        State::Waiting { binding, license, .. } => {
            let (binding, since, license) = (*binding, now, license.clone());
            match decision {
                Decision::Approve => {
                    let until = now.after(rules.approval_valid);
                    State::Approved { by, via, binding, since, until, license }
                }
                Decision::Deny { reason } => {
                    let until = now.after(rules.denied);
                    let keep_until = lapse::denial_kept(&license, until, rules.retention);
                    State::Denied { by, via, reason, binding, since, until, keep_until, license }
                }
            }
        }
        // Said twice, because the first answer was lost on the way.
        State::Approved { by: first, via: way, .. }
            if (first, *way) == (&by, via) && decision == Decision::Approve =>
        {
            return Turn::stays(Answer::Done);
        }
        State::Denied { by: first, via: way, reason, .. }
            if (first, *way) == (&by, via)
                && decision == (Decision::Deny { reason: reason.clone() }) =>
        {
            return Turn::stays(Answer::Done);
        }
        State::Approved { by, via, .. } | State::Denied { by, via, .. } => {
            return refused(Refusal::Decided { by: by.clone(), via: *via, stands });
        }
        _ => return refused(Refusal::NotWaiting(stands)),
    };
    Turn::becomes(Record { state, ..record.clone() }, Answer::Done)
}
