//! The audit log: rows for state changes, and for calls that change nothing in the ledger.
//!
//! A row never holds the arguments. It has their shape, and a digest that is keyed with the server's secret. The error of a
//! failed call is stored in the words that its caller received.

use std::sync::Arc;
use std::time::Duration;

use crate::grant::Grant;
use crate::id::{Fence, Key, Moment, RecordId, Scope};
use crate::machine::{self, Transition};
use crate::outcome::OutcomeKind;
use crate::record::{ApprovalChannel, Record, StateKind, UnknownReason};
use crate::rules::LedgerLimits;

/// What the server knows about a call beyond the ledger. Every transition that the call makes stores it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AuditContext {
    /// The shape of the arguments: names and types. It has a value only where the tool's author allows it.
    pub shape: Option<Arc<str>>,
    /// A keyed digest of the arguments, so that equal calls can be found without their values.
    pub digest: Option<[u8; 32]>,
    /// The effect of the call, in the form of the program that writes it.
    pub hints: Option<Arc<str>>,
    /// How long the call took, if it ended.
    pub duration: Option<Duration>,
    /// Anything else for the reader, such as the name of the client.
    pub note: Option<Arc<str>>,
    /// The error of a call that failed, sent with [`Event::Complete`](crate::Event::Complete) or
    /// [`Event::Discard`](crate::Event::Discard).
    pub error: Option<CallError>,
    /// The arguments that the record stores for operators, sent with [`Event::Ask`](crate::Event::Ask) or
    /// [`Event::Start`](crate::Event::Start). No audit row stores them. `None` leaves what the record has, but a new approval
    /// request clears it.
    pub arguments: Option<Arc<[u8]>>,
}

/// The error of a failed call, in the words that its caller received.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallError {
    /// The code, for programs.
    pub code: String,
    /// The message, for users.
    pub message: String,
}

/// One row of the audit log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditRow {
    /// The number of the row. Later rows have greater numbers.
    pub seq: u64,
    /// When the row was written, on the store's clock.
    pub at: Moment,
    /// The caller, the server, the instance and the tool.
    pub scope: Scope,
    /// The key, if any.
    pub key: Option<Key>,
    /// What happened: an event's name, `lapse`, `grant`, `revoke`, or the text of [`CallNote::event`].
    pub event: String,
    /// The change of the record, if the row is about one.
    pub change: Option<StateChange>,
    /// Why the outcome is unknown, if it is.
    pub reason: Option<UnknownReason>,
    /// The kind of the outcome, if any.
    pub outcome: Option<OutcomeKind>,
    /// The operator or reviewer that acted. For a start: the reviewer that approved it.
    pub by: Option<String>,
    /// The approval channel, for an approval, a denial, or a start that used an approval.
    pub via: Option<ApprovalChannel>,
    /// The reason for a denial, if given.
    pub why: Option<String>,
    /// What the server knows about the call.
    pub circumstances: AuditContext,
}

/// A change of state, as a row stores it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StateChange {
    /// The state before the change.
    pub from: StateKind,
    /// The state after the change.
    pub to: StateKind,
    /// The fence after the change.
    pub fence: Fence,
    /// The number of attempts after the change.
    pub attempt: u32,
}

/// A row for a call that has no record: it had no key, was refused, or only read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallNote {
    /// The caller, the server, the instance and the tool.
    pub scope: Scope,
    /// The key, if any.
    pub key: Option<Key>,
    /// What happened, in one word: `called`, `refused`.
    pub event: String,
    /// The kind of the outcome, if any.
    pub outcome: Option<OutcomeKind>,
    /// What the server knows about the call.
    pub circumstances: AuditContext,
}

impl AuditRow {
    pub(crate) fn of_transition(
        id: &RecordId,
        at: Moment,
        transition: Transition,
        circumstances: AuditContext,
    ) -> Self {
        let Transition { event, from, to, fence, attempt, reason, outcome, by, via, why } =
            transition;
        Self {
            seq: 0,
            at,
            scope: id.scope.clone(),
            key: Some(id.key.clone()),
            event: event.to_owned(),
            change: Some(StateChange { from, to, fence, attempt }),
            reason,
            outcome,
            by,
            via,
            why,
            circumstances,
        }
    }

    /// Returns the row for a note that was made at this time. It has no number yet.
    #[must_use]
    pub fn of_note(note: CallNote, at: Moment) -> Self {
        let CallNote { scope, key, event, outcome, circumstances } = note;
        Self {
            seq: 0,
            at,
            scope,
            key,
            event,
            change: None,
            reason: None,
            outcome,
            by: None,
            via: None,
            why: None,
            circumstances,
        }
    }

    /// Returns the row for a grant that was given or revoked.
    pub(crate) fn of_grant(event: &str, grant: &Grant, by: &str, at: Moment) -> Self {
        let note = CallNote {
            scope: grant.scope.clone(),
            key: None,
            event: event.to_owned(),
            outcome: None,
            circumstances: AuditContext {
                note: Some(format!("grant {}", grant.id).into()),
                ..AuditContext::default()
            },
        };
        Self { by: Some(by.to_owned()), ..Self::of_note(note, at) }
    }

    /// Returns the id of the record that the row's key names, if it has a key.
    #[must_use]
    pub fn record(&self) -> Option<RecordId> {
        let key = self.key.clone()?;
        Some(RecordId { scope: self.scope.clone(), key })
    }
}

/// A filter for rows or records.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Filter {
    /// The start of the time range: when a row was written, or when a record was last written.
    pub since: Option<Moment>,
    /// The end of the time range, exclusive.
    pub before: Option<Moment>,
    /// The principal.
    pub principal: Option<String>,
    /// The tool.
    pub tool: Option<String>,
    /// The state of a record, or the state that a row changed it to.
    pub state: Option<StateKind>,
    /// The key, in any scope.
    pub key: Option<String>,
}

/// The part of a long list to return.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Page {
    /// Where to begin: [`PageOf::next`] of the previous page.
    pub from: Option<u64>,
    /// The maximum number of items.
    pub most: usize,
    /// Newest or oldest first.
    pub order: Order,
}

impl Default for Page {
    fn default() -> Self {
        Self { from: None, most: 100, order: Order::Newest }
    }
}

/// The order of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Newest first.
    Newest,
    /// Oldest first.
    Oldest,
}

/// One page of a long list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageOf<T> {
    /// The items of the page.
    pub items: Vec<T>,
    /// Where the next page begins, if there is one.
    pub next: Option<u64>,
}

/// A record and its id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordEntry {
    /// The scope and the key.
    pub id: RecordId,
    /// The record as stored.
    pub stored: Record,
    /// The record as it is now, with what time alone has changed. `None` if it expired and is not swept yet.
    pub seen: Option<Record>,
}

impl RecordEntry {
    /// Returns a stored record as it is now.
    #[must_use]
    pub fn new(id: RecordId, stored: Record, now: Moment, limits: &LedgerLimits) -> Self {
        let seen = machine::seen(stored.clone(), now, limits);
        Self { id, stored, seen }
    }
}

impl Filter {
    /// Returns true if the filter selects an audit row.
    #[must_use]
    pub fn has_row(&self, row: &AuditRow) -> bool {
        self.has_scope(&row.scope, row.key.as_ref(), row.at)
            && self.state.is_none_or(|state| row.change.is_some_and(|change| change.to == state))
    }

    /// Returns true if the filter selects a record. It compares the current state, not the stored one.
    #[must_use]
    pub fn has_entry(&self, entry: &RecordEntry) -> bool {
        self.has_scope(&entry.id.scope, Some(&entry.id.key), entry.stored.touched)
            && self.has_seen(entry)
    }

    /// Returns true if the filter selects a grant. Ignores [`Filter::state`] and [`Filter::key`].
    #[must_use]
    pub fn has_grant(&self, grant: &Grant) -> bool {
        let any = Self { key: None, ..self.clone() };
        any.has_scope(&grant.scope, None, grant.since)
    }

    /// Returns true if [`Filter::state`] is the current state of a record. A store cannot compare it in its tables, because time
    /// changes the state without a write; see [`StateKind::stored_as`].
    #[must_use]
    pub fn has_seen(&self, entry: &RecordEntry) -> bool {
        let seen = entry.seen.as_ref().map_or(StateKind::Absent, |record| record.state.kind());
        self.state.is_none_or(|state| seen == state)
    }

    fn has_scope(&self, scope: &Scope, key: Option<&Key>, at: Moment) -> bool {
        self.since.is_none_or(|since| at >= since)
            && self.before.is_none_or(|before| at < before)
            && self.principal.as_ref().is_none_or(|principal| *principal == scope.principal)
            && self.tool.as_ref().is_none_or(|tool| *tool == scope.tool)
            && self.key.as_ref().is_none_or(|wanted| key.is_some_and(|key| key.as_str() == wanted))
    }
}
