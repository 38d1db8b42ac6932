//! What really happened under one key.

use std::collections::HashSet;
use std::sync::Arc;

use crate::laws::ensure::{Checked, Required};
use crate::{
    ApprovalChannel, Event, EventError, EventReply, Fence, Fingerprint, Holder, LedgerLimits,
    Moment, Record, RequestVersion, Resolution, RetryReason, Review, Round, StateKind,
    StoredResult,
};

/// What really happened under one key.
#[derive(Default)]
pub(super) struct Truth {
    /// Starts that may have had an effect, and whether they are safe to retry.
    starts: Vec<bool>,
    /// The holders that started the call, or resumed it.
    witnesses: HashSet<Holder>,
    arguments: Option<Fingerprint>,
    /// Whether the call of the last claim is safe to retry.
    idempotent: bool,
    pub(super) fence: u64,
    outcome: Option<StoredResult>,
    closed: Option<Moment>,
    answered: HashSet<(Fence, Round)>,
    gate: Option<ReviewState>,
    /// Requests whose approval was used.
    pub(super) used: HashSet<RequestVersion>,
}

/// A request, and its review.
#[derive(Debug, Clone)]
struct ReviewState {
    question: RequestVersion,
    asked: Arc<[u8]>,
    since: Moment,
    /// When that expires.
    until: Moment,
    said: Option<(&'static str, ApprovalChannel, Review)>,
}

impl ReviewState {
    fn is_approved(&self) -> bool {
        matches!(self.said, Some((.., Review::Approve)))
    }

    fn is_denied(&self) -> bool {
        matches!(self.said, Some((.., Review::Deny { .. })))
    }
}

impl Truth {
    /// Returns what is known of another call that uses the record again.
    pub(super) fn of_another_call(&self) -> Self {
        Self { fence: self.fence, ..Self::default() }
    }

    /// Returns true if the record was purged. A call that started is not purged before its time, and never while its outcome is
    /// unknown.
    pub(super) fn forget_if_gone(
        &mut self,
        before: &Record,
        after: Option<&Record>,
        now: Moment,
        rules: &LedgerLimits,
    ) -> Checked<bool> {
        // A record that was purged and created again in one step has another time of creation, because its time does not go back.
        let anew = after.is_some_and(|after| after.created != before.created);
        if after.is_some() && !anew {
            return Ok(false);
        }
        let kind = before.state.kind();
        ensure!(
            !matches!(
                kind,
                StateKind::Dispatched | StateKind::Suspended | StateKind::Indeterminate
            ),
            "a record that is {kind:?} was purged"
        );
        if before.attempt > 0 {
            let closed = self.closed.required("end of a call that had started")?;
            ensure!(
                now > closed.after(rules.retention).after(rules.tombstone),
                "a record was purged before its time"
            );
        }
        *self = Self::default();
        Ok(true)
    }

    #[allow(clippy::too_many_lines)] // one arm for each event and reply
    pub(super) fn observe(
        &mut self,
        event: &Event,
        answer: &EventReply,
        now: Moment,
        rules: &LedgerLimits,
    ) -> Checked {
        match (event, answer) {
            (
                Event::Claim { fingerprint, idempotent, .. },
                EventReply::Claimed { fence, attempt },
            ) => {
                self.claimed(*fingerprint, *idempotent, *fence, *attempt, now)?;
            }
            (
                Event::Ask { fingerprint, binding, asked, idempotent, .. },
                EventReply::Waiting { fence, since, until, asked: shown },
            ) => {
                let question =
                    RequestVersion { fence: *fence, fingerprint: *fingerprint, binding: *binding };
                if fence.0 == self.fence {
                    let gate =
                        self.gate_in_force(now).required("request that the reply repeats")?;
                    ensure!(gate.said.is_none() && gate.question == question);
                    let first = (&gate.asked, gate.since, gate.until);
                    ensure_eq!(first, (shown, *since, *until), "a repeated request changed");
                    return Ok(());
                }
                self.fence_grows(*fence)?;
                ensure!(self.may_start(*idempotent), "a request for a call that may have run");
                if let Some(gate) = self.gate_in_force(now) {
                    ensure_eq!(
                        gate.question.fingerprint,
                        *fingerprint,
                        "the request of another call"
                    );
                    ensure!(!gate.is_denied(), "a new request despite a denial");
                    ensure_ne!(gate.question.binding, *binding, "a second request for one call");
                }
                ensure_eq!((shown, *since, *until), (asked, now, now.after(rules.approval_wait)));
                self.arguments = Some(*fingerprint);
                let (asked, since, until) = (Arc::clone(asked), *since, *until);
                self.gate = Some(ReviewState { question, asked, since, until, said: None });
            }
            (
                Event::Ask { fingerprint, binding, .. },
                EventReply::Approved { fence, by, via, until },
            ) => {
                let question =
                    RequestVersion { fence: *fence, fingerprint: *fingerprint, binding: *binding };
                let gate = self.gate_in_force(now).required("review that approved the call")?;
                ensure!(gate.is_approved() && gate.question == question && gate.until == *until);
                ensure_eq!(gate.said.as_ref().map(|(by, via, _)| (*by, *via)), Some((&**by, *via)));
            }
            (Event::Ask { asked, .. }, EventReply::Refused(refusal)) => {
                let (len, most) = (asked.len() as u64, rules.max_outcome);
                ensure_eq!(*refusal, EventError::TooLarge { len, most });
                ensure!(len > most);
            }
            (Event::Decide { question, by, via, decision }, EventReply::Done) => {
                let gate =
                    self.gate_in_force(now).required("request that the review names")?.clone();
                ensure_eq!(gate.question, *question, "a review of another request");
                let said = (if by == "olga" { "olga" } else { "otto" }, *via, decision.clone());
                match &gate.said {
                    Some(first) => ensure_eq!(*first, said, "two reviews of one request"),
                    None => {
                        let lasts = match decision {
                            Review::Approve => rules.approval_valid,
                            Review::Deny { .. } => rules.denied,
                        };
                        let until = now.after(lasts);
                        self.gate =
                            Some(ReviewState { said: Some(said), since: now, until, ..gate });
                    }
                }
            }
            (Event::Decide { question, .. }, EventReply::Refused(refusal)) => {
                let gate = self.gate_in_force(now);
                match refusal {
                    EventError::NotWaiting(_) => ensure!(gate.is_none()),
                    EventError::AskedAnew => {
                        ensure!(gate.is_some_and(|gate| gate.question != *question));
                    }
                    EventError::Decided { by, via, .. } => {
                        let said = gate.and_then(|gate| gate.said.as_ref());
                        ensure_eq!(said.map(|(by, via, _)| (*by, *via)), Some((&**by, *via)));
                    }
                    other => fail!("{other:?} is the reply to a review"),
                }
            }
            (
                Event::Start { fingerprint, owner, idempotent, approval },
                EventReply::Started { fence, attempt },
            ) => {
                if let Some(needed) = approval {
                    let gate = self.gate_in_force(now).required("approval that the start needs")?;
                    let question = gate.question;
                    ensure!(gate.is_approved(), "a start without an approval");
                    ensure_eq!((question.fingerprint, question.binding), (*fingerprint, *needed));
                    ensure!(self.used.insert(question), "an approval started two calls");
                }
                self.claimed(*fingerprint, *idempotent, *fence, *attempt, now)?;
                self.started(Holder { owner: *owner, fence: *fence })?;
            }
            (Event::Resume { fence: asked, round, .. }, EventReply::Resumed { fence, .. }) => {
                self.fence_grows(*fence)?;
                ensure!(
                    self.answered.insert((*asked, *round)),
                    "an input request was answered twice"
                );
                let Event::Resume { owner, .. } = event else { unreachable!() };
                self.witnesses.insert(Holder { owner: *owner, fence: *fence });
            }
            (Event::Start { fingerprint, approval: Some(needed), .. }, EventReply::NotApproved) => {
                let gate = self.gate_in_force(now);
                ensure!(
                    !gate.is_some_and(|gate| {
                        let RequestVersion { fingerprint: asked, binding, .. } = gate.question;
                        !gate.is_denied() && (asked, binding) == (*fingerprint, *needed)
                    }),
                    "refused as not approved, although it is approved or pending"
                );
            }
            (
                Event::Ask { fingerprint, .. }
                | Event::Claim { fingerprint, .. }
                | Event::Start { fingerprint, .. }
                | Event::Resume { fingerprint, .. },
                answer,
            ) => {
                self.refused(*fingerprint, answer, now, rules)?;
            }
            (Event::Dispatch(holder), EventReply::Done) => self.started(*holder)?,
            (
                Event::Heartbeat(holder) | Event::Release(holder) | Event::Unknown { holder, .. },
                EventReply::Done,
            )
            | (Event::Suspend { holder, .. }, EventReply::Suspended { .. }) => {
                self.holds(*holder)?;
            }
            (Event::Discard { holder, why }, EventReply::Done) => {
                self.holds(*holder)?;
                let last = self.starts.pop().required("start that was discarded")?;
                ensure!(
                    last || *why == RetryReason::NothingHappened,
                    "a discard of a call that may have run"
                );
                if last {
                    self.starts.push(last);
                }
                self.closed = Some(now);
            }
            (Event::Complete { holder, outcome }, EventReply::Done) => {
                self.holds(*holder)?;
                ensure!(self.witnesses.contains(holder), "an outcome without a start");
                self.completes(outcome, now, rules)?;
            }
            (Event::Resolve { resolution, .. }, EventReply::Done) => match resolution {
                Resolution::Done(outcome) => {
                    ensure!(self.outcome.is_none(), "a resolution of a known outcome");
                    self.completes(outcome, now, rules)?;
                }
                Resolution::NotDone => {
                    ensure!(!self.starts.is_empty());
                    self.starts.clear();
                    self.closed = Some(now);
                }
                Resolution::Abandon => self.closed = Some(now),
            },
            (Event::Sweep, EventReply::Done)
            | (Event::Resolve { .. } | Event::Discard { .. }, EventReply::Refused(_)) => {}
            (event, answer) => {
                ensure_eq!(*answer, EventReply::Lost, "the reply to {event:?}");
            }
        }
        Ok(())
    }

    /// Returns the request or the review that has not expired.
    fn gate_in_force(&self, now: Moment) -> Option<&ReviewState> {
        self.gate.as_ref().filter(|gate| now <= gate.until)
    }

    fn claimed(
        &mut self,
        fingerprint: Fingerprint,
        idempotent: bool,
        fence: Fence,
        attempt: u32,
        now: Moment,
    ) -> Checked {
        self.fence_grows(fence)?;
        ensure!(
            !self.gate_in_force(now).is_some_and(ReviewState::is_denied),
            "a claim despite a denial"
        );
        self.gate = None;
        ensure!(self.may_start(idempotent), "a claim of a call that may have run");
        if self.arguments.is_some() && !self.witnesses.is_empty() {
            ensure_eq!(self.arguments, Some(fingerprint), "a start with other arguments");
            ensure!(attempt > 1);
        }
        self.arguments = Some(fingerprint);
        self.idempotent = idempotent;
        Ok(())
    }

    fn started(&mut self, holder: Holder) -> Checked {
        self.holds(holder)?;
        ensure!(self.may_start(self.idempotent), "a second start");
        self.starts.push(self.idempotent);
        ensure!(self.witnesses.insert(holder), "two starts of one claim");
        self.closed = None;
        Ok(())
    }

    /// Checks a reply after which nothing starts.
    fn refused(
        &mut self,
        asked: Fingerprint,
        answer: &EventReply,
        now: Moment,
        rules: &LedgerLimits,
    ) -> Checked {
        match answer {
            EventReply::KeyReused => ensure_ne!(self.arguments, Some(asked)),
            EventReply::Replay { outcome, .. } => {
                ensure_eq!(self.arguments, Some(asked), "a replay with other arguments");
                ensure_eq!(self.outcome.as_ref(), Some(outcome), "another outcome than the first");
            }
            // No caller waits for longer than a lease.
            EventReply::InFlight { retry_after, .. } => {
                ensure!(*retry_after <= rules.lease);
                ensure!(self.outcome.is_none());
            }
            EventReply::Suspended { until, .. } => {
                ensure!(*until >= now && *until <= now.after(rules.suspended));
                ensure!(self.outcome.is_none());
            }
            EventReply::OutcomeUnknown { .. } => {
                ensure!(
                    self.outcome.is_none() && !self.starts.is_empty(),
                    "an unknown outcome that is known"
                );
            }
            EventReply::Expired { .. } | EventReply::Abandoned { .. } => {
                ensure!(self.closed.is_some());
            }
            EventReply::Lost => {}
            EventReply::Waiting { fence, asked: shown, .. } => {
                let gate =
                    self.gate_in_force(now).required("pending request that the reply names")?;
                ensure!(gate.said.is_none() && gate.question.fingerprint == asked);
                ensure_eq!((gate.question.fence, &gate.asked), (*fence, shown));
            }
            EventReply::Denied { by, via, until, reason } => {
                let gate = self.gate_in_force(now).required("denial that the reply names")?;
                ensure!(gate.is_denied() && gate.until == *until);
                let decision = Review::Deny { reason: reason.clone() };
                ensure_eq!(
                    gate.said.as_ref().map(|(by, via, said)| (*by, *via, said)),
                    Some((&**by, *via, &decision))
                );
            }
            other => fail!("{other:?} is the reply to a claim"),
        }
        Ok(())
    }

    fn may_start(&self, idempotent: bool) -> bool {
        self.outcome.is_none()
            && (self.starts.is_empty() || (idempotent && self.starts.iter().all(|nature| *nature)))
    }

    fn completes(&mut self, outcome: &StoredResult, now: Moment, rules: &LedgerLimits) -> Checked {
        let outcome = outcome.clone().within(rules.max_outcome);
        if let Some(first) = &self.outcome {
            ensure_eq!(*first, outcome, "a second outcome");
            return Ok(());
        }
        self.outcome = Some(outcome);
        self.closed = Some(now);
        Ok(())
    }

    fn fence_grows(&mut self, fence: Fence) -> Checked {
        ensure!(fence.0 > self.fence, "the fence went back");
        self.fence = fence.0;
        Ok(())
    }

    fn holds(&self, holder: Holder) -> Checked {
        ensure_eq!(holder.fence.0, self.fence, "an event of an owner that had lost the record");
        Ok(())
    }
}
