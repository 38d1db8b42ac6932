//! Starts a call at most once: every answer is the first result or an honest "unknown".
//!
//! A task of its own claims, runs and records the call. If the caller stops waiting for that task, the call keeps running. A retry
//! waits for the record to change, in whichever process the call runs.

use std::sync::Arc;
use std::time::{Duration, Instant};

use candor_ledger::{
    AuditContext, Binding, CallError, Event, EventReply, Fence, Holder, OutcomeKind, Owner,
    RetryReason, Round, StoreError, StoredResult, UnknownReason,
};
use candor_protocol::json::raw;
use candor_protocol::names::{extension, failure};
use candor_protocol::types::{CallToolResult, Content};
use futures_util::future::BoxFuture;
use serde_json::Value;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tracing::Instrument as _;

use super::join::WaitingCaller;
use super::parked::{ParkedCalls, ResumeSignal};
use super::recorded::{EventResult, RecordedCall};
use crate::capacity::AtCapacity;
use crate::ctx::Ctx;
use crate::ctx::round::{Answers, Questions, ResumePoint};
use crate::error::{Refusal, ToolError};
use crate::outcome::{RecordNote, RecordedEnd, ResultOrigin};
use crate::peer::Peer;
use crate::trace;

/// How long the server tries to record an outcome.
const INSIST: Duration = Duration::from_secs(10 * 60);

/// How a handler ended, for its record.
pub(crate) enum HandlerResult {
    /// With a result for the caller.
    Result {
        result: CallToolResult,
        kind: OutcomeKind,
        /// It failed, and reports that nothing has happened.
        not_started: bool,
        /// The server's own reason, if the failure is not the tool's.
        refusal: Option<Refusal>,
    },
    /// With questions.
    Asks(Questions),
    /// With questions whose answers it awaits where it is.
    Parks(Questions),
    /// With a question that the client cannot answer. Handlers have no effect before a question.
    Unanswerable(ToolError),
    /// With a panic.
    Panicked,
}

impl HandlerResult {
    /// Returns the kind of the outcome, if there is one.
    pub(crate) const fn kind(&self) -> Option<OutcomeKind> {
        match self {
            Self::Result { kind, .. } => Some(*kind),
            Self::Asks(_) | Self::Parks(_) | Self::Unanswerable(_) | Self::Panicked => None,
        }
    }

    /// Returns the error that the caller gets, for history.
    fn error(&self) -> Option<CallError> {
        match self {
            Self::Result { result, kind, .. } if *kind != OutcomeKind::Success => {
                Some(error_of(result))
            }
            Self::Unanswerable(error) => {
                Some(CallError { code: error.error_code().to_owned(), message: error.to_string() })
            }
            Self::Result { .. } | Self::Asks(_) | Self::Parks(_) | Self::Panicked => None,
        }
    }
}

fn error_of(result: &CallToolResult) -> CallError {
    let details = result.meta.as_ref().and_then(|meta| meta.get(extension::ERROR));
    let details = details.and_then(|json| serde_json::from_str::<Value>(json.text()).ok());
    let code = details.as_ref().and_then(|details| details["code"].as_str());
    let code = code.unwrap_or(failure::FAILED).to_owned();
    let texts: Vec<_> = result.content.iter().filter_map(Content::as_text).collect();
    CallError { code, message: texts.join("\n") }
}

/// The handler of a call with a record. Dropped before its first step, it has not started.
pub(crate) trait RecordedWork: Send {
    /// Runs the handler until it ends or asks.
    fn step(&mut self) -> BoxFuture<'_, HandlerResult>;

    /// Gives a parked handler its answers, and the peer of the request that brought them.
    fn resume(&mut self, peer: Arc<dyn Peer>, answers: Answers) -> BoxFuture<'_, ()>;
}

/// Where handlers are parked, and how long they may be.
type Parking = (ParkedCalls, Duration);

/// Why a handler was interrupted.
enum InterruptReason {
    /// It only reads, and its caller disconnected.
    TakenBack,
    /// The server shuts down.
    Halted,
}

/// The right to run a call and to record its outcome.
#[derive(Clone, Copy)]
struct Claim {
    holder: Holder,
    attempt: u32,
}

impl RecordedCall {
    /// Claims, runs and records in a detached task, so a disconnect cannot interrupt a write. Returns when there is an outcome, or
    /// at the caller's deadline. The task keeps running.
    pub(crate) async fn run_recorded(
        self: Box<Self>,
        ctx: &Ctx,
        approval: Option<Binding>,
        resumes: Option<ResumePoint>,
        work: Box<dyn RecordedWork>,
        parking: Parking,
    ) -> RecordedEnd {
        let ledger = self.ledger.clone();
        let room = match ledger.0.room.try_take(self.sharer.as_ref()) {
            Ok(taken) => taken,
            Err(full) => return RecordedEnd::Refused(Refusal::Busy(full)),
        };
        ledger.start_sweeper();
        let (tell, told) = oneshot::channel();
        let caller = ctx.clone();
        let task = async move {
            Arc::<Self>::from(self).run(&caller, approval, resumes, work, (tell, parking)).await;
            drop(room);
        };
        ledger.0.running.spawn(trace::carried(task.in_current_span()));
        tokio::select! {
            biased;
            told = told => told.unwrap_or_else(|_| RecordedEnd::Refused(Refusal::lost())),
            () = ctx.deadline().passed() => {
                ctx.detach().await;
                RecordedEnd::Refused(Refusal::InProgress { since: None, retry_after: Duration::MAX })
            }
        }
    }

    async fn run(
        self: Arc<Self>,
        caller: &Ctx,
        approval: Option<Binding>,
        resumes: Option<ResumePoint>,
        mut work: Box<dyn RecordedWork>,
        (mut tell, parking): (oneshot::Sender<RecordedEnd>, Parking),
    ) {
        let mut claim = match self.claim(caller, approval, resumes).await {
            Ok(claim) => claim,
            Err(told) => {
                // Free the rate limit and the serial turn before the caller learns that nothing was started.
                drop(work);
                caller.end().await;
                if let Some(told) = told {
                    self.note(&told).await;
                    let _ = tell.send(told);
                }
                return;
            }
        };
        let begun = Instant::now();
        let mut heart = self.keep_alive(claim.holder);
        // The task that was spawned last waits for this thread, and the handler may block it. Yield, so that the lease renewal
        // starts first.
        tokio::task::yield_now().await;
        let ended = loop {
            let gone = caller.gone();
            let ended = tokio::select! {
                biased;
                ended = work.step() => Ok(ended),
                // A call that only reads may be interrupted.
                () = gone.cancelled(), if self.hints.is_read_only() => Err(InterruptReason::TakenBack),
                () = self.ledger.0.halt.cancelled() => Err(InterruptReason::Halted),
            };
            let Ok(HandlerResult::Parks(questions)) = ended else { break ended };
            drop(heart);
            caller.detach().await;
            let parked = self.stay_parked(claim, questions, tell, &parking).await;
            let Some((resumed, signal)) = parked else { return };
            claim = resumed;
            heart = self.keep_alive(claim.holder);
            work.resume(signal.peer, signal.answers).await;
            tell = signal.reply;
        };
        drop(work);
        if ended.is_err() {
            // Dropping the handler does not stop what it started on other threads.
            caller.stop();
        }
        let error = ended.as_ref().ok().and_then(HandlerResult::error);
        let (event, told) = self.conclude(claim, ended);
        let duration = Some(begun.elapsed());
        let circumstances = AuditContext { duration, error, ..AuditContext::default() };
        let written = self.apply(event.clone(), circumstances.clone()).await;
        // A task that the handler left running must send nothing after the answer.
        caller.end().await;
        let _ = tell.send(told(&written));
        if let Err(error) = written {
            tracing::error!(%error, tool = self.id.scope.tool, "an outcome could not be written down; trying again");
            self.insist(event, circumstances).await;
        }
        drop(heart);
    }

    /// Suspends the record while its handler is parked, and resumes it when the answers are here. Returns `None` if they do not come
    /// in time, or if the record is gone: then the ledger makes the outcome unknown.
    async fn stay_parked(
        &self,
        claim: Claim,
        questions: Questions,
        tell: oneshot::Sender<RecordedEnd>,
        (parked, patience): &Parking,
    ) -> Option<(Claim, ResumeSignal)> {
        let asked = StoredResult::new(OutcomeKind::Success, questions.to_bytes());
        let event = Event::Suspend { holder: claim.holder, asked };
        let suspended = self.apply(event, AuditContext::default()).await;
        let (fence, round) = match suspended {
            Ok(EventReply::Suspended { fence, round, .. }) => (fence, round),
            Ok(_) => {
                let _ = tell.send(RecordedEnd::Refused(Refusal::lost()));
                return None;
            }
            Err(error) => {
                let _ = tell.send(RecordedEnd::Refused(Refusal::of_store(&error)));
                return None;
            }
        };
        let waiting = parked.park(&questions).wait(*patience);
        let resumes = Some(ResumePoint::Round { fence: fence.0, round: round.0 });
        let _ = tell.send(RecordedEnd::Asks { questions, resumes });
        let signal = tokio::select! {
            signal = waiting => signal?,
            () = self.ledger.0.halt.cancelled() => return None,
        };
        let owner = Owner::random().ok()?;
        let event = Event::Resume { fingerprint: self.fingerprint, fence, round, owner };
        match self.apply(event, self.starting()).await {
            Ok(EventReply::Resumed { fence, attempt }) => {
                let holder = Holder { owner, fence };
                Some((Claim { holder, attempt }, signal))
            }
            Ok(_) => {
                let _ = signal.reply.send(RecordedEnd::Refused(Refusal::lost()));
                None
            }
            Err(error) => {
                let _ = signal.reply.send(RecordedEnd::Refused(Refusal::of_store(&error)));
                None
            }
        }
    }

    /// Returns the right to start or resume the call. If there is none, returns the outcome for the caller, or `None` if it is
    /// gone.
    async fn claim(
        &self,
        caller: &Ctx,
        approval: Option<Binding>,
        resumes: Option<ResumePoint>,
    ) -> Result<Claim, Option<RecordedEnd>> {
        let refused = |error: StoreError| Some(RecordedEnd::Refused(Refusal::of_store(&error)));
        let until = Instant::now() + self.ledger.0.join;
        let owner = Owner::random().map_err(refused)?;
        let (fingerprint, idempotent) = (self.fingerprint, self.idempotent());
        // An answer resumes the attempt that asked for it, or nothing. That attempt was approved if it had to be; a new start was
        // not.
        let goes_on = matches!(resumes, Some(ResumePoint::Round { .. }));
        let event = match resumes {
            None | Some(ResumePoint::Approval { .. }) => {
                Event::Start { fingerprint, owner, idempotent, approval }
            }
            Some(ResumePoint::Round { fence, round }) => {
                let (fence, round) = (Fence(fence), Round(round));
                Event::Resume { fingerprint, fence, round, owner }
            }
        };
        loop {
            // The caller cancelled the call before anything was recorded, so nothing is.
            if caller.gone().is_cancelled() {
                return Err(None);
            }
            // The server shuts down, and would stop the call at its first await.
            if self.ledger.0.halt.is_cancelled() {
                return Err(Some(RecordedEnd::Refused(Refusal::Busy(AtCapacity::Everybody))));
            }
            match self.apply(event.clone(), self.starting()).await.map_err(refused)? {
                EventReply::Started { fence, attempt } | EventReply::Resumed { fence, attempt } => {
                    return Ok(Claim { holder: Holder { owner, fence }, attempt });
                }
                // Another call like it was faster, and used the approval or closed the request. This one is a different call, and
                // must not get the outcome of that one. A request or a denial applies to all calls like it.
                answer
                    if self.keyless
                        && !goes_on
                        && !matches!(
                            answer,
                            EventReply::Waiting { .. } | EventReply::Denied { .. }
                        ) =>
                {
                    return Err(Some(RecordedEnd::Refused(Refusal::ApprovalGone)));
                }
                answer => {
                    let gone = caller.gone();
                    let told = tokio::select! {
                        biased;
                        told = self.told(answer, until, WaitingCaller::Ctx(caller)) => told,
                        () = gone.cancelled() => return Err(None),
                    };
                    if told.is_some() {
                        return Err(told);
                    }
                    // Another attempt had the record, and released it: try again.
                }
            }
        }
    }

    /// Returns the event to record, and the function that makes the caller's outcome from the ledger's reply.
    fn conclude(
        &self,
        Claim { holder, attempt }: Claim,
        ended: Result<HandlerResult, InterruptReason>,
    ) -> (Event, MakeOutcome) {
        let key = self.callers_key();
        match ended {
            Ok(HandlerResult::Result { result, kind, not_started, refusal }) => {
                let failed = kind == OutcomeKind::Failure;
                let harmless = match (failed, not_started, self.idempotent()) {
                    (true, true, _) => Some(RetryReason::NothingHappened),
                    (true, false, true) => Some(RetryReason::Idempotent),
                    _ => None,
                };
                let event = match harmless {
                    Some(why) => Event::Discard { holder, why },
                    None => {
                        let bytes = raw(&result).get().as_bytes().to_vec();
                        Event::Complete { holder, outcome: StoredResult::new(kind, bytes) }
                    }
                };
                let tell = move |written: &EventResult| {
                    let recorded = matches!(written, Ok(EventReply::Done));
                    // A harmless failure is not stored, and the caller may retry with the same key.
                    let origin = ResultOrigin::Now { recorded, releases: harmless.is_some() };
                    let note = RecordNote { key, attempt, origin };
                    RecordedEnd::Done { result, note: Some(note), refusal }
                };
                (event, Box::new(tell))
            }
            Ok(HandlerResult::Asks(questions) | HandlerResult::Parks(questions)) => {
                let asked = StoredResult::new(OutcomeKind::Success, questions.to_bytes());
                let tell = move |written: &EventResult| match written {
                    Ok(EventReply::Suspended { fence, round, .. }) => {
                        let resumes = ResumePoint::Round { fence: fence.0, round: round.0 };
                        RecordedEnd::Asks { questions, resumes: Some(resumes) }
                    }
                    Ok(_) => RecordedEnd::Refused(Refusal::lost()),
                    Err(error) => RecordedEnd::Refused(Refusal::of_store(error)),
                };
                (Event::Suspend { holder, asked }, Box::new(tell))
            }
            Ok(HandlerResult::Unanswerable(error)) => {
                let event = Event::Discard { holder, why: RetryReason::NothingHappened };
                (event, Box::new(move |_| RecordedEnd::Unanswerable(error)))
            }
            Ok(HandlerResult::Panicked) => self.unknown(holder, UnknownReason::Panicked),
            Err(InterruptReason::TakenBack) => {
                let event = Event::Discard { holder, why: RetryReason::Idempotent };
                (event, Box::new(|_| RecordedEnd::Refused(Refusal::lost())))
            }
            Err(InterruptReason::Halted) => self.unknown(holder, UnknownReason::Stopped),
        }
    }

    fn unknown(&self, holder: Holder, reason: UnknownReason) -> (Event, MakeOutcome) {
        let refusal =
            Refusal::OutcomeUnknown { reason, since: None, repeatable: self.idempotent() };
        (Event::Unknown { holder, reason }, Box::new(move |_| RecordedEnd::Refused(refusal)))
    }

    /// Renews the lease until dropped. A task of its own does this, so that a handler that blocks its thread does not look dead.
    fn keep_alive(self: &Arc<Self>, holder: Holder) -> LeaseRenewal {
        let operation = Arc::clone(self);
        let every = operation.ledger.0.store.rules().lease / 3;
        LeaseRenewal(tokio::spawn(async move {
            loop {
                tokio::time::sleep(every).await;
                let event = Event::Heartbeat(holder);
                match operation.apply(event, AuditContext::default()).await {
                    Ok(EventReply::Done) => {}
                    Ok(_) => {
                        tracing::warn!(
                            tool = operation.id.scope.tool,
                            "a call has lost its record while it ran"
                        );
                        return;
                    }
                    Err(error) => tracing::warn!(%error, "a heartbeat could not be written"),
                }
            }
        }))
    }

    /// Tries again to record the outcome. Recording it twice changes nothing.
    async fn insist(&self, event: Event, circumstances: AuditContext) {
        let begun = Instant::now();
        let mut pause = Duration::from_millis(200);
        let mut halted = false;
        while begun.elapsed() < INSIST && !halted {
            halted = tokio::select! {
                () = tokio::time::sleep(pause) => false,
                // Try once more, and then stop.
                () = self.ledger.0.halt.cancelled() => true,
            };
            pause = (pause * 2).min(Duration::from_secs(10));
            if self.apply(event.clone(), circumstances.clone()).await.is_ok() {
                return;
            }
        }
        tracing::error!(tool = self.id.scope.tool, "an outcome was not written down");
    }
}

/// Makes the caller's outcome from the ledger's reply.
type MakeOutcome = Box<dyn FnOnce(&EventResult) -> RecordedEnd + Send>;

/// Renews a lease until dropped.
struct LeaseRenewal(JoinHandle<()>);

impl Drop for LeaseRenewal {
    fn drop(&mut self) {
        self.0.abort();
    }
}
