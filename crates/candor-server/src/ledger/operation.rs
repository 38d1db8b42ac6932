//! A call that is on record, or would be: what names it, what its record answers, and what its caller is told of that.
//!
//! Starting it is another matter: see `once`.

use std::sync::Arc;
use std::time::Instant;

use candor_hints::Hints;
use candor_ledger::{
    AuditContext, Binding, Body, CallNote, Event, EventReply, Fingerprint, Grant, Key, Moment,
    Record, RecordDigest, RecordId, RecordState, RecordVersion, StoreError,
};
use candor_protocol::Principal;
use candor_protocol::json::{Decode, Object, RawValue};
use candor_protocol::rpc::ErrorObject;
use candor_protocol::types::CallToolResult;
use serde::ser::{Serialize, SerializeMap, Serializer};

use super::audit::{CallContext, Row};
use super::join::WaitingCaller;
use super::{Audit, Call, CallEnd, ServerLedger, canonical, fingerprint, words};
use crate::exchange::RequestContext;
use crate::hex::hex;
use crate::people::when;
use crate::round::{Questions, ResumePoint};
use crate::tool::ToolError;

/// A call that has a key, its caller's or one that the server has given it.
pub(crate) struct RecordedCall {
    pub(super) ledger: ServerLedger,
    pub(super) id: RecordId,
    /// In whose share its place counts, where callers are told apart.
    pub(super) sharer: Option<Principal>,
    pub(super) fingerprint: Fingerprint,
    pub(super) hints: Hints,
    /// It has no key of its own, and is recorded because a person is asked about it.
    pub(super) keyless: bool,
    principal: Principal,
    known: CallContext,
    /// The arguments that the key stands for.
    canonical: String,
    /// The arguments that its record stores from the start on, if it does.
    arguments: Option<Arc<[u8]>>,
}

/// What the caller is told.
pub(crate) enum Outcome {
    /// The result, with what is to be said of its record.
    Result { result: CallToolResult, mark: RecordNote },
    /// The result of an earlier attempt, as it is kept.
    Replay { kept: Object, mark: RecordNote },
    /// Questions, and where their answers belong.
    Asks { questions: Questions, resumes: ResumePoint },
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
pub(crate) struct RecordNote {
    /// The name that the caller has given to it.
    pub(super) key: Option<String>,
    pub(super) attempt: u32,
    pub(super) came: ResultOrigin,
}

/// What a result has to do with its record.
pub(super) enum ResultOrigin {
    /// It was made just now. What was recorded may be that nothing happened: then the same key may be tried again.
    Now { recorded: bool, releases: bool },
    /// It was kept; perhaps because somebody found out what had come of the call.
    Before { completed: Moment, resolved_by: Option<String> },
}

impl RecordNote {
    /// Returns true if the result comes from an earlier attempt.
    pub(crate) fn is_replay(&self) -> bool {
        matches!(self.came, ResultOrigin::Before { .. })
    }
}

impl Serialize for RecordNote {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        if let Some(key) = &self.key {
            map.serialize_entry("key", key)?;
        }
        map.serialize_entry("replayed", &self.is_replay())?;
        map.serialize_entry("attempt", &self.attempt)?;
        match &self.came {
            ResultOrigin::Now { recorded, releases } => {
                map.serialize_entry("recorded", recorded)?;
                if *releases {
                    map.serialize_entry("released", recorded)?;
                }
            }
            ResultOrigin::Before { completed, resolved_by } => {
                map.serialize_entry("completedAt", &when::written(*completed))?;
                if let Some(by) = resolved_by {
                    map.serialize_entry("resolvedBy", by)?;
                }
            }
        }
        map.end()
    }
}

impl RecordedCall {
    /// One with a key.
    pub(crate) fn new(ledger: &ServerLedger, call: &Call<'_>, key: Key) -> Box<Self> {
        let canonical = canonical(call);
        Self::named(ledger, call, key, fingerprint(&canonical), canonical)
    }

    /// A call without a key that a person is asked about: it is named after the caller, the tool and the arguments, by a name that no caller can send.
    pub(crate) fn keyless(ledger: &ServerLedger, call: &Call<'_>) -> Box<Self> {
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
        ledger: &ServerLedger,
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
    pub(crate) async fn say(&self, event: Event) -> EventResult {
        self.ledger.tend();
        self.apply(event, self.digested()).await
    }

    /// Asks a reviewer; the record stores the arguments of this call, if the server wants that.
    pub(crate) async fn ask(&self, event: Event, call: &Call<'_>) -> EventResult {
        self.ledger.tend();
        let arguments = self.ledger.reviewed_arguments(call);
        self.apply(event, AuditContext { arguments, ..self.digested() }).await
    }

    /// Ends when its record no longer stands there.
    pub(crate) async fn changed(&self, seen: RecordVersion) -> Result<(), StoreError> {
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
    pub(crate) async fn answered(
        &self,
        answer: EventReply,
        listener: WaitingCaller<'_>,
    ) -> Option<Outcome> {
        self.told(answer, Instant::now() + self.ledger.0.join, listener).await
    }

    /// What reviewers know of this call.
    pub(crate) async fn request(&self) -> Result<Request, StoreError> {
        let store = &self.ledger.0.store;
        let record = store.find(&self.id).await?.and_then(|entry| entry.seen);
        Ok(match record.filter(|record| record.fingerprint == self.fingerprint) {
            Some(Record { state: RecordState::Waiting { .. }, .. }) => Request::Open,
            Some(Record { state: RecordState::Approved { binding, .. }, .. }) => {
                Request::Approved(binding)
            }
            Some(Record { state: RecordState::Denied { since, .. }, .. }) => {
                match store.recall(&self.id, self.fingerprint, self.by_nature()).await? {
                    Some(EventReply::Denied { by, reason, .. }) => {
                        Request::Denied { since, error: words::denied(&by, reason.as_deref()) }
                    }
                    _ => Request::None,
                }
            }
            _ => Request::None,
        })
    }

    /// What is on record of it, without any waiting.
    pub(crate) async fn look(&self) -> Result<Option<EventReply>, StoreError> {
        let store = &self.ledger.0.store;
        if let Some(answer) = store.recall(&self.id, self.fingerprint, self.by_nature()).await? {
            return Ok(Some(answer));
        }
        // An approval is in nobody's way, and yet worth knowing of.
        let record = store.find(&self.id).await?.and_then(|entry| entry.seen);
        Ok(match record.filter(|record| record.fingerprint == self.fingerprint) {
            Some(Record { fence, state: RecordState::Approved { by, via, until, .. }, .. }) => {
                Some(EventReply::Approved { fence, by, via, until })
            }
            _ => None,
        })
    }

    /// What an existing record answers, before anybody looks at policies. `None`: there is nothing in the way.
    pub(crate) async fn recall(&self, exchange: &RequestContext) -> Option<Outcome> {
        let until = Instant::now() + self.ledger.0.join;
        loop {
            let store = &self.ledger.0.store;
            match store.recall(&self.id, self.fingerprint, self.by_nature()).await {
                // Whether a person must still be asked is for the gate to say.
                Ok(None | Some(EventReply::Waiting { .. })) => return None,
                Ok(Some(answer)) => {
                    let listener = WaitingCaller::Exchange(exchange);
                    if let Some(told) = self.told(answer, until, listener).await {
                        return Some(told);
                    }
                }
                Err(error) => return Some(Outcome::Refused(words::unavailable(&error))),
            }
        }
    }

    /// What the caller is told of a record that is in the way; nothing if it was waited for, and has changed.
    pub(super) async fn told(
        &self,
        answer: EventReply,
        until: Instant,
        listener: WaitingCaller<'_>,
    ) -> Option<Outcome> {
        let key = &self.id.key;
        Some(match answer {
            EventReply::Replay { outcome, completed, attempt, resolved_by } => {
                match &outcome.body {
                    Body::Omitted { len, .. } => Outcome::Refused(words::omitted(*len, completed)),
                    Body::Kept(bytes) => match read(bytes) {
                        Some(kept) => {
                            let came = ResultOrigin::Before { completed, resolved_by };
                            Outcome::Replay {
                                kept,
                                mark: RecordNote { key: self.callers_key(), attempt, came },
                            }
                        }
                        None => Outcome::Refused(words::unreadable()),
                    },
                }
            }
            EventReply::InFlight { fence, state, .. } => {
                // Boxed: few calls come to it, and all carry room for it.
                return Box::pin(self.join(RecordVersion { fence, state }, until, listener)).await;
            }
            EventReply::Suspended { fence, round, asked, .. } => {
                let kept = match &asked.body {
                    Body::Kept(bytes) => Questions::from_bytes(bytes),
                    Body::Omitted { .. } => None,
                };
                let resumes = ResumePoint::Round { fence: fence.0, round: round.0 };
                kept.map_or_else(
                    || Outcome::Refused(words::waits_elsewhere()),
                    |questions| Outcome::Asks { questions, resumes },
                )
            }
            EventReply::KeyReused => Outcome::Refused(words::key_reused(key)),
            EventReply::OutcomeUnknown { reason, since } => {
                Outcome::Refused(words::outcome_unknown(reason, Some(since)))
            }
            EventReply::Expired { until } => Outcome::Refused(words::expired(until)),
            EventReply::Abandoned { by, .. } => Outcome::Refused(words::abandoned(&by)),
            EventReply::Waiting { until, .. } => {
                Outcome::Refused(self.approval_required(Some(until)))
            }
            EventReply::Denied { by, reason, .. } => {
                Outcome::Refused(words::denied(&by, reason.as_deref()))
            }
            EventReply::Approved { .. } => Outcome::Refused(self.approval_required(None)),
            EventReply::NotApproved => Outcome::Refused(words::approval_gone()),
            EventReply::Lost
            | EventReply::Done
            | EventReply::Refused(_)
            | EventReply::Claimed { .. }
            | EventReply::Started { .. }
            | EventReply::Resumed { .. } => Outcome::Failed(ErrorObject::invalid_params(
                "Invalid requestState: this call does not wait for that answer any more",
            )),
        })
    }

    /// That the call waits for approval. `until`: when the request expires.
    pub(crate) fn approval_required(&self, until: Option<Moment>) -> ToolError {
        let valid = self.ledger.0.store.rules().approval_valid;
        words::approval_required(&self.short_id(), until, valid)
    }

    pub(super) async fn apply(&self, event: Event, circumstances: AuditContext) -> EventResult {
        self.ledger.0.store.apply(&self.id, event, circumstances).await
    }

    /// Notes what a repetition was told.
    pub(crate) async fn note(&self, told: &Outcome) {
        let (event, stays) = match told {
            Outcome::Result { .. } | Outcome::Replay { .. } => return self.note_replay().await,
            Outcome::Asks { .. } => ("asked again", self.ledger.0.audit == Audit::All),
            Outcome::Refused(error) => return self.note_refusal(error).await,
            Outcome::Failed(_) => ("refused", true),
        };
        self.noted(event, stays).await;
    }

    /// The record's other rows have all that is known of the arguments.
    async fn note_replay(&self) {
        let ledger = &self.ledger.0;
        let note = CallNote {
            scope: self.id.scope.clone(),
            key: Some(self.id.key.clone()),
            event: "replayed".to_owned(),
            outcome: None,
            circumstances: AuditContext { note: self.known.client(), ..AuditContext::default() },
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
            ended: CallEnd::of(event),
        };
        self.ledger.note(row, stays.then_some(&*self.canonical)).await;
    }

    pub(super) fn digested(&self) -> AuditContext {
        AuditContext { digest: Some(self.ledger.digest(&self.canonical)), ..self.known.in_words() }
    }

    /// What is written beside its start.
    pub(super) fn starting(&self) -> AuditContext {
        AuditContext { arguments: self.arguments.clone(), ..self.digested() }
    }
}

/// What came of writing something down.
pub(super) type EventResult = Result<EventReply, StoreError>;

/// A result as it is kept; nothing if it is none.
fn read(bytes: &[u8]) -> Option<Object> {
    let raw: &RawValue = serde_json::from_slice(bytes).ok()?;
    let kept = Object::decode(raw.into()).ok()?;
    let content = kept.get("content")?;
    content.text().starts_with('[').then_some(kept)
}
