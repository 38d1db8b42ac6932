//! A call that is on record, or would be: what names it, what its record answers, and what its caller is told of that.
//!
//! Starting it is another matter: see `once`.

use std::sync::Arc;
use std::time::Instant;

use candor_hints::Hints;
use candor_ledger::{
    Answer, Binding, Body, Circumstances, Event, Fingerprint, Grant, Key, Moment, Note, Record,
    RecordDigest, RecordId, Seen, State, StoreError,
};
use candor_protocol::Principal;
use candor_protocol::json::{Decode, Object, RawValue};
use candor_protocol::rpc::ErrorObject;
use candor_protocol::types::CallToolResult;
use serde::ser::{Serialize, SerializeMap, Serializer};

use super::audit::{Known, Row};
use super::join::Listener;
use super::{Audit, Call, Ledger, Noted, canonical, fingerprint, words};
use crate::exchange::Exchange;
use crate::hex::hex;
use crate::people::when;
use crate::round::{Questions, Resumes};
use crate::tool::ToolError;

/// A call that has a key, its caller's or one that the server has given it.
pub(crate) struct Operation {
    pub(super) ledger: Ledger,
    pub(super) id: RecordId,
    /// In whose share its place counts, where callers are told apart.
    pub(super) sharer: Option<Principal>,
    pub(super) fingerprint: Fingerprint,
    pub(super) hints: Hints,
    /// It has no key of its own, and is recorded because a person is asked about it.
    pub(super) keyless: bool,
    principal: Principal,
    known: Known,
    /// The arguments that the key stands for.
    canonical: String,
    /// The arguments that its record stores from the start on, if it does.
    arguments: Option<Arc<[u8]>>,
}

/// What the caller is told.
pub(crate) enum Told {
    /// The result, with what is to be said of its record.
    Result { result: CallToolResult, mark: Mark },
    /// The result of an earlier attempt, as it is kept.
    Replay { kept: Object, mark: Mark },
    /// Questions, and where their answers belong.
    Asks { questions: Questions, resumes: Resumes },
    /// Why there is no result.
    Refused(ToolError),
    /// The same as an error of the protocol.
    Failed(ErrorObject),
}

/// How far the review of a call has come.
pub(crate) enum Request {
    /// No reviewer is asked, or the answer is used or has ended.
    None,
    Open,
    /// Bound to this, and not used yet.
    Approved(Binding),
    /// It still refuses the call, with this error.
    Denied {
        since: Moment,
        error: ToolError,
    },
}

impl Request {
    /// Returns true if the review of this very call counts, and not the grant: an approval is used first, and a denial holds
    /// unless an operator granted such calls later.
    pub(crate) fn precedes(&self, grant: &Grant) -> bool {
        match self {
            Self::Approved(_) => true,
            Self::Denied { since, .. } => *since >= grant.since,
            Self::None | Self::Open => false,
        }
    }
}

/// What is said of a record, beside a result.
pub(crate) struct Mark {
    /// The name that the caller has given to it.
    pub(super) key: Option<String>,
    pub(super) attempt: u32,
    pub(super) came: Came,
}

/// What a result has to do with its record.
pub(super) enum Came {
    /// It was made just now. What was recorded may be that nothing happened: then the same key may be tried again.
    Now { recorded: bool, releases: bool },
    /// It was kept; perhaps because somebody found out what had come of the call.
    Before { completed: Moment, resolved_by: Option<String> },
}

impl Mark {
    /// Returns true if the result comes from an earlier attempt.
    pub(crate) fn is_replay(&self) -> bool {
        matches!(self.came, Came::Before { .. })
    }
}

impl Serialize for Mark {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        if let Some(key) = &self.key {
            map.serialize_entry("key", key)?;
        }
        map.serialize_entry("replayed", &self.is_replay())?;
        map.serialize_entry("attempt", &self.attempt)?;
        match &self.came {
            Came::Now { recorded, releases } => {
                map.serialize_entry("recorded", recorded)?;
                if *releases {
                    map.serialize_entry("released", recorded)?;
                }
            }
            Came::Before { completed, resolved_by } => {
                map.serialize_entry("completedAt", &when::written(*completed))?;
                if let Some(by) = resolved_by {
                    map.serialize_entry("resolvedBy", by)?;
                }
            }
        }
        map.end()
    }
}

impl Operation {
    /// One with a key.
    pub(crate) fn new(ledger: &Ledger, call: &Call<'_>, key: Key) -> Box<Self> {
        let canonical = canonical(call);
        Self::named(ledger, call, key, fingerprint(&canonical), canonical)
    }

    /// A call without a key that a person is asked about: it is named after the caller, the tool and the arguments, by a name that no caller can send.
    pub(crate) fn keyless(ledger: &Ledger, call: &Call<'_>) -> Box<Self> {
        let canonical = canonical(call);
        let fingerprint = fingerprint(&canonical);
        let name = format!("{}{}", super::key::RESERVED, hex(&fingerprint.0[..16]));
        let key = Key::new(name).expect("visible and short");
        let mut operation = Self::named(ledger, call, key, fingerprint, canonical);
        operation.keyless = true;
        operation
    }

    /// Boxed: most calls have none, and every one carries room for it from stage to stage.
    fn named(
        ledger: &Ledger,
        call: &Call<'_>,
        key: Key,
        fingerprint: Fingerprint,
        canonical: String,
    ) -> Box<Self> {
        Box::new(Self {
            fingerprint,
            principal: call.exchange.principal.clone(),
            known: ledger.known(call),
            canonical,
            arguments: ledger.started_arguments(call),
            id: RecordId { scope: ledger.scope(call), key },
            sharer: call.exchange.sharer().cloned(),
            hints: call.hints,
            keyless: false,
            ledger: ledger.clone(),
        })
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

    /// Whether to repeat it is harmless by its nature, its key aside.
    pub(crate) fn by_nature(&self) -> bool {
        self.hints.is_idempotent()
    }

    /// The name that the caller has given to it; none for one that the server had to name itself.
    pub(super) fn callers_key(&self) -> Option<String> {
        (!self.keyless).then(|| self.id.key.as_str().to_owned())
    }

    /// By which people find it.
    pub(crate) fn short_id(&self) -> String {
        self.id.digest().to_string().chars().take(12).collect()
    }

    /// Lets something happen to its record that is not the call itself.
    pub(crate) async fn say(&self, event: Event) -> Applied {
        self.ledger.tend();
        self.apply(event, self.digested()).await
    }

    /// Asks a reviewer; the record stores the arguments of this call, if the server wants that.
    pub(crate) async fn ask(&self, event: Event, call: &Call<'_>) -> Applied {
        self.ledger.tend();
        let arguments = self.ledger.reviewed_arguments(call);
        self.apply(event, Circumstances { arguments, ..self.digested() }).await
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
    pub(crate) fn permitted(mut self: Box<Self>, grant: &Grant) -> Box<Self> {
        self.known = self.known.permitted(Some(words::permitted(grant)));
        self
    }

    /// What the caller is told of a record that is in the way of asking.
    pub(crate) async fn answered(&self, answer: Answer, listener: Listener<'_>) -> Option<Told> {
        self.told(answer, Instant::now() + self.ledger.0.join, listener).await
    }

    /// What reviewers know of this call.
    pub(crate) async fn request(&self) -> Result<Request, StoreError> {
        let store = &self.ledger.0.store;
        let record = store.find(&self.id).await?.and_then(|entry| entry.seen);
        Ok(match record.filter(|record| record.fingerprint == self.fingerprint) {
            Some(Record { state: State::Waiting { .. }, .. }) => Request::Open,
            Some(Record { state: State::Approved { binding, .. }, .. }) => {
                Request::Approved(binding)
            }
            Some(Record { state: State::Denied { since, .. }, .. }) => {
                match store.recall(&self.id, self.fingerprint, self.by_nature()).await? {
                    Some(Answer::Denied { by, reason, .. }) => {
                        Request::Denied { since, error: words::denied(&by, reason.as_deref()) }
                    }
                    _ => Request::None,
                }
            }
            _ => Request::None,
        })
    }

    /// What is on record of it, without any waiting.
    pub(crate) async fn look(&self) -> Result<Option<Answer>, StoreError> {
        let store = &self.ledger.0.store;
        if let Some(answer) = store.recall(&self.id, self.fingerprint, self.by_nature()).await? {
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
    pub(crate) async fn recall(&self, exchange: &Exchange) -> Option<Told> {
        let until = Instant::now() + self.ledger.0.join;
        loop {
            let store = &self.ledger.0.store;
            match store.recall(&self.id, self.fingerprint, self.by_nature()).await {
                // Whether a person must still be asked is for the gate to say.
                Ok(None | Some(Answer::Waiting { .. })) => return None,
                Ok(Some(answer)) => {
                    let listener = Listener::Exchange(exchange);
                    if let Some(told) = self.told(answer, until, listener).await {
                        return Some(told);
                    }
                }
                Err(error) => return Some(Told::Refused(words::unavailable(&error))),
            }
        }
    }

    /// What the caller is told of a record that is in the way; nothing if it was waited for, and has changed.
    pub(super) async fn told(
        &self,
        answer: Answer,
        until: Instant,
        listener: Listener<'_>,
    ) -> Option<Told> {
        let key = &self.id.key;
        Some(match answer {
            Answer::Replay { outcome, completed, attempt, resolved_by } => match &outcome.body {
                Body::Omitted { len, .. } => Told::Refused(words::omitted(*len, completed)),
                Body::Kept(bytes) => match read(bytes) {
                    Some(kept) => {
                        let came = Came::Before { completed, resolved_by };
                        Told::Replay { kept, mark: Mark { key: self.callers_key(), attempt, came } }
                    }
                    None => Told::Refused(words::unreadable()),
                },
            },
            Answer::InFlight { fence, state, .. } => {
                // Boxed: few calls come to it, and all carry room for it.
                return Box::pin(self.join(Seen { fence, state }, until, listener)).await;
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
            Answer::Waiting { until, .. } => Told::Refused(self.approval_required(Some(until))),
            Answer::Denied { by, reason, .. } => {
                Told::Refused(words::denied(&by, reason.as_deref()))
            }
            Answer::Approved { .. } => Told::Refused(self.approval_required(None)),
            Answer::NotApproved => Told::Refused(words::approval_gone()),
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

    /// That the call waits for approval. `until`: when the request expires.
    pub(crate) fn approval_required(&self, until: Option<Moment>) -> ToolError {
        let valid = self.ledger.0.store.rules().approval_valid;
        words::approval_required(&self.short_id(), until, valid)
    }

    pub(super) async fn apply(&self, event: Event, circumstances: Circumstances) -> Applied {
        self.ledger.0.store.apply(&self.id, event, circumstances).await
    }

    /// Notes what a repetition was told.
    pub(crate) async fn note(&self, told: &Told) {
        let (event, stays) = match told {
            Told::Result { .. } | Told::Replay { .. } => return self.note_replay().await,
            Told::Asks { .. } => ("asked again", self.ledger.0.audit == Audit::All),
            Told::Refused(error) => return self.note_refusal(error).await,
            Told::Failed(_) => ("refused", true),
        };
        self.noted(event, stays).await;
    }

    /// The record's other rows have all that is known of the arguments.
    async fn note_replay(&self) {
        let ledger = &self.ledger.0;
        let note = Note {
            scope: self.id.scope.clone(),
            key: Some(self.id.key.clone()),
            event: "replayed".to_owned(),
            outcome: None,
            circumstances: Circumstances { note: self.known.client(), ..Circumstances::default() },
        };
        self.ledger.tend();
        ledger.replays.push(note, &ledger.store, &ledger.running).await;
    }

    pub(crate) async fn note_refusal(&self, error: &ToolError) {
        self.noted("refused", self.ledger.keeps(error)).await;
    }

    async fn noted(&self, event: &'static str, stays: bool) {
        let row = Row {
            principal: self.principal.clone(),
            tool: self.id.scope.tool.clone(),
            key: Some(self.id.key.clone()),
            known: self.known.clone(),
            ended: Noted::of(event),
        };
        self.ledger.note(row, stays.then_some(&*self.canonical)).await;
    }

    pub(super) fn digested(&self) -> Circumstances {
        Circumstances { digest: Some(self.ledger.digest(&self.canonical)), ..self.known.in_words() }
    }

    /// What is written beside its start.
    pub(super) fn starting(&self) -> Circumstances {
        Circumstances { arguments: self.arguments.clone(), ..self.digested() }
    }
}

/// What came of writing something down.
pub(super) type Applied = Result<Answer, StoreError>;

/// A result as it is kept; nothing if it is none.
fn read(bytes: &[u8]) -> Option<Object> {
    let raw: &RawValue = serde_json::from_slice(bytes).ok()?;
    let kept = Object::decode(raw.into()).ok()?;
    let content = kept.get("content")?;
    content.text().starts_with('[').then_some(kept)
}
