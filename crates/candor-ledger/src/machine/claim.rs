//! A call comes in, for the first time or with the answer to a question.

use super::{Turn, approval, owner};
use crate::event::{Answer, Holder};
use crate::id::{Binding, Fence, Fingerprint, Moment, Owner};
use crate::record::{License, Record, Round, State, Via};
use crate::rules::Rules;

/// What a call brings that would be claimed.
#[derive(Clone, Copy)]
pub(super) struct Call {
    pub(super) fingerprint: Fingerprint,
    pub(super) by_nature: bool,
    /// What its approval must be bound to, if it needs one.
    pub(super) approval: Option<Binding>,
}

/// Why it may be started as far as keys go, be there an approval or not, or what it is answered.
pub(super) fn license(
    record: Option<&Record>,
    fingerprint: Fingerprint,
    by_nature: bool,
    now: Moment,
) -> Result<License, Answer> {
    let Some(record) = record else { return Ok(License::First) };
    let denial_ended = matches!(record.state, State::Denied { until, .. } if now > until);
    // Nobody holds it and it never ran: the key stands for nothing yet.
    match record.state {
        State::Open { license: License::First, .. } => return Ok(License::First),
        State::Denied { license: License::First, .. } if denial_ended => return Ok(License::First),
        _ => {}
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
        silent_for: record.touched.until(now),
    };
    Err(match &record.state {
        // That it was harmless then says nothing of a call that is not so now; and who approved has not been asked that.
        State::Open { license: License::ByNature { reason, since }, .. }
        | State::Waiting { license: License::ByNature { reason, since }, .. }
        | State::Approved { license: License::ByNature { reason, since }, .. }
            if !by_nature =>
        {
            Answer::OutcomeUnknown { reason: *reason, since: *since }
        }
        State::Denied { license: License::ByNature { reason, since }, .. }
            if denial_ended && !by_nature =>
        {
            Answer::OutcomeUnknown { reason: *reason, since: *since }
        }
        State::Denied { license, .. } if denial_ended => return Ok(license.clone()),
        State::Open { license, .. }
        | State::Waiting { license, .. }
        | State::Approved { license, .. } => return Ok(license.clone()),
        State::Denied { by, via, reason, until, .. } => {
            Answer::Denied { by: by.clone(), via: *via, reason: reason.clone(), until: *until }
        }
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

/// What a call is told before it is known whether it needs an approval. `None`: it may go on.
pub(super) fn foretell(
    record: Option<&Record>,
    fingerprint: Fingerprint,
    by_nature: bool,
    now: Moment,
) -> Option<Answer> {
    match license(record, fingerprint, by_nature, now) {
        Err(answer) => Some(answer),
        Ok(_) => record
            .filter(|record| matches!(record.state, State::Waiting { .. }))
            .and_then(approval::told),
    }
}

/// Whose approval the call uses, if it needs one, or what it is answered.
fn approved(
    record: Option<&Record>,
    needed: Option<Binding>,
) -> Result<Option<(String, Via)>, Answer> {
    let Some(needed) = needed else { return Ok(None) };
    match record.map(|record| (record, &record.state)) {
        Some((_, State::Approved { by, via, binding, .. })) if *binding == needed => {
            Ok(Some((by.clone(), *via)))
        }
        Some((record, State::Waiting { binding, .. })) if *binding == needed => {
            Err(approval::told(record).unwrap_or(Answer::NotApproved))
        }
        _ => Err(Answer::NotApproved),
    }
}

pub(super) fn claim(
    record: Option<&Record>,
    call: Call,
    owner: Owner,
    now: Moment,
    rules: &Rules,
) -> Turn {
    let Call { fingerprint, by_nature, approval } = call;
    let granted = license(record, fingerprint, by_nature, now)
        .and_then(|license| Ok((license, approved(record, approval)?)));
    let (license, approval) = match granted {
        Ok(granted) => granted,
        Err(answer) => return Turn::stays(answer),
    };
    let fence = record.map_or(Fence::FIRST, |record| record.fence.next());
    let attempt = record.map_or(0, |record| record.attempt);
    let same = record.filter(|record| record.fingerprint == fingerprint);
    let next = Record {
        fingerprint,
        fence,
        attempt,
        by_nature,
        created: record.map_or(now, |record| record.created),
        touched: now,
        error: same.and_then(|record| record.error.clone()),
        arguments: same.and_then(|record| record.arguments.clone()),
        state: State::Claimed { owner, lease: now.after(rules.lease), license },
    };
    Turn { approval, ..Turn::becomes(next, Answer::Claimed { fence, attempt: attempt + 1 }) }
}

/// A claim and its dispatch, with nothing in between.
pub(super) fn start(
    record: Option<&Record>,
    call: Call,
    owner: Owner,
    now: Moment,
    rules: &Rules,
) -> Turn {
    let claimed = claim(record, call, owner, now, rules);
    let Answer::Claimed { fence, attempt } = claimed.answer else { return claimed };
    let dispatched = owner::dispatch(claimed.next.as_ref(), Holder { owner, fence }, now, rules);
    let answer = Answer::Started { fence, attempt };
    Turn { answer, approval: claimed.approval, ..dispatched }
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
    Turn::stays(foretell(record, fingerprint, false, now).unwrap_or(Answer::Lost))
}
