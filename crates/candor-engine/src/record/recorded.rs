//! A call that has a record, or would have one: its ID, what its record answers, and what its caller receives.
//!
//! `once` starts it.

use std::sync::Arc;
use std::time::Instant;

use candor_hints::Hints;
use candor_ledger::{
    AuditContext, Body, CallNote, Event, EventReply, Fingerprint, Grant, Key, Moment, Record,
    RecordDigest, RecordId, RecordVersion, StoreError,
};
use candor_protocol::Principal;
use candor_protocol::json::{Decode, Object, RawValue};

use super::audit::{CallContext, Row};
use super::join::{RunningRecord, WaitingCaller};
use super::{Audit, AuditEnd, EvaluatedCall, ServerLedger, canonical, fingerprint, guarded};
use crate::ctx::round::{Questions, ResumePoint};
use crate::error::Refusal;
use crate::outcome::{RecordNote, RecordedEnd, ResultOrigin};
use crate::seal::hex;

/// The first character of the names that the server gives to calls without a key. A caller's key cannot begin with it.
pub(crate) const RESERVED: char = '~';

/// A call with a key: the caller's, or one that the server gave it.
pub(crate) struct RecordedCall {
    pub(super) ledger: ServerLedger,
    pub(super) id: RecordId,
    /// The principal whose share its slot counts in, if the transport tells callers apart.
    pub(super) sharer: Option<Principal>,
    pub(super) fingerprint: Fingerprint,
    pub(super) hints: Hints,
    /// It has no key of its own, and is recorded because it needs approval.
    pub(super) keyless: bool,
    principal: Principal,
    known: CallContext,
    /// The arguments without the key, in canonical form.
    canonical: String,
    /// The arguments that its record stores from the start on, if it stores them.
    arguments: Option<Arc<[u8]>>,
}

impl RecordedCall {
    /// Returns a call with a key.
    pub(crate) fn new(ledger: &ServerLedger, call: &EvaluatedCall<'_>, key: Key) -> Box<Self> {
        let canonical = canonical(call);
        Self::named(ledger, call, key, fingerprint(&canonical), canonical)
    }

    /// Returns a call without a key that needs approval. It is named after the caller, the tool and the arguments, with a name that
    /// no caller can send.
    pub(crate) fn keyless(ledger: &ServerLedger, call: &EvaluatedCall<'_>) -> Box<Self> {
        let canonical = canonical(call);
        let fingerprint = fingerprint(&canonical);
        let name = format!("{}{}", RESERVED, hex(&fingerprint.0[..16]));
        let key = Key::new(name).expect("visible and short");
        let mut operation = Self::named(ledger, call, key, fingerprint, canonical);
        operation.keyless = true;
        operation
    }

    /// Boxed, because most calls have no record, and every call would carry its size from stage to stage.
    fn named(
        ledger: &ServerLedger,
        call: &EvaluatedCall<'_>,
        key: Key,
        fingerprint: Fingerprint,
        canonical: String,
    ) -> Box<Self> {
        Box::new(Self {
            fingerprint,
            principal: call.request.caller.principal.clone(),
            known: ledger.known(call),
            canonical,
            arguments: ledger.started_arguments(call),
            id: RecordId { scope: ledger.scope(call), key },
            sharer: call.request.caller.sharer().cloned(),
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

    /// Returns true if the call is safe to retry without regard to its key.
    pub(crate) fn idempotent(&self) -> bool {
        self.hints.is_idempotent()
    }

    /// Returns the caller's key; `None` if the server named the call.
    pub(super) fn callers_key(&self) -> Option<String> {
        (!self.keyless).then(|| self.id.key.as_str().to_owned())
    }

    /// Returns the ID that users see.
    pub(crate) fn short_id(&self) -> String {
        self.id.digest().to_string().chars().take(12).collect()
    }

    /// Applies an event to its record that is not part of the call itself.
    pub(crate) async fn say(&self, event: Event) -> EventResult {
        self.ledger.start_sweeper();
        self.apply(event, self.digested()).await
    }

    /// Stores an approval request. The record stores the arguments of this call, if the server is configured so.
    pub(crate) async fn ask(&self, event: Event, call: &EvaluatedCall<'_>) -> EventResult {
        self.ledger.start_sweeper();
        let arguments = self.ledger.reviewed_arguments(call);
        self.apply(event, AuditContext { arguments, ..self.digested() }).await
    }

    /// Waits until its record leaves this version.
    pub(crate) async fn changed(&self, seen: RecordVersion) -> Result<(), StoreError> {
        self.ledger.0.store.watch(&self.id, seen).await
    }

    /// Returns the active grants for such calls.
    pub(crate) async fn grants(&self) -> Result<Vec<Grant>, StoreError> {
        guarded(self.ledger.0.store.grants_in_force(&self.id.scope)).await
    }

    /// Notes the grant that replaces an approval, for the audit rows.
    pub(crate) fn permitted(mut self: Box<Self>, grant: &Grant) -> Box<Self> {
        self.known = self.known.permitted(Some(grant_note(grant)));
        self
    }

    /// Returns what the caller receives if its record prevents an approval request. Returns `None` if the record has changed since.
    pub(crate) async fn answered(
        &self,
        answer: EventReply,
        listener: WaitingCaller<'_>,
    ) -> Option<RecordedEnd> {
        self.told(answer, Instant::now() + self.ledger.0.join, listener).await
    }

    /// Returns what the record replies to this call, without waiting. `None`: it is in no call's way.
    pub(crate) async fn reply(&self) -> Result<Option<EventReply>, StoreError> {
        let store = &self.ledger.0.store;
        guarded(store.recall(&self.id, self.fingerprint, self.idempotent())).await
    }

    /// Returns the record of this call, if it has one with the same arguments.
    pub(crate) async fn stored(&self) -> Result<Option<Record>, StoreError> {
        let record =
            guarded(self.ledger.0.store.find(&self.id)).await?.and_then(|entry| entry.seen);
        Ok(record.filter(|record| record.fingerprint == self.fingerprint))
    }

    /// Returns the time until which a retry waits for a running attempt.
    pub(crate) fn waits_until(&self) -> Instant {
        Instant::now() + self.ledger.0.join
    }

    /// Returns what the caller receives if its record stops the call. Returns `None` if it waited, and the record has changed.
    pub(crate) async fn told(
        &self,
        answer: EventReply,
        until: Instant,
        listener: WaitingCaller<'_>,
    ) -> Option<RecordedEnd> {
        let key = &self.id.key;
        Some(match answer {
            EventReply::Replay { outcome, completed, attempt, resolved_by } => {
                match &outcome.body {
                    Body::Omitted { len, .. } => {
                        RecordedEnd::Refused(Refusal::ResultOmitted { bytes: *len, completed })
                    }
                    Body::Kept(bytes) => match read(bytes) {
                        Some(kept) => {
                            let origin = ResultOrigin::Before { completed, resolved_by };
                            let note = RecordNote { key: self.callers_key(), attempt, origin };
                            RecordedEnd::Replayed { members: kept, note }
                        }
                        None => RecordedEnd::Refused(Refusal::ResultUnreadable),
                    },
                }
            }
            EventReply::InFlight { fence, state, .. } => {
                let running = RunningRecord {
                    store: &*self.ledger.0.store,
                    id: &self.id,
                    fingerprint: self.fingerprint,
                    idempotent: self.idempotent(),
                };
                let seen = RecordVersion { fence, state };
                // Boxed, because few calls get here, and every call would carry its size.
                return Box::pin(running.join(seen, until, listener)).await;
            }
            EventReply::Suspended { fence, round, asked, .. } => {
                let kept = match &asked.body {
                    Body::Kept(bytes) => Questions::from_bytes(bytes),
                    Body::Omitted { .. } => None,
                };
                let resumes = ResumePoint::Round { fence: fence.0, round: round.0 };
                kept.map_or_else(
                    || RecordedEnd::Refused(Refusal::InputElsewhere),
                    |questions| RecordedEnd::Asks { questions, resumes: Some(resumes) },
                )
            }
            EventReply::KeyReused => RecordedEnd::Refused(Refusal::KeyReused { key: key.clone() }),
            EventReply::OutcomeUnknown { reason, since } => {
                RecordedEnd::Refused(Refusal::OutcomeUnknown {
                    reason,
                    since: Some(since),
                    repeatable: false,
                })
            }
            EventReply::Expired { until } => RecordedEnd::Refused(Refusal::ResultExpired { until }),
            EventReply::Abandoned { by, .. } => RecordedEnd::Refused(Refusal::Abandoned { by }),
            EventReply::Waiting { until, .. } => {
                RecordedEnd::Refused(self.approval_required(Some(until)))
            }
            EventReply::Denied { by, reason, .. } => {
                RecordedEnd::Refused(Refusal::Denied { by, reason })
            }
            EventReply::Approved { .. } => RecordedEnd::Refused(self.approval_required(None)),
            EventReply::NotApproved => RecordedEnd::Refused(Refusal::ApprovalGone),
            EventReply::Lost
            | EventReply::Done
            | EventReply::Refused(_)
            | EventReply::Claimed { .. }
            | EventReply::Started { .. }
            | EventReply::Resumed { .. } => RecordedEnd::Refused(Refusal::ResumeInvalid),
        })
    }

    /// Returns the error that the call needs approval. `until` is when the request expires.
    pub(crate) fn approval_required(&self, until: Option<Moment>) -> Refusal {
        let valid = self.ledger.0.store.rules().approval_valid;
        Refusal::ApprovalRequired { operation: self.short_id(), until, valid }
    }

    pub(super) async fn apply(&self, event: Event, circumstances: AuditContext) -> EventResult {
        guarded(self.ledger.0.store.apply(&self.id, event, circumstances)).await
    }

    /// Adds an audit row for what a retry received.
    pub(crate) async fn note(&self, told: &RecordedEnd) {
        let (event, stays) = match told {
            RecordedEnd::Done { .. } | RecordedEnd::Replayed { .. } => {
                return self.note_replay().await;
            }
            RecordedEnd::Asks { .. } => ("asked again", self.ledger.0.audit == Audit::All),
            RecordedEnd::Refused(refusal) => return self.note_refusal(refusal).await,
            RecordedEnd::Unanswerable(_) => ("refused", true),
        };
        self.noted(event, stays).await;
    }

    /// Adds an audit row for a replay. The record's other rows have all that is known of the arguments.
    async fn note_replay(&self) {
        let ledger = &self.ledger.0;
        let note = CallNote {
            scope: self.id.scope.clone(),
            key: Some(self.id.key.clone()),
            event: "replayed".to_owned(),
            outcome: None,
            circumstances: AuditContext { note: self.known.client(), ..AuditContext::default() },
        };
        self.ledger.start_sweeper();
        ledger.replays.push(note, &ledger.store, &ledger.running).await;
    }

    pub(crate) async fn note_refusal(&self, refusal: &Refusal) {
        self.noted("refused", self.ledger.keeps(refusal)).await;
    }

    async fn noted(&self, event: &'static str, stays: bool) {
        let row = Row {
            principal: self.principal.clone(),
            tool: self.id.scope.tool.clone(),
            key: Some(self.id.key.clone()),
            known: self.known.clone(),
            ended: AuditEnd::of(event),
        };
        self.ledger.note(row, stays.then_some(&*self.canonical)).await;
    }

    pub(super) fn digested(&self) -> AuditContext {
        AuditContext { digest: Some(self.ledger.digest(&self.canonical)), ..self.known.summary() }
    }

    /// Returns what is recorded with its start.
    pub(super) fn starting(&self) -> AuditContext {
        AuditContext { arguments: self.arguments.clone(), ..self.digested() }
    }
}

/// The ledger's reply to an event.
pub(super) type EventResult = Result<EventReply, StoreError>;

/// Returns the audit text for a call that a grant covers.
pub(crate) fn grant_note(grant: &Grant) -> String {
    format!("grant {} of {}", grant.id, grant.by)
}

/// Parses a stored result; `None` if it is not one.
fn read(bytes: &[u8]) -> Option<Object> {
    let raw: &RawValue = serde_json::from_slice(bytes).ok()?;
    let kept = Object::decode(raw.into()).ok()?;
    let content = kept.get("content")?;
    content.text().starts_with('[').then_some(kept)
}
