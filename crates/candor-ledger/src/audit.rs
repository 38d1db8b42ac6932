//! What is written down of each change, and of calls that change nothing in the ledger.
//!
//! A row never holds the arguments: it has their shape and a digest under the server's secret. The error of a failed call is
//! stored in the words that its caller got.

use std::sync::Arc;
use std::time::Duration;

use crate::grant::Grant;
use crate::id::{Fence, Key, Moment, RecordId, Scope};
use crate::machine::Transition;
use crate::outcome::OutcomeKind;
use crate::record::{ApprovalChannel, Record, StateKind, UnknownReason};

/// What is known of a call outside the ledger. Written beside every transition that the call makes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AuditContext {
    /// The shape of the arguments: names and kinds, no values.
    pub shape: Option<Arc<str>>,
    /// A keyed digest of the arguments, so that equal calls can be found without their values.
    pub digest: Option<[u8; 32]>,
    /// What the call may do, in words.
    pub hints: Option<Arc<str>>,
    /// How long it took, when it ended.
    pub duration: Option<Duration>,
    /// Anything else that a reader should know, such as the name of the client.
    pub note: Option<Arc<str>>,
    /// The error with which it failed, beside [`Event::Complete`](crate::Event::Complete) and
    /// [`Event::Discard`](crate::Event::Discard).
    pub error: Option<CallError>,
    /// The arguments that the record stores for operators, beside [`Event::Ask`](crate::Event::Ask) and
    /// [`Event::Start`](crate::Event::Start). No audit row stores them. `None` leaves what the record has.
    pub arguments: Option<Arc<[u8]>>,
}

/// The error of a failed call, in the words that its caller got.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallError {
    /// The word for programs.
    pub code: String,
    /// The sentence for people.
    pub message: String,
}

/// One row of the audit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditRow {
    /// Its number. Later rows have greater ones.
    pub seq: u64,
    /// When, on the store's clock.
    pub at: Moment,
    /// Who called what, where.
    pub scope: Scope,
    /// Under which key, if any.
    pub key: Option<Key>,
    /// What happened: an event's name, `lapse`, `grant` or `revoke`, or what [`CallNote::event`] said.
    pub event: String,
    /// What it changed in the record, if there is one.
    pub change: Option<StateChange>,
    /// Why nobody knows what came of the call, if so.
    pub reason: Option<UnknownReason>,
    /// What sort of outcome it brought, if any.
    pub outcome: Option<OutcomeKind>,
    /// The person who did it, if one did; of a start, who has approved it.
    pub by: Option<String>,
    /// On which way that was said, if it was an approval or a denial.
    pub via: Option<ApprovalChannel>,
    /// Why it was denied, if they said so.
    pub why: Option<String>,
    /// What else is known.
    pub circumstances: AuditContext,
}

/// A change of state, as a row tells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StateChange {
    /// Where the record stood.
    pub from: StateKind,
    /// Where it stands.
    pub to: StateKind,
    /// The fence after it.
    pub fence: Fence,
    /// How often the call was started, after it.
    pub attempt: u32,
}

/// A row for a call that has no record: without a key, refused, or only read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallNote {
    /// Who called what, where.
    pub scope: Scope,
    /// Under which key, if it had one.
    pub key: Option<Key>,
    /// What happened, in a word: `called`, `refused`.
    pub event: String,
    /// What sort of outcome it had, if any.
    pub outcome: Option<OutcomeKind>,
    /// What else is known.
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

    /// The row of a note that was made then. It has no number yet.
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

    /// The row of a grant that was given, or taken back.
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

    /// The record that it is about.
    #[must_use]
    pub fn record(&self) -> Option<RecordId> {
        let key = self.key.clone()?;
        Some(RecordId { scope: self.scope.clone(), key })
    }
}

/// Which rows, or which records.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Filter {
    /// Not before: of a row when it was written, of a record when it was last written.
    pub since: Option<Moment>,
    /// Before.
    pub before: Option<Moment>,
    /// Of this caller.
    pub principal: Option<String>,
    /// Of this tool.
    pub tool: Option<String>,
    /// That stand there (records), or came to stand there (rows).
    pub state: Option<StateKind>,
    /// Under this key, in whatever scope.
    pub key: Option<String>,
}

/// Which part of a long list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Page {
    /// What [`PageOf::next`] of the part before said.
    pub from: Option<u64>,
    /// At most so many.
    pub most: usize,
    /// The latest first, or the earliest.
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
    /// The latest first.
    Newest,
    /// The earliest first.
    Oldest,
}

/// A part of a long list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageOf<T> {
    /// What is in it.
    pub items: Vec<T>,
    /// Where the next part begins, if there is one.
    pub next: Option<u64>,
}

/// A record with its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordEntry {
    /// Whose, of what, under which key.
    pub id: RecordId,
    /// As it is written.
    pub stored: Record,
    /// As it is, time having done its work since. `None`: its time is over, and it is only not swept yet.
    pub seen: Option<Record>,
}

impl Filter {
    pub(crate) fn has_row(&self, row: &AuditRow) -> bool {
        self.has_scope(&row.scope, row.key.as_ref(), row.at)
            && self.state.is_none_or(|state| row.change.is_some_and(|change| change.to == state))
    }

    pub(crate) fn has_entry(&self, entry: &RecordEntry) -> bool {
        self.has_scope(&entry.id.scope, Some(&entry.id.key), entry.stored.touched)
            && self.has_seen(entry)
    }

    pub(crate) fn has_grant(&self, grant: &Grant) -> bool {
        let any = Self { key: None, ..self.clone() };
        any.has_scope(&grant.scope, None, grant.since)
    }

    /// By where a record stands now, which a store cannot know from what it has written.
    pub(crate) fn has_seen(&self, entry: &RecordEntry) -> bool {
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
