//! A call that has a key: at most one start, and every answer is the first result or an honest "unknown".
//!
//! A task of its own claims, runs and records it. The caller waits for that task, and may stop waiting: the call goes on. A
//! repetition waits for the record to change, whoever runs the call.

use std::sync::Arc;
use std::time::{Duration, Instant};

use candor_hints::Hints;
use candor_ledger::{
    Answer, Binding, Body, Circumstances, Event, Fence, Fingerprint, Grant, Harmless, Holder, Key,
    Note, Outcome, OutcomeKind, Owner, Reason, Record, RecordDigest, RecordId, Round, Seen, State,
    StoreError,
};
use candor_protocol::json::{Decode, RawValue, raw};
use candor_protocol::rpc::ErrorObject;
use candor_protocol::types::CallToolResult;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tracing::Instrument as _;

use super::{Audit, Call, Ledger, also, canonical, fingerprint, words};
use crate::ctx::Ctx;
use crate::round::{Questions, Resumes};
use crate::tool::ToolError;
use crate::trace;

/// How long an outcome that could not be written is tried again.
const INSIST: Duration = Duration::from_secs(10 * 60);

/// A call that has a key.
pub(crate) struct Operation {
    ledger: Ledger,
    id: RecordId,
    fingerprint: Fingerprint,
    /// Whether to repeat it is harmless by its nature, its key aside.
    by_nature: bool,
    hints: Hints,
    /// It has no key of its own, and is recorded because a person is asked about it.
    keyless: bool,
    /// Without the digest, which costs more than all the rest of a repetition.
    circumstances: Circumstances,
    /// The arguments that the key stands for.
    canonical: String,
}

/// How a handler ended, as far as its record is concerned.
pub(crate) enum Ended {
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

impl Ended {
    /// What sort of outcome it is, if it is one.
    pub(crate) const fn kind(&self) -> Option<OutcomeKind> {
        match self {
            Self::Result { kind, .. } => Some(*kind),
            Self::Asks(_) | Self::Unasked(_) | Self::Panicked => None,
        }
    }
}

/// What the caller is told.
pub(crate) enum Told {
    /// The result, with what is to be said of its record.
    Result { result: CallToolResult, mark: Value, replayed: bool },
    /// Questions, and where their answers belong.
    Asks { questions: Questions, resumes: Resumes },
    /// Why there is no result.
    Refused(ToolError),
    /// The same as an error of the protocol.
    Failed(ErrorObject),
}

/// Why a handler did not end by itself.
enum Interrupted {
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

/// What is said of a record, but for what came of it.
fn marked(key: Option<String>) -> Value {
    key.map_or_else(|| json!({}), |key| json!({"key": key}))
}

impl Operation {
    pub(crate) fn new(ledger: &Ledger, call: &Call<'_>, key: Key) -> Self {
        let canonical = canonical(call);
        Self {
            fingerprint: fingerprint(&canonical),
            circumstances: ledger.circumstances(call, None),
            canonical,
            id: RecordId { scope: ledger.scope(call), key },
            by_nature: call.hints.is_idempotent(),
            hints: call.hints,
            keyless: false,
            ledger: ledger.clone(),
        }
    }

    /// A call without a key that a person is asked about: it is named after the caller, the tool and the arguments, by a name that no caller can send.
    pub(crate) fn keyless(ledger: &Ledger, call: &Call<'_>) -> Self {
        let fingerprint = fingerprint(&canonical(call));
        let name: String = fingerprint.0[..16].iter().map(|byte| format!("{byte:02x}")).collect();
        let key = Key::new(format!("{}{name}", super::key::RESERVED)).expect("visible and short");
        Self { keyless: true, ..Self::new(ledger, call, key) }
    }

    pub(crate) fn key(&self) -> &Key {
        &self.id.key
    }

    pub(crate) fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }

    pub(crate) fn is_keyless(&self) -> bool {
        self.keyless
    }

    pub(crate) fn digest(&self) -> RecordDigest {
        self.id.digest()
    }

    /// The name that the caller has given to it; none for one that the server had to name itself.
    fn callers_key(&self) -> Option<String> {
        (!self.keyless).then(|| self.id.key.as_str().to_owned())
    }

    /// By which people find it.
    pub(crate) fn short_id(&self) -> String {
        self.id.digest().to_string().chars().take(12).collect()
    }

    /// Lets something happen to its record that is not the call itself.
    pub(crate) async fn say(&self, event: Event) -> Written {
        self.ledger.tend();
        self.apply(event, self.digested()).await
    }

    /// Ends when its record no longer stands there.
    pub(crate) async fn changed(&self, seen: Seen) -> Result<(), StoreError> {
        self.ledger.0.store.watch(&self.id, seen).await
    }

    /// What a person has permitted of such calls.
    pub(crate) async fn grants(&self) -> Result<Vec<Grant>, StoreError> {
        self.ledger.0.store.grants_in_force(&self.id.scope).await
    }

    /// The same, to be written down as what a person has permitted beforehand.
    pub(crate) fn permitted(mut self, grant: &Grant) -> Self {
        self.circumstances = also(self.circumstances, Some(words::permitted(grant)));
        self
    }

    /// What the caller is told of a record that is in the way of asking.
    pub(crate) async fn answered(&self, answer: Answer) -> Option<Told> {
        self.told(answer, Instant::now() + self.ledger.0.join).await
    }

    /// What is on record of it, without any waiting.
    pub(crate) async fn look(&self) -> Result<Option<Answer>, StoreError> {
        let store = &self.ledger.0.store;
        if let Some(answer) = store.recall(&self.id, self.fingerprint, self.by_nature).await? {
            return Ok(Some(answer));
        }
        // An approval is in nobody's way, and yet worth knowing of.
        let record = store.find(&self.id).await?.and_then(|entry| entry.seen);
        Ok(match record.filter(|record| record.fingerprint == self.fingerprint) {
            Some(Record { fence, state: State::Approved { by, via, until, .. }, .. }) => {
                Some(Answer::Approved { fence, by, via, until })
            }
            _ => None,
        })
    }

    /// What an existing record answers, before anybody looks at policies. `None`: there is nothing in the way.
    pub(crate) async fn recall(&self) -> Option<Told> {
        let until = Instant::now() + self.ledger.0.join;
        loop {
            let store = &self.ledger.0.store;
            match store.recall(&self.id, self.fingerprint, self.by_nature).await {
                // Whether a person must still be asked is for the gate to say.
                Ok(None | Some(Answer::Waiting { .. })) => return None,
                Ok(Some(answer)) => {
                    if let Some(told) = self.told(answer, until).await {
                        return Some(told);
                    }
                }
                Err(error) => return Some(Told::Refused(words::unavailable(&error))),
            }
        }
    }

    /// Claims, runs and records, in a task that nobody who hangs up can stop. Ends when there is something to tell, or at the
    /// caller's deadline; the task goes on.
    pub(crate) async fn carry_out(
        self,
        ctx: &Ctx,
        approval: Option<Binding>,
        resumes: Option<Resumes>,
        work: BoxFuture<'static, Ended>,
    ) -> Told {
        let ledger = self.ledger.clone();
        let Ok(room) = ledger.0.room.clone().try_acquire_owned() else {
            return Told::Refused(words::busy());
        };
        ledger.tend();
        let (tell, told) = oneshot::channel();
        let caller = ctx.clone();
        let task = async move {
            Arc::new(self).run(&caller, approval, resumes, work, tell).await;
            drop(room);
        };
        ledger.0.running.spawn(trace::carried(task.in_current_span()));
        tokio::select! {
            biased;
            told = told => told.unwrap_or_else(|_| Told::Refused(words::lost())),
            () = ctx.deadline().passed() => {
                ctx.let_go().await;
                Told::Refused(words::in_progress(None, Duration::MAX))
            }
        }
    }

    async fn run(
        self: Arc<Self>,
        caller: &Ctx,
        approval: Option<Binding>,
        resumes: Option<Resumes>,
        work: BoxFuture<'static, Ended>,
        tell: oneshot::Sender<Told>,
    ) {
        let claim = match self.claim(caller, approval, resumes).await {
            Ok(claim) => claim,
            Err(told) => {
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
            () = caller.gone().cancelled(), if self.hints.is_read_only() => Err(Interrupted::TakenBack),
            () = self.ledger.0.halt.cancelled() => Err(Interrupted::Halted),
        };
        let (event, told) = self.conclude(claim, ended);
        let circumstances =
            Circumstances { duration: Some(begun.elapsed()), ..Circumstances::default() };
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
        resumes: Option<Resumes>,
    ) -> Result<Claim, Option<Told>> {
        let refused = |error: StoreError| Some(Told::Refused(words::unavailable(&error)));
        let until = Instant::now() + self.ledger.0.join;
        let owner = Owner::random().map_err(refused)?;
        let (fingerprint, by_nature) = (self.fingerprint, self.by_nature);
        let start = Event::Start { fingerprint, owner, by_nature, approval };
        let mut event = match resumes {
            None | Some(Resumes::Approval { .. }) => start.clone(),
            Some(Resumes::Round { fence, round }) => {
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
                return Err(Some(Told::Refused(words::busy())));
            }
            match self.apply(event, self.digested()).await.map_err(refused)? {
                Answer::Started { fence, attempt } | Answer::Resumed { fence, attempt } => {
                    return Ok(Claim { holder: Holder { owner, fence }, attempt });
                }
                // Another call like it was quicker, and has used up what a person has approved once. This one is another call,
                // and must not be told what came of that.
                _ if self.keyless && approval.is_some() => {
                    return Err(Some(Told::Refused(words::approval_gone())));
                }
                answer => {
                    let told = tokio::select! {
                        biased;
                        told = self.told(answer, until) => told,
                        () = caller.gone().cancelled() => return Err(None),
                    };
                    if told.is_some() {
                        return Err(told);
                    }
                }
            }
            // Somebody else had it, and has it no more.
            event = start.clone();
        }
    }

    /// What the caller is told of a record that is in the way; nothing if it was waited for, and has changed.
    async fn told(&self, answer: Answer, until: Instant) -> Option<Told> {
        let key = &self.id.key;
        Some(match answer {
            Answer::Replay { outcome, completed, attempt, resolved_by } => match &outcome.body {
                Body::Omitted { len, .. } => Told::Refused(words::omitted(*len, completed)),
                Body::Kept(bytes) => match read(bytes) {
                    Some(result) => {
                        let mut mark = marked(self.callers_key());
                        mark["replayed"] = true.into();
                        mark["completedAt"] = words::time(completed).into();
                        mark["attempt"] = attempt.into();
                        if let Some(by) = resolved_by {
                            mark["resolvedBy"] = by.into();
                        }
                        Told::Result { result, mark, replayed: true }
                    }
                    None => {
                        tracing::error!(key = key.as_str(), "what the ledger keeps is no result");
                        Told::Refused(words::omitted(outcome.kept(), completed))
                    }
                },
            },
            Answer::InFlight { fence, state, since, retry_after } => {
                let left = until.saturating_duration_since(Instant::now());
                let watch = self.ledger.0.store.watch(&self.id, Seen { fence, state });
                match tokio::time::timeout(left, watch).await {
                    Ok(Ok(())) => return None,
                    Ok(Err(error)) => Told::Refused(words::unavailable(&error)),
                    Err(_) => Told::Refused(words::in_progress(Some(since), retry_after)),
                }
            }
            Answer::Suspended { fence, round, asked, .. } => {
                let kept = match &asked.body {
                    Body::Kept(bytes) => Questions::from_bytes(bytes),
                    Body::Omitted { .. } => None,
                };
                let resumes = Resumes::Round { fence: fence.0, round: round.0 };
                kept.map_or_else(
                    || Told::Refused(words::waits_elsewhere()),
                    |questions| Told::Asks { questions, resumes },
                )
            }
            Answer::KeyReused => Told::Refused(words::key_reused(key)),
            Answer::OutcomeUnknown { reason, since } => {
                Told::Refused(words::outcome_unknown(reason, Some(since)))
            }
            Answer::Expired { until } => Told::Refused(words::expired(until)),
            Answer::Abandoned { by, .. } => Told::Refused(words::abandoned(&by)),
            Answer::Waiting { until, .. } => {
                Told::Refused(words::approval_required(&self.short_id(), Some(until)))
            }
            Answer::Denied { by, reason, .. } => {
                Told::Refused(words::denied(&by, reason.as_deref()))
            }
            Answer::Approved { .. } | Answer::NotApproved => Told::Refused(words::approval_gone()),
            Answer::Lost
            | Answer::Done
            | Answer::Refused(_)
            | Answer::Claimed { .. }
            | Answer::Started { .. }
            | Answer::Resumed { .. } => Told::Failed(ErrorObject::invalid_params(
                "Invalid requestState: this call does not wait for that answer any more",
            )),
        })
    }

    /// What is to be written, and what the caller is told once it is, or could not be.
    fn conclude(
        &self,
        Claim { holder, attempt }: Claim,
        ended: Result<Ended, Interrupted>,
    ) -> (Event, Tell) {
        let key = self.callers_key();
        match ended {
            Ok(Ended::Result { result, kind, not_started }) => {
                let failed = kind == OutcomeKind::Failure;
                let harmless = match (failed, not_started, self.by_nature) {
                    (true, true, _) => Some(Harmless::NothingHappened),
                    (true, false, true) => Some(Harmless::ByNature),
                    _ => None,
                };
                let event = match harmless {
                    Some(why) => Event::Discard { holder, why },
                    None => {
                        let bytes = raw(&result).get().as_bytes().to_vec();
                        Event::Complete { holder, outcome: Outcome::new(kind, bytes) }
                    }
                };
                let tell = move |written: &Written| {
                    let recorded = matches!(written, Ok(Answer::Done));
                    let mut mark = marked(key);
                    mark["replayed"] = false.into();
                    mark["attempt"] = attempt.into();
                    mark["recorded"] = recorded.into();
                    if harmless.is_some() {
                        // Nothing is kept of it, and the same key may be tried again.
                        mark["released"] = recorded.into();
                    }
                    Told::Result { result, mark, replayed: false }
                };
                (event, Box::new(tell))
            }
            Ok(Ended::Asks(questions)) => {
                let asked = Outcome::new(OutcomeKind::Success, questions.to_bytes());
                let tell = move |written: &Written| match written {
                    Ok(Answer::Suspended { fence, round, .. }) => {
                        let resumes = Resumes::Round { fence: fence.0, round: round.0 };
                        Told::Asks { questions, resumes }
                    }
                    Ok(_) => Told::Refused(words::lost()),
                    Err(error) => Told::Refused(words::unavailable(error)),
                };
                (Event::Suspend { holder, asked }, Box::new(tell))
            }
            Ok(Ended::Unasked(error)) => {
                let event = Event::Discard { holder, why: Harmless::NothingHappened };
                (event, Box::new(move |_| Told::Failed(error)))
            }
            Ok(Ended::Panicked) => self.unknown(holder, Reason::Panicked),
            Err(Interrupted::TakenBack) => {
                let event = Event::Discard { holder, why: Harmless::ByNature };
                (event, Box::new(|_| Told::Refused(words::lost())))
            }
            Err(Interrupted::Halted) => self.unknown(holder, Reason::Stopped),
        }
    }

    fn unknown(&self, holder: Holder, reason: Reason) -> (Event, Tell) {
        let error = match self.by_nature {
            true => words::may_be_repeated(reason),
            false => words::outcome_unknown(reason, None),
        };
        (Event::Unknown { holder, reason }, Box::new(move |_| Told::Refused(error)))
    }

    /// Says that the owner lives, until dropped. A task of its own: a handler that does not let go of its thread must not
    /// look dead.
    fn keep_alive(self: &Arc<Self>, holder: Holder) -> Heart {
        let operation = Arc::clone(self);
        let every = operation.ledger.0.store.rules().lease / 3;
        Heart(tokio::spawn(async move {
            loop {
                tokio::time::sleep(every).await;
                let event = Event::Heartbeat(holder);
                match operation.apply(event, Circumstances::default()).await {
                    Ok(Answer::Done) => {}
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
    async fn insist(&self, event: Event, circumstances: Circumstances) {
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

    async fn apply(&self, event: Event, circumstances: Circumstances) -> Written {
        self.ledger.0.store.apply(&self.id, event, circumstances).await
    }

    /// Notes what a repetition was told. Who is refused wanted what was not done: that is worth keeping, whatever it was.
    pub(crate) async fn note(&self, told: &Told) {
        let (event, refused) = match told {
            Told::Result { .. } => ("replayed", false),
            Told::Asks { .. } => ("asked again", false),
            Told::Refused(error) => ("refused", !error.is_passing()),
            Told::Failed(_) => ("refused", true),
        };
        // A replay is a read: to write it down for good would make it a hundred times as dear.
        let stays = refused || self.ledger.0.audit == Audit::All;
        let note = Note {
            scope: self.id.scope.clone(),
            key: Some(self.id.key.clone()),
            event: event.to_owned(),
            outcome: None,
            circumstances: if stays { self.digested() } else { self.circumstances.clone() },
        };
        self.ledger.write(note, stays).await;
    }

    fn digested(&self) -> Circumstances {
        let digest = self.ledger.0.digests.digest(self.canonical.as_bytes());
        Circumstances { digest: Some(digest), ..self.circumstances.clone() }
    }
}

/// What came of writing something down.
type Written = Result<Answer, StoreError>;

/// What the caller is told then.
type Tell = Box<dyn FnOnce(&Written) -> Told + Send>;

fn read(bytes: &[u8]) -> Option<CallToolResult> {
    let raw: &RawValue = serde_json::from_slice(bytes).ok()?;
    CallToolResult::decode(raw.into()).ok()
}

/// Beats until dropped.
struct Heart(JoinHandle<()>);

impl Drop for Heart {
    fn drop(&mut self) {
        self.0.abort();
    }
}
