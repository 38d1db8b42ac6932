//! A call that waits for a person, as the ledger keeps it.

use std::collections::HashMap;
use std::sync::Arc;

use candor_ledger::{
    Filter, Moment, Order, Page, RecordEntry, RecordId, RecordState, RequestVersion, Scope, Store,
    StoreError,
};
use candor_protocol::Undo;
use candor_protocol::json::RawValue;
use serde_json::{Value, json};

use super::OperatorError;
use super::find::find;
use super::operation::short;
use super::shown::json_shown;
use super::{json as text, when};

/// So many are read at once. Each may bring a megabyte.
const AT_ONCE: usize = 50;

/// A call that waits for a person.
pub struct ApprovalRequest {
    /// Who called what, under which key.
    pub id: RecordId,
    /// What a decision has to name.
    pub question: RequestVersion,
    /// Since when it waits.
    pub since: Moment,
    /// How long a decision is waited for.
    pub until: Moment,
    bytes: Arc<[u8]>,
}

impl ApprovalRequest {
    /// `None`: it does not wait.
    pub fn of(entry: RecordEntry) -> Option<Self> {
        let record = entry.seen?;
        let question = record.question()?;
        match record.state {
            RecordState::Waiting { asked, since, until, .. } => {
                Some(Self { id: entry.id, question, since, until, bytes: asked })
            }
            _ => None,
        }
    }

    /// Enough digits for people.
    pub fn short(&self) -> String {
        short(&self.id)
    }

    /// `None`: it was written by a program that we do not know.
    pub fn asked(&self) -> Option<RequestDetails> {
        RequestDetails::read(&self.bytes)
    }

    /// What is stored, whatever it is.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// For programs, on one line. The request is last, as it is stored: digit for digit.
    pub fn json(&self) -> String {
        let Scope { principal, server, instance, tool } = &self.id.scope;
        let RequestVersion { fence, fingerprint, binding } = &self.question;
        let members = json!({
            "id": self.id.digest().to_string(),
            "principal": principal,
            "server": server,
            "instance": instance,
            "tool": tool,
            "key": self.id.key.as_str(),
            "requestedAt": when::exact(self.since),
            "expiresAt": when::exact(self.until),
            "fence": fence.0,
            "fingerprint": fingerprint.to_string(),
            "binding": binding.to_string(),
        });
        let members = json_shown(&members.to_string());
        let members = members.strip_suffix('}').unwrap_or(&members);
        let lossy = || json_shown(&json!(String::from_utf8_lossy(&self.bytes)).to_string());
        let asked = text::text(&self.bytes).map_or_else(lossy, text::compact);
        format!("{members},\"request\":{asked}}}")
    }
}

/// What a person is told of it by the server that asks.
pub struct RequestDetails {
    /// JSON, digit for digit.
    pub arguments: Box<RawValue>,
    /// The names of the arguments that are secrets, or have some in them: they stand in `arguments` as something else than what was sent.
    pub secrets: Vec<String>,
    /// What the call does, in words.
    pub effect: String,
    /// Whether it must be said that it may delete. Yes, unless the server says no.
    pub destroys: bool,
    /// The words of the tool's author.
    pub title: Option<String>,
    /// The words of the tool's author.
    pub description: Option<String>,
    /// What the tool's preview shows.
    pub preview: Option<String>,
    /// As it calls itself.
    pub client: Option<String>,
    /// Whether the call can be undone, and with which tool. `None`: the server does not say.
    pub undo: Option<Undo>,
}

impl RequestDetails {
    fn read(bytes: &[u8]) -> Option<Self> {
        let mut members: HashMap<String, Box<RawValue>> = serde_json::from_slice(bytes).ok()?;
        let arguments = members.remove("arguments")?;
        let value = |name: &str| -> Option<Value> {
            members.get(name).and_then(|value| serde_json::from_str(value.get()).ok())
        };
        let told = |name: &str| value(name).and_then(|value| value.as_str().map(str::to_owned));
        let named = |name: &str| -> Vec<String> {
            value(name).and_then(|names| serde_json::from_value(names).ok()).unwrap_or_default()
        };
        Some(Self {
            arguments,
            secrets: named("secrets"),
            effect: told("effect")?,
            destroys: value("annotations").is_none_or(|hints| hints["destructiveHint"] != false),
            title: told("title"),
            description: told("description"),
            preview: told("preview"),
            client: told("client"),
            undo: value("undo").as_ref().and_then(Undo::read),
        })
    }
}

/// All that waits, the oldest first, at most `AT_ONCE` of them in memory.
pub struct All<'a> {
    store: &'a dyn Store,
    ready: std::vec::IntoIter<RecordEntry>,
    next: Option<Page>,
}

impl<'a> All<'a> {
    /// From the beginning.
    pub fn of(store: &'a dyn Store) -> Self {
        let first = Page { from: None, most: AT_ONCE, order: Order::Oldest };
        Self { store, ready: Vec::new().into_iter(), next: Some(first) }
    }

    /// The next one.
    ///
    /// # Errors
    /// The ledger cannot be read.
    pub async fn next(&mut self) -> Result<Option<ApprovalRequest>, StoreError> {
        loop {
            if let Some(waiting) = self.ready.find_map(ApprovalRequest::of) {
                return Ok(Some(waiting));
            }
            let Some(page) = self.next else { return Ok(None) };
            let paged = self.store.waiting(Filter::default(), page).await?;
            self.ready = paged.items.into_iter();
            self.next = paged.next.map(|next| Page { from: Some(next), ..page });
        }
    }
}

/// The one that a person means, if it waits.
pub async fn wanted(store: &dyn Store, name: &str) -> Result<ApprovalRequest, OperatorError> {
    let operation = find(store, name).await?;
    let (id, words) = (operation.short(), operation.words());
    let entry = store.find(&operation.id).await?;
    entry.and_then(ApprovalRequest::of).ok_or_else(|| {
        OperatorError::Refused(format!(
            "{id} is not an approval request. State: {words}. See: candor history show {id}"
        ))
    })
}
