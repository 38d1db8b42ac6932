//! Questions whose answers come with the next request: the answers of the client, the open questions, and the state in between.
//!
//! The state travels through the client. So it is sealed, expires, and is bound to its request: another principal, another method
//! or other arguments cannot use it. It holds the answers of earlier rounds, each with a digest of its question. If the handler
//! asks a different question under the same key, the old answer does not count.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::task::Poll;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use candor_protocol::Principal;
use candor_protocol::json::{Decode, Object, RawValue, raw};
use candor_protocol::types::InputRequest;
use futures_util::task::AtomicWaker;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tokio::sync::{Notify, oneshot};

use super::ask::{self, Question};
use crate::caller::ClientInfo;
use crate::error::{AskError, Refusal};
use crate::seal::{Seal, hex, random_id};

/// What a request's state is bound to, besides its principal: everything that a retry repeats.
#[derive(Debug)]
pub(crate) struct RequestBinding<'a> {
    /// What is requested: a call, a prompt, a resource.
    pub(crate) kind: &'static str,
    /// The tool's or prompt's name, or the resource's URI.
    pub(crate) name: &'a str,
    pub(crate) arguments: Cow<'a, Value>,
    /// The key of the call, if it has one.
    pub(crate) key: Option<&'a str>,
}

impl RequestBinding<'_> {
    /// Computes the digest that state is bound to. Called on demand, because most requests have no state.
    pub(crate) fn digest(&self, principal: &Principal) -> String {
        let bound = json!([principal.as_str(), self.kind, self.name, self.arguments, self.key]);
        digest(candor_schema::canonical(&bound).as_bytes())
    }
}

fn digest(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// What a request brings that continues an earlier one: the answers to its questions, and the state that came with them.
#[derive(Debug, Clone, Default)]
pub struct Resume {
    /// The answers, by the names of their questions.
    pub answers: Option<Object>,
    /// The state, as [`PendingQuestions`] had it.
    pub state: Option<String>,
}

impl Resume {
    /// Returns true if the request is the first of its call.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.answers.is_none() && self.state.is_none()
    }
}

/// Questions to the caller's client. Its next request brings the answers, and the state, in [`Resume`].
#[derive(Debug)]
pub struct PendingQuestions {
    /// The questions, by name.
    pub requests: BTreeMap<String, InputRequest>,
    /// The sealed state.
    pub state: String,
}

/// Which question of which recorded call was answered: the numbers that [`candor_ledger::Event::Resume`] requires.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ResumePoint {
    /// A question of the handler.
    Round { fence: u64, round: u32 },
    /// The approval request, and what it was bound to when it was asked.
    Approval { fence: u64, binding: candor_ledger::Binding },
}

/// What a call carries from one round to the next, besides its questions and answers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct CarriedState {
    /// The caller expects the server to ask for approval of this call.
    pub(crate) expects_approval: bool,
    /// The call started with an approval.
    pub(crate) approved: bool,
}

/// One run of a handler that may ask questions.
#[derive(Default)]
pub(crate) struct Round {
    /// What the earlier rounds of this call carried over.
    pub(crate) carried: CarriedState,
    /// The recorded call that this run continues, if there is one.
    pub(crate) resumes: Option<ResumePoint>,
    /// The parked handler that the answers are for, if there is one.
    pub(crate) parked: Option<String>,
    answers: BTreeMap<String, AnsweredRound>,
    /// A question of the last round has no answer.
    lacks_answers: bool,
    inner: Mutex<RoundQuestions>,
    /// Wakes the runner if another task asks a question.
    waker: AtomicWaker,
}

#[derive(Default)]
struct RoundQuestions {
    numbered: usize,
    open: BTreeMap<String, InputRequest>,
    /// The answers that the handler used. They are carried into the next round.
    used: BTreeMap<String, AnsweredRound>,
    /// The handler that relays questions, and waits for their answers where it is.
    relay: Option<Relay>,
}

/// A handler that waits where it is for the answers to its questions.
struct Relay {
    /// The name under which it is parked.
    parked: String,
    answers: oneshot::Sender<Answers>,
}

/// Answers, by the names of their questions.
pub(crate) type Answers = BTreeMap<String, Box<RawValue>>;

#[derive(Clone)]
struct AnsweredRound {
    /// Digest of the question. `None` if the client sent the answer unasked.
    question: Option<String>,
    answer: Box<RawValue>,
}

impl Round {
    /// Reads what a retry carries. A first request carries nothing.
    pub(crate) fn begin(
        seal: &Seal,
        principal: &Principal,
        binding: &RequestBinding<'_>,
        resume: &Resume,
    ) -> Result<Self, Refusal> {
        let mut round = Self::default();
        let mut asked = BTreeMap::new();
        if let Some(state) = &resume.state {
            let (state, of_record, earlier) =
                RoundState::open(seal, state, &binding.digest(principal))
                    .ok_or(Refusal::ResumeUnknown)?;
            asked = state.asked;
            round.answers = state.answers;
            round.parked = state.parked;
            round.resumes = of_record;
            round.carried = earlier;
        }
        for (key, answer) in resume.answers.iter().flat_map(Object::iter) {
            let (key, answer) = (key.to_owned(), answer.to_raw());
            // An answer belongs to a question of the last round. An unasked answer counts only in a first request.
            match asked.remove(&key) {
                Some(question) => {
                    let answered = AnsweredRound { question: Some(question), answer };
                    round.answers.insert(key, answered);
                }
                None if resume.state.is_none() => {
                    round.answers.insert(key, AnsweredRound { question: None, answer });
                }
                None => {}
            }
        }
        round.lacks_answers = !asked.is_empty();
        Ok(round)
    }

    /// Returns the answer to a question that the server itself asked. An unasked answer does not count.
    pub(crate) fn answered(&self, key: &str) -> Option<&RawValue> {
        self.answers.get(key).filter(|answered| answered.question.is_some()).map(|a| &*a.answer)
    }

    /// Returns the answer to a question, if the client sent it. Otherwise the question stays open, and the handler waits for the
    /// end of this run.
    pub(crate) async fn answer_to(
        &self,
        question: Question,
        ended: &CloseSignal,
    ) -> Result<Box<RawValue>, AskError> {
        let asked = digest(raw(&question.request).get().as_bytes());
        {
            let mut inner = self.lock();
            let key = question.key.unwrap_or_else(|| {
                inner.numbered += 1;
                format!("q{}", inner.numbered)
            });
            if let Some(answered) = self.answers.get(&key)
                && answered.question.as_ref().is_none_or(|q| *q == asked)
            {
                let answer = answered.answer.clone();
                inner
                    .used
                    .insert(key, AnsweredRound { question: Some(asked), answer: answer.clone() });
                return Ok(answer);
            }
            inner.open.insert(key, question.request);
        }
        self.waker.wake();
        // The runner drops the handler now. Only a task that the handler spawned continues here.
        ended.wait().await;
        Err(AskError::Gone)
    }

    /// Asks questions whose answers the handler awaits where it is: it is parked until they come, instead of run again.
    pub(crate) async fn relay(
        &self,
        requests: BTreeMap<String, InputRequest>,
    ) -> Result<Answers, AskError> {
        let (answers, answered) = oneshot::channel();
        {
            let mut inner = self.lock();
            // Other questions run the handler again, so it cannot be parked beside them.
            if !inner.open.is_empty() {
                return Err(AskError::NoChannel);
            }
            inner.open = requests;
            inner.relay = Some(Relay { parked: random_id(), answers });
        }
        self.waker.wake();
        answered.await.map_err(|_| AskError::Gone)
    }

    /// Returns true if the handler waits where it is for answers.
    pub(crate) fn is_relaying(&self) -> bool {
        self.lock().relay.is_some()
    }

    /// Returns the answers to all questions that a parked handler waits for. `None` if any is missing.
    pub(crate) fn all_answers(&self) -> Option<Answers> {
        let answers = self.answers.iter().map(|(key, of)| (key.clone(), of.answer.clone()));
        (!self.lacks_answers).then(|| answers.collect())
    }

    /// Gives a parked handler its answers.
    pub(crate) fn deliver(&self, answers: Answers) {
        let mut inner = self.lock();
        inner.open.clear();
        if let Some(relay) = inner.relay.take() {
            // A handler that has given up does not wait any more.
            let _ = relay.answers.send(answers);
        }
    }

    /// Runs a handler until it is done, or until it waits for a missing answer. Returns `None` in the second case.
    pub(crate) async fn run<T>(&self, handler: impl Future<Output = T>) -> Option<T> {
        let mut handler = pin!(handler);
        std::future::poll_fn(|cx| {
            self.waker.register(cx.waker());
            if let Poll::Ready(done) = handler.as_mut().poll(cx) {
                return Poll::Ready(Some(done));
            }
            // Checked only after the poll, so that questions that are asked concurrently go out together.
            if self.lock().open.is_empty() { Poll::Pending } else { Poll::Ready(None) }
        })
        .await
    }

    /// Returns the open questions, with the state that the next round needs.
    pub(crate) fn questions(&self) -> Questions {
        let inner = self.lock();
        let asked = inner
            .open
            .iter()
            .map(|(key, q)| (key.clone(), digest(raw(q).get().as_bytes())))
            .collect();
        let parked = inner.relay.as_ref().map(|relay| relay.parked.clone());
        let state = RoundState { asked, answers: inner.used.clone(), parked };
        Questions { open: inner.open.clone(), state }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, RoundQuestions> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Signals the end of a run. Only tasks that outlive the run wait for it, so it is kept small.
#[derive(Debug, Default)]
pub(crate) struct CloseSignal {
    over: AtomicBool,
    told: Notify,
}

impl CloseSignal {
    pub(crate) fn set(&self) {
        self.over.store(true, Ordering::Release);
        self.told.notify_waiters();
    }

    async fn wait(&self) {
        let told = self.told.notified();
        if !self.over.load(Ordering::Acquire) {
            told.await;
        }
    }
}

/// Open questions of a handler, to send now and to store, so that they can be sent again.
pub(crate) struct Questions {
    open: BTreeMap<String, InputRequest>,
    state: RoundState,
}

impl Questions {
    /// Creates a question of the server itself.
    pub(crate) fn single(key: &str, request: InputRequest) -> Self {
        let asked = BTreeMap::from([(key.to_owned(), digest(raw(&request).get().as_bytes()))]);
        let open = BTreeMap::from([(key.to_owned(), request)]);
        Self { open, state: RoundState { asked, answers: BTreeMap::new(), parked: None } }
    }

    /// Returns the name under which the handler that asks is parked, if it is.
    pub(crate) fn parked(&self) -> Option<&str> {
        self.state.parked.as_deref()
    }

    /// Returns an error if this client cannot answer all of them. The client of a retry may differ from the one that was asked.
    pub(crate) fn answerable_by(&self, client: &ClientInfo) -> Result<(), AskError> {
        self.open.values().try_for_each(|question| ask::answerable(question, client))
    }

    /// Returns the questions as the client gets them, with the state to send back with the answers.
    pub(crate) fn put(
        self,
        seal: &Seal,
        bound: &str,
        ttl: Duration,
        of_record: Option<ResumePoint>,
        carried: CarriedState,
    ) -> PendingQuestions {
        let state = self.state.close(seal, bound, ttl, of_record, carried);
        PendingQuestions { requests: self.open, state }
    }

    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        raw(&self.state.members().with("questions", &self.open)).get().as_bytes().to_vec()
    }

    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let kept: Object = serde_json::from_slice(bytes).ok()?;
        let open = kept.read("questions").ok()??;
        Some(Self { open, state: RoundState::read(&kept)? })
    }
}

/// What the server knows between two rounds.
struct RoundState {
    asked: BTreeMap<String, String>,
    answers: BTreeMap<String, AnsweredRound>,
    parked: Option<String>,
}

impl RoundState {
    fn close(
        &self,
        seal: &Seal,
        bound: &str,
        ttl: Duration,
        of_record: Option<ResumePoint>,
        carried: CarriedState,
    ) -> String {
        let mut payload =
            self.members().with("binding", bound).with("expires", &(now() + ttl.as_secs()));
        match of_record {
            None => {}
            Some(ResumePoint::Round { fence, round }) => {
                payload = payload.with("record", &[fence, u64::from(round)]);
            }
            Some(ResumePoint::Approval { fence, binding }) => {
                payload = payload.with("approval", &(fence, binding.0));
            }
        }
        if carried.expects_approval {
            payload = payload.with("expects", &true);
        }
        if carried.approved {
            payload = payload.with("approved", &true);
        }
        seal.close(raw(&payload).get().as_bytes())
    }

    fn open(
        seal: &Seal,
        token: &str,
        bound: &str,
    ) -> Option<(Self, Option<ResumePoint>, CarriedState)> {
        let payload = seal.open(token)?;
        let payload: Object = serde_json::from_slice(&payload).ok()?;
        let expires: u64 = payload.get("expires")?.text().parse().ok()?;
        let made_for: String = payload.read("binding").ok()??;
        if expires < now() || made_for != bound {
            return None;
        }
        let of_record = match (payload.get("record"), payload.get("approval")) {
            (None, None) => None,
            (Some(numbers), _) => {
                let [fence, round]: [u64; 2] = serde_json::from_str(numbers.text()).ok()?;
                Some(ResumePoint::Round { fence, round: u32::try_from(round).ok()? })
            }
            (None, Some(number)) => {
                let (fence, binding) = serde_json::from_str(number.text()).ok()?;
                Some(ResumePoint::Approval { fence, binding: candor_ledger::Binding(binding) })
            }
        };
        let carried = CarriedState {
            expects_approval: payload.get("expects").is_some(),
            approved: payload.get("approved").is_some(),
        };
        Some((Self::read(&payload)?, of_record, carried))
    }

    fn members(&self) -> Object {
        let answers: BTreeMap<_, _> =
            self.answers.iter().map(|(key, a)| (key, (&a.question, &a.answer))).collect();
        let members = Object::new().with("asked", &self.asked).with("answers", &answers);
        match &self.parked {
            Some(parked) => members.with("parked", parked),
            None => members,
        }
    }

    fn read(members: &Object) -> Option<Self> {
        let answers: BTreeMap<String, Vec<Box<RawValue>>> = members.read("answers").ok()??;
        let answers = answers.into_iter().filter_map(|(key, mut pair)| {
            let answer = pair.pop()?;
            let question = String::decode((&**pair.first()?).into()).ok();
            Some((key, AnsweredRound { question, answer }))
        });
        let parked = members.read("parked").ok()?;
        Some(Self { asked: members.read("asked").ok()??, answers: answers.collect(), parked })
    }
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seal::Secret;

    const TTL: Duration = Duration::from_secs(60);

    fn binding(arguments: Value) -> RequestBinding<'static> {
        RequestBinding {
            kind: "tools/call",
            name: "tool",
            arguments: Cow::Owned(arguments),
            key: None,
        }
    }

    fn question(text: &str) -> Question {
        let mut request = InputRequest::new("elicitation/create");
        request.params = Some(raw(&text));
        Question { key: Some("q".into()), request }
    }

    fn brought(state: &str, answers: &RawValue) -> Resume {
        let answers = Object::decode(answers.into()).unwrap();
        Resume { answers: Some(answers), state: Some(state.to_owned()) }
    }

    async fn ask(round: &Round, text: &str) -> Option<String> {
        let ended = CloseSignal::default();
        let answer = round.run(round.answer_to(question(text), &ended)).await?;
        Some(answer.unwrap().get().to_owned())
    }

    async fn first_state(seal: &Seal, principal: &Principal, subject: Value) -> String {
        let binding = binding(subject);
        let round = Round::begin(seal, principal, &binding, &Resume::default()).unwrap();
        assert_eq!(ask(&round, "sure?").await, None);
        let bound = binding.digest(principal);
        round.questions().put(seal, &bound, TTL, None, CarriedState::default()).state
    }

    #[tokio::test]
    async fn answer_applies_only_to_its_own_question() {
        let (seal, alice, answers) =
            (Secret::random().seal("round"), Principal::new("alice"), raw(&json!({"q": "yes"})));
        let state = first_state(&seal, &alice, json!(1)).await;
        let round =
            Round::begin(&seal, &alice, &binding(json!(1)), &brought(&state, &answers)).unwrap();
        assert_eq!(ask(&round, "sure?").await.as_deref(), Some("\"yes\""));
        let round =
            Round::begin(&seal, &alice, &binding(json!(1)), &brought(&state, &answers)).unwrap();
        assert_eq!(
            ask(&round, "delete everything?").await,
            None,
            "the answer was to another question"
        );
    }

    #[tokio::test]
    async fn request_state_is_bound_to_caller_arguments_and_time() {
        let (seal, alice, answers) =
            (Secret::random().seal("round"), Principal::new("alice"), raw(&json!({"q": 1})));
        let state = first_state(&seal, &alice, json!({"path": "a"})).await;
        let with = |seal: &Seal, who: &str, subject: Value, state: &str| {
            Round::begin(seal, &Principal::new(who), &binding(subject), &brought(state, &answers))
                .is_ok()
        };
        assert!(with(&seal, "alice", json!({"path": "a"}), &state));
        assert!(!with(&seal, "mallory", json!({"path": "a"}), &state));
        assert!(!with(&seal, "alice", json!({"path": "b"}), &state));
        assert!(!with(&Secret::random().seal("round"), "alice", json!({"path": "a"}), &state));
        assert!(!with(&seal, "alice", json!({"path": "a"}), &format!("{state}-TAMPERED")));
        let binding = binding(json!(1));
        let (asked, answers) = (BTreeMap::new(), BTreeMap::new());
        let stale = RoundState { asked, answers, parked: None };
        let bound = binding.digest(&alice);
        let stale = stale.close(&seal, &bound, Duration::ZERO, None, CarriedState::default());
        tokio::time::sleep(Duration::from_millis(1100)).await;
        assert!(RoundState::open(&seal, &stale, &binding.digest(&alice)).is_none());
    }
}
