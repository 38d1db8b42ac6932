//! A call that is started at most once: every answer is the first result or an honest "unknown".
//!
//! A task of its own claims, runs and records it. The caller waits for that task, and may stop waiting: the call goes on. A
//! repetition waits for the record to change, whoever runs the call.

use std::sync::Arc;
use std::time::{Duration, Instant};

use candor_ledger::{
    AuditContext, Binding, CallError, Event, EventReply, Fence, Holder, OutcomeKind, Owner,
    RetryReason, Round, StoreError, StoredResult, UnknownReason,
};
use candor_protocol::json::raw;
use candor_protocol::names::{extension, failure};
use candor_protocol::rpc::ErrorObject;
use candor_protocol::types::{CallToolResult, Content};
use futures_util::future::BoxFuture;
use serde_json::Value;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tracing::Instrument as _;

use super::join::WaitingCaller;
use super::operation::{EventResult, Outcome, RecordNote, RecordedCall, ResultOrigin};
use super::words;
use crate::ctx::Ctx;
use crate::round::{Questions, ResumePoint};
use crate::trace;

/// How long an outcome that could not be written is tried again.
const INSIST: Duration = Duration::from_secs(10 * 60);

/// How a handler ended, as far as its record is concerned.
pub(crate) enum HandlerResult {
    /// With something that the caller gets.
    Result {
        result: CallToolResult,
        kind: OutcomeKind,
        /// It failed, and says that nothing has happened.
        not_started: bool,
    },
    /// With questions.
    Asks(Questions),
    /// With an error of the protocol, which only comes of a question that could not be put. By the rule of questions,
    /// nothing has happened.
    Unasked(ErrorObject),
    /// Unexpectedly.
    Panicked,
}

impl HandlerResult {
    /// What sort of outcome it is, if it is one.
    pub(crate) const fn kind(&self) -> Option<OutcomeKind> {
        match self {
            Self::Result { kind, .. } => Some(*kind),
            Self::Asks(_) | Self::Unasked(_) | Self::Panicked => None,
        }
    }

    /// The error that the caller gets, for history.
    fn error(&self) -> Option<CallError> {
        match self {
            Self::Result { result, kind, .. } if *kind != OutcomeKind::Success => {
                Some(error_of(result))
            }
            Self::Unasked(error) => {
                Some(CallError { code: error.code.to_string(), message: error.message.clone() })
            }
            Self::Result { .. } | Self::Asks(_) | Self::Panicked => None,
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

/// Why a handler did not end by itself.
enum InterruptReason {
    /// It only reads, and nobody waits for it any more.
    TakenBack,
    /// The server ends.
    Halted,
}

/// The right to run, and to say what came of it.
#[derive(Clone, Copy)]
struct Claim {
    holder: Holder,
    attempt: u32,
}

impl RecordedCall {
    /// Claims, runs and records, in a task that nobody who hangs up can stop. Ends when there is something to tell, or at the
    /// caller's deadline; the task goes on.
    pub(crate) async fn run_recorded(
        self: Box<Self>,
        ctx: &Ctx,
        approval: Option<Binding>,
        resumes: Option<ResumePoint>,
        work: BoxFuture<'static, HandlerResult>,
    ) -> Outcome {
        let ledger = self.ledger.clone();
        let room = match ledger.0.room.try_take(self.sharer.as_ref()) {
            Ok(taken) => taken,
            Err(full) => return Outcome::Refused(words::full(full)),
        };
        ledger.tend();
        let (tell, told) = oneshot::channel();
        let caller = ctx.clone();
        let task = async move {
            Arc::<Self>::from(self).run(&caller, approval, resumes, work, tell).await;
            drop(room);
        };
        ledger.0.running.spawn(trace::carried(task.in_current_span()));
        tokio::select! {
            biased;
            told = told => told.unwrap_or_else(|_| Outcome::Refused(words::lost())),
            () = ctx.deadline().passed() => {
                ctx.let_go().await;
                Outcome::Refused(words::in_progress(None, Duration::MAX))
            }
        }
    }

    async fn run(
        self: Arc<Self>,
        caller: &Ctx,
        approval: Option<Binding>,
        resumes: Option<ResumePoint>,
        work: BoxFuture<'static, HandlerResult>,
        tell: oneshot::Sender<Outcome>,
    ) {
        let claim = match self.claim(caller, approval, resumes).await {
            Ok(claim) => claim,
            Err(told) => {
                // Whoever is told that nothing was begun finds their rate and their turn free.
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
        let heart = self.keep_alive(claim.holder);
        // What was spawned last waits for this very thread, and the handler may not let go of it: the first beat comes first.
        tokio::task::yield_now().await;
        let ended = tokio::select! {
            biased;
            ended = work => Ok(ended),
            // Whoever reads may be interrupted.
            () = caller.gone().cancelled(), if self.hints.is_read_only() => Err(InterruptReason::TakenBack),
            () = self.ledger.0.halt.cancelled() => Err(InterruptReason::Halted),
        };
        if ended.is_err() {
            // What it has begun on other threads is not dropped with it.
            caller.stop();
        }
        let error = ended.as_ref().ok().and_then(HandlerResult::error);
        let (event, told) = self.conclude(claim, ended);
        let duration = Some(begun.elapsed());
        let circumstances = AuditContext { duration, error, ..AuditContext::default() };
        let written = self.apply(event.clone(), circumstances.clone()).await;
        // A task that the handler has left running says nothing after the answer.
        caller.end().await;
        let _ = tell.send(told(&written));
        if let Err(error) = written {
            tracing::error!(%error, tool = self.id.scope.tool, "an outcome could not be written down; trying again");
            self.insist(event, circumstances).await;
        }
        drop(heart);
    }

    /// The right to start it, or to go on with it; else what the caller is told, if there still is one.
    async fn claim(
        &self,
        caller: &Ctx,
        approval: Option<Binding>,
        resumes: Option<ResumePoint>,
    ) -> Result<Claim, Option<Outcome>> {
        let refused = |error: StoreError| Some(Outcome::Refused(words::unavailable(&error)));
        let until = Instant::now() + self.ledger.0.join;
        let owner = Owner::random().map_err(refused)?;
        let (fingerprint, by_nature) = (self.fingerprint, self.by_nature());
        // Who brings an answer goes on with what has asked for it, or with nothing: that was approved, if it had to be, and a new start
        // was not.
        let goes_on = matches!(resumes, Some(ResumePoint::Round { .. }));
        let event = match resumes {
            None | Some(ResumePoint::Approval { .. }) => {
                Event::Start { fingerprint, owner, by_nature, approval }
            }
            Some(ResumePoint::Round { fence, round }) => {
                let (fence, round) = (Fence(fence), Round(round));
                Event::Resume { fingerprint, fence, round, owner }
            }
        };
        loop {
            // Taken back before anything was said of it: then nothing is.
            if caller.gone().is_cancelled() {
                return Err(None);
            }
            // It would be stopped at its first pause.
            if self.ledger.0.halt.is_cancelled() {
                return Err(Some(Outcome::Refused(words::busy())));
            }
            match self.apply(event.clone(), self.starting()).await.map_err(refused)? {
                EventReply::Started { fence, attempt } | EventReply::Resumed { fence, attempt } => {
                    return Ok(Claim { holder: Holder { owner, fence }, attempt });
                }
                // Another call like it was quicker, and has used up what a reviewer approved once, or closed the request. This one is
                // another call, and must not get the outcome of that one. A request or a denial is for all calls like it.
                answer
                    if self.keyless
                        && !goes_on
                        && !matches!(
                            answer,
                            EventReply::Waiting { .. } | EventReply::Denied { .. }
                        ) =>
                {
                    return Err(Some(Outcome::Refused(words::approval_gone())));
                }
                answer => {
                    let told = tokio::select! {
                        biased;
                        told = self.told(answer, until, WaitingCaller::Ctx(caller)) => told,
                        () = caller.gone().cancelled() => return Err(None),
                    };
                    if told.is_some() {
                        return Err(told);
                    }
                    // Somebody else had it, and has it no more.
                }
            }
        }
    }

    /// What is to be written, and what the caller is told once it is, or could not be.
    fn conclude(
        &self,
        Claim { holder, attempt }: Claim,
        ended: Result<HandlerResult, InterruptReason>,
    ) -> (Event, MakeOutcome) {
        let key = self.callers_key();
        match ended {
            Ok(HandlerResult::Result { result, kind, not_started }) => {
                let failed = kind == OutcomeKind::Failure;
                let harmless = match (failed, not_started, self.by_nature()) {
                    (true, true, _) => Some(RetryReason::NothingHappened),
                    (true, false, true) => Some(RetryReason::ByNature),
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
                    // Nothing is kept of what did no harm, and the same key may be tried again.
                    let came = ResultOrigin::Now { recorded, releases: harmless.is_some() };
                    let mark = RecordNote { key, attempt, came };
                    Outcome::Result { result, mark }
                };
                (event, Box::new(tell))
            }
            Ok(HandlerResult::Asks(questions)) => {
                let asked = StoredResult::new(OutcomeKind::Success, questions.to_bytes());
                let tell = move |written: &EventResult| match written {
                    Ok(EventReply::Suspended { fence, round, .. }) => {
                        let resumes = ResumePoint::Round { fence: fence.0, round: round.0 };
                        Outcome::Asks { questions, resumes }
                    }
                    Ok(_) => Outcome::Refused(words::lost()),
                    Err(error) => Outcome::Refused(words::unavailable(error)),
                };
                (Event::Suspend { holder, asked }, Box::new(tell))
            }
            Ok(HandlerResult::Unasked(error)) => {
                let event = Event::Discard { holder, why: RetryReason::NothingHappened };
                (event, Box::new(move |_| Outcome::Failed(error)))
            }
            Ok(HandlerResult::Panicked) => self.unknown(holder, UnknownReason::Panicked),
            Err(InterruptReason::TakenBack) => {
                let event = Event::Discard { holder, why: RetryReason::ByNature };
                (event, Box::new(|_| Outcome::Refused(words::lost())))
            }
            Err(InterruptReason::Halted) => self.unknown(holder, UnknownReason::Stopped),
        }
    }

    fn unknown(&self, holder: Holder, reason: UnknownReason) -> (Event, MakeOutcome) {
        let error = match self.by_nature() {
            true => words::may_be_repeated(reason),
            false => words::outcome_unknown(reason, None),
        };
        (Event::Unknown { holder, reason }, Box::new(move |_| Outcome::Refused(error)))
    }

    /// Says that the owner lives, until dropped. A task of its own: a handler that does not let go of its thread must not
    /// look dead.
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

    /// Tries again to write down what came of the call. What is said twice changes nothing.
    async fn insist(&self, event: Event, circumstances: AuditContext) {
        let begun = Instant::now();
        let mut pause = Duration::from_millis(200);
        let mut halted = false;
        while begun.elapsed() < INSIST && !halted {
            halted = tokio::select! {
                () = tokio::time::sleep(pause) => false,
                // Once more, and no more.
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

/// What the caller is told then.
type MakeOutcome = Box<dyn FnOnce(&EventResult) -> Outcome + Send>;

/// Beats until dropped.
struct LeaseRenewal(JoinHandle<()>);

impl Drop for LeaseRenewal {
    fn drop(&mut self) {
        self.0.abort();
    }
}
