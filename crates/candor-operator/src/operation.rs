//! One operation: its record, and what its audit rows add.

use std::time::Duration;

use candor_ledger::{
    AuditRow, Body, CallError, Filter, Moment, Order, OutcomeKind, Page, Record, RecordEntry,
    RecordId, RecordState, Scope, StartReason, StateKind, Store, StoreError, StoredResult,
    UnknownReason,
};
use serde_json::{Map, Value, json};

use crate::display::shown::json_shown;
use crate::display::{json as text, when};
use crate::effect::RecordedEffect;
use crate::hex::hex;
use crate::review::ReviewView;
use crate::row::{self, millis};
use crate::state::{self, StateWord, has_failed};

/// Number of digits that are shown of an ID.
const SHORT: usize = 8;

/// Maximum number of audit rows that are searched for the replays of one operation.
const MOST_REPLAYS: usize = 200;

/// An operation that has, or had, a record.
pub struct OperationView {
    /// Its caller, server, tool and key.
    pub id: RecordId,
    /// The current record. `None`: it is purged, and only its audit rows are left.
    pub record: Option<Record>,
    /// The start of its current state.
    pub since: Option<Moment>,
    /// Its audit rows, earliest first.
    pub story: Vec<AuditRow>,
}

impl OperationView {
    /// Returns the operation with its audit rows.
    ///
    /// # Errors
    /// The ledger cannot be read.
    pub async fn of(store: &dyn Store, entry: RecordEntry) -> Result<Self, StoreError> {
        let story = store.transitions(&entry.id).await?;
        Ok(Self::with(entry, story))
    }

    /// Returns the operation for a list. Reads its audit rows only if they tell its duration or its reviewer. If the ledger drops
    /// audit rows before records, a store searches all rows for them, which is too slow for each entry of a list.
    pub async fn brief(store: &dyn Store, entry: RecordEntry) -> Result<Self, StoreError> {
        use StateKind::{Completed, Dispatched, Open, Suspended, Waiting};
        match entry.seen.as_ref().map(|record| record.state.kind()) {
            Some(Completed | Dispatched | Open | Suspended | Waiting) => {
                Self::of(store, entry).await
            }
            _ => Ok(Self::with(entry, Vec::new())),
        }
    }

    /// Adds its latest replays to its audit rows, so that one page shows whether it ran twice. Replays do not change the record, so
    /// this searches all audit rows: use it for a single operation, not for a list.
    ///
    /// # Errors
    /// The ledger cannot be read.
    pub async fn with_replays(mut self, store: &dyn Store) -> Result<Self, StoreError> {
        let filter = Filter {
            principal: Some(self.id.scope.principal.clone()),
            tool: Some(self.id.scope.tool.clone()),
            key: Some(self.id.key.as_str().to_owned()),
            ..Filter::default()
        };
        let page = Page { most: MOST_REPLAYS, order: Order::Newest, ..Page::default() };
        let rows = store.rows(filter, page).await?.items.into_iter();
        self.story.extend(rows.filter(|row| row.event == "replayed" && row.scope == self.id.scope));
        self.story.sort_by_key(|row| row.seq);
        Ok(self)
    }

    fn with(entry: RecordEntry, story: Vec<AuditRow>) -> Self {
        let RecordEntry { id, stored, seen } = entry;
        let since = seen.as_ref().and_then(|seen| match &seen.state {
            RecordState::Dispatched { started: since, .. }
            | RecordState::Completed { completed: since, .. }
            | RecordState::Indeterminate { since, .. }
            | RecordState::Waiting { since, .. }
            | RecordState::Approved { since, .. }
            | RecordState::Denied { since, .. } => Some(*since),
            // Its owner writes to the record repeatedly.
            RecordState::Claimed { .. } => None,
            state if state.kind() == stored.state.kind() => Some(stored.touched),
            // Time alone brought it into this state.
            _ => stored.state.lapses(),
        });
        Self { id, record: seen, since, story }
    }

    /// Returns the stored state; `None` if the record is purged.
    pub fn state(&self) -> Option<&RecordState> {
        self.record.as_ref().map(|record| &record.state)
    }

    /// Returns the state as users see it.
    pub fn state_word(&self) -> StateWord {
        StateWord::of(self.record.as_ref())
    }

    /// Returns the label of its state.
    pub fn label(&self) -> &'static str {
        self.state_word().label()
    }

    /// Returns all digits of its ID. The first few are enough to name it.
    pub fn digits(&self) -> String {
        self.id.digest().to_string()
    }

    /// Returns the digits of its ID that users see.
    pub fn short(&self) -> String {
        short_id(&self.id)
    }

    /// Returns when its key was first seen, if that is known.
    pub fn created(&self) -> Option<Moment> {
        let first = || self.story.first().map(|row| row.at);
        self.record.as_ref().map(|record| record.created).or_else(first)
    }

    /// Returns how long it took, or has been running.
    pub fn took(&self, now: Moment) -> Option<Duration> {
        if let Some(RecordState::Dispatched { started, .. }) = self.state() {
            return Some(started.until(now));
        }
        // A later resolution does not tell how long it took.
        let ended = self.story.iter().rposition(|row| row.event == "complete")?;
        let started = self.story[..ended]
            .iter()
            .rev()
            .find(|row| matches!(row.event.as_str(), "start" | "dispatch"));
        let row = &self.story[ended];
        row.circumstances.duration.or_else(|| Some(started?.at.until(row.at)))
    }

    /// Returns the operator or reviewer who brought it into its current state, if one did.
    pub fn by(&self) -> Option<&str> {
        match self.state()? {
            RecordState::Completed { resolved_by, .. } => resolved_by.as_deref(),
            RecordState::Approved { by, .. }
            | RecordState::Denied { by, .. }
            | RecordState::Abandoned { by, .. }
            | RecordState::Open { license: StartReason::Operator { by, .. }, .. } => Some(by),
            _ => None,
        }
    }

    /// Returns its result, or the questions that it asked.
    pub fn outcome(&self) -> Option<&StoredResult> {
        match self.state()? {
            RecordState::Completed { outcome, .. } => Some(outcome),
            RecordState::Suspended { asked, .. } => Some(asked),
            _ => None,
        }
    }

    /// Returns what the latest audit row that knows it tells.
    pub fn told<'a, T>(&'a self, tell: impl Fn(&'a AuditRow) -> Option<T>) -> Option<T> {
        self.story.iter().rev().find_map(tell)
    }

    /// Returns the effect of its last call, if an audit row has it.
    pub fn effect(&self) -> Option<RecordedEffect> {
        self.told(RecordedEffect::of_row)
    }

    /// Returns the error with which its last attempt failed.
    pub fn error(&self) -> Option<&CallError> {
        match &self.record {
            Some(record) => match &record.state {
                RecordState::Completed { outcome, .. } if outcome.kind == OutcomeKind::Success => {
                    None
                }
                RecordState::Dispatched { .. }
                | RecordState::Suspended { .. }
                | RecordState::Indeterminate { .. } => None,
                _ => record.error.as_ref(),
            },
            None => {
                let ended = |row: &&AuditRow| {
                    let word = row.event.as_str();
                    matches!(word, "start" | "complete" | "discard" | "unknown" | "resolve")
                };
                self.story.iter().rev().find(ended)?.circumstances.error.as_ref()
            }
        }
    }

    /// Returns its last review.
    pub fn review(&self) -> Option<ReviewView> {
        let given = self.state().and_then(ReviewView::of_state);
        given.or_else(|| self.told(ReviewView::of_row))
    }

    /// Returns its arguments as JSON, with secrets redacted, if they are stored.
    pub fn arguments(&self) -> Option<&str> {
        self.record.as_ref()?.arguments.as_deref().and_then(text::text)
    }

    /// Returns when time alone changes its state, or when its caller may ask again.
    pub fn until(&self) -> Option<Moment> {
        match self.state()? {
            RecordState::Denied { until, .. } => Some(*until),
            state => state.lapses(),
        }
    }

    /// Returns why its outcome is unknown.
    pub fn reason(&self) -> Option<UnknownReason> {
        match self.state()? {
            RecordState::Indeterminate { reason, .. } => Some(*reason),
            _ => None,
        }
    }

    /// Returns the operation for programs. All members are always present.
    pub fn json(&self, now: Moment) -> Map<String, Value> {
        let Scope { principal, server, instance, tool } = &self.id.scope;
        let record = self.record.as_ref();
        let ended = match self.state() {
            Some(RecordState::Completed { outcome, .. }) => Some(outcome.kind),
            _ => record.filter(|record| has_failed(record)).map(|_| OutcomeKind::Failure),
        };
        let members = json!({
            "id": self.digits(),
            "principal": principal,
            "server": server,
            "instance": instance,
            "tool": tool,
            "key": self.id.key.as_str(),
            "state": self.state_word().as_str(),
            "outcome": ended.map(state::outcome),
            "error": self.error().map(row::error_json),
            "review": self.review().as_ref().map(ReviewView::json),
            "unknownReason": self.reason().map(UnknownReason::as_str),
            "by": self.by(),
            "attempts": record.map(|record| record.attempt),
            "idempotent": record.map(|record| record.idempotent),
            "created": self.created().and_then(when::exact),
            "changed": record.and_then(|record| when::exact(record.touched)),
            "since": self.since.and_then(when::exact),
            "until": self.until().and_then(when::exact),
            "durationMs": self.took(now).map(millis),
        });
        match members {
            Value::Object(members) => members,
            _ => Map::new(),
        }
    }

    /// Returns the operation on one line, with its timeline, its arguments and its result. The last two are as stored: digit for
    /// digit.
    pub fn full_json(&self, now: Moment) -> String {
        let mut members = self.json(now);
        let record = self.record.as_ref();
        let mut add = |name: &str, value: Value| members.insert(name.to_owned(), value);
        add("fence", record.map(|record| record.fence.0).into());
        add("fingerprint", record.map(|record| record.fingerprint.to_string()).into());
        add("argumentTypes", self.told(|row| row.circumstances.shape.as_deref()).into());
        add("hints", self.effect().map(|effect| effect.summary().into_owned()).into());
        add("timeline", self.story.iter().map(row::json).collect());
        let (bytes, digest, result) = match self.outcome().map(|outcome| &outcome.body) {
            None => (None, None, None),
            Some(Body::Omitted { len, digest }) => (Some(*len), Some(hex(digest)), None),
            Some(Body::Kept(bytes)) => {
                let json = text::text(bytes).map(text::compact);
                // Bytes that are not JSON become a JSON string, as well as possible.
                let lossy = || json_shown(&json!(String::from_utf8_lossy(bytes)).to_string());
                (Some(bytes.len() as u64), None, Some(json.unwrap_or_else(lossy)))
            }
        };
        add("resultBytes", bytes.into());
        add("omittedDigest", digest.into());
        let members = json_shown(&Value::Object(members).to_string());
        let members = members.strip_suffix('}').unwrap_or(&members);
        let arguments = self.arguments().map(text::compact);
        let [arguments, result] =
            [&arguments, &result].map(|json| json.as_deref().unwrap_or("null"));
        format!("{members},\"arguments\":{arguments},\"result\":{result}}}")
    }
}

/// Returns the digits of an ID that users see.
pub fn short_id(id: &RecordId) -> String {
    id.digest().to_string()[..SHORT].to_owned()
}
