//! A call comes in, for the first time or with the answer to a question.

use super::{Turn, owner};
use crate::event::{Answer, Holder};
use crate::id::{Fence, Fingerprint, Moment, Owner};
use crate::record::{License, Record, Round, State};
use crate::rules::Rules;

/// Why a claim is granted, or what it is answered.
pub(super) fn decide(
    record: Option<&Record>,
    fingerprint: Fingerprint,
    by_nature: bool,
    now: Moment,
) -> Result<License, Answer> {
    let Some(record) = record else { return Ok(License::First) };
    // Nobody holds it and it never ran: the key stands for nothing yet.
    if matches!(record.state, State::Open { license: License::First, .. }) {
        return Ok(License::First);
    }
    if record.fingerprint != fingerprint {
        return Err(Answer::KeyReused);
    }
    let fence = record.fence;
    let in_flight = |since, lease| Answer::InFlight {
        fence,
        state: record.state.kind(),
        since,
        retry_after: now.until(lease),
    };
    Err(match &record.state {
        // That it was harmless then says nothing of a call that is not so now.
        State::Open { license: License::ByNature { reason, since }, .. } if !by_nature => {
            Answer::OutcomeUnknown { reason: *reason, since: *since }
        }
        State::Open { license, .. } => return Ok(license.clone()),
        State::Claimed { lease, .. } => in_flight(record.created, *lease),
        State::Dispatched { started, lease, .. } => in_flight(*started, *lease),
        State::Suspended { round, asked, until, .. } => {
            Answer::Suspended { fence, round: *round, asked: asked.clone(), until: *until }
        }
        State::Completed { outcome, completed, resolved_by, .. } => Answer::Replay {
            outcome: outcome.clone(),
            completed: *completed,
            attempt: record.attempt,
            resolved_by: resolved_by.clone(),
        },
        State::Indeterminate { reason, since, .. } if record.by_nature && by_nature => {
            return Ok(License::ByNature { reason: *reason, since: *since });
        }
        State::Indeterminate { reason, since, .. } => {
            Answer::OutcomeUnknown { reason: *reason, since: *since }
        }
        State::Tombstone { until } => Answer::Expired { until: *until },
        State::Abandoned { by, until } => Answer::Abandoned { by: by.clone(), until: *until },
    })
}

pub(super) fn claim(
    record: Option<&Record>,
    fingerprint: Fingerprint,
    owner: Owner,
    by_nature: bool,
    now: Moment,
    rules: &Rules,
) -> Turn {
    let license = match decide(record, fingerprint, by_nature, now) {
        Ok(license) => license,
        Err(answer) => return Turn::stays(answer),
    };
    let fence = record.map_or(Fence::FIRST, |record| record.fence.next());
    let attempt = record.map_or(0, |record| record.attempt);
    let next = Record {
        fingerprint,
        fence,
        attempt,
        by_nature,
        created: record.map_or(now, |record| record.created),
        touched: now,
        state: State::Claimed { owner, lease: now.after(rules.lease), license },
    };
    Turn::becomes(next, Answer::Claimed { fence, attempt: attempt + 1 })
}

/// A claim and its dispatch, with nothing in between.
pub(super) fn start(
    record: Option<&Record>,
    fingerprint: Fingerprint,
    owner: Owner,
    by_nature: bool,
    now: Moment,
    rules: &Rules,
) -> Turn {
    let claimed = claim(record, fingerprint, owner, by_nature, now, rules);
    let Answer::Claimed { fence, attempt } = claimed.answer else { return claimed };
    let dispatched = owner::dispatch(claimed.next.as_ref(), Holder { owner, fence }, now, rules);
    Turn { answer: Answer::Started { fence, attempt }, ..dispatched }
}

pub(super) fn resume(
    record: Option<&Record>,
    fingerprint: Fingerprint,
    asked_under: Fence,
    asked: Round,
    owner: Owner,
    now: Moment,
    rules: &Rules,
) -> Turn {
    if let Some(record) = record
        && let State::Suspended { round, started, .. } = &record.state
        && (record.fingerprint, record.fence, *round) == (fingerprint, asked_under, asked)
    {
        let fence = record.fence.next();
        let state = State::Dispatched {
            owner,
            lease: now.after(rules.lease),
            started: *started,
            round: Round(round.0 + 1),
        };
        let answer = Answer::Resumed { fence, attempt: record.attempt };
        return Turn::becomes(Record { fence, state, ..record.clone() }, answer);
    }
    // The answer was sent twice, or too late: who brings it learns where the call stands, and starts nothing.
    Turn::stays(decide(record, fingerprint, false, now).err().unwrap_or(Answer::Lost))
}
