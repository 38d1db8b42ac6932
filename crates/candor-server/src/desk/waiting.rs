//! Approval requests, as the ledger stores them.

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

/// Maximum number of requests that are read at once. Each may have a megabyte.
const AT_ONCE: usize = 50;

/// A pending approval request.
pub struct ApprovalRequest {
    /// Its caller, server, tool and key.
    pub id: RecordId,
    /// The version of the request, which a decision has to name.
    pub question: RequestVersion,
    /// When the server requested approval.
    pub since: Moment,
    /// When the request expires.
    pub until: Moment,
    bytes: Arc<[u8]>,
}

impl ApprovalRequest {
    /// Returns the pending request of a record; `None` if there is none.
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

    /// Returns the digits of its ID that users see.
    pub fn short(&self) -> String {
        short(&self.id)
    }

    /// Returns the details of the request; `None` if an unknown program wrote it.
    pub fn asked(&self) -> Option<RequestDetails> {
        RequestDetails::read(&self.bytes)
    }

    /// Returns the request as stored, whatever it is.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the request for programs, on one line. The details are last, as stored: digit for digit.
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

/// What the reviewer sees of a request.
pub struct RequestDetails {
    /// The arguments as JSON, digit for digit.
    pub arguments: Box<RawValue>,
    /// The names of the arguments that are or contain secrets. Their values in `arguments` are redacted.
    pub secrets: Vec<String>,
    /// The call's effect, in words.
    pub effect: String,
    /// Whether the call may delete. True unless the server's hints rule it out.
    pub destroys: bool,
    /// The tool's title, in the author's words.
    pub title: Option<String>,
    /// The tool's description, in the author's words.
    pub description: Option<String>,
    /// The text of the tool's preview.
    pub preview: Option<String>,
    /// The client's name, as the client reports it.
    pub client: Option<String>,
    /// Whether the call can be undone, and with which tool. `None`: unknown.
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

/// All pending requests, oldest first, at most `AT_ONCE` of them in memory.
pub struct All<'a> {
    store: &'a dyn Store,
    ready: std::vec::IntoIter<RecordEntry>,
    next: Option<Page>,
}

impl<'a> All<'a> {
    /// Starts with the oldest request.
    pub fn of(store: &'a dyn Store) -> Self {
        let first = Page { from: None, most: AT_ONCE, order: Order::Oldest };
        Self { store, ready: Vec::new().into_iter(), next: Some(first) }
    }

    /// Returns the next request.
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

/// Returns the request that an operator names, if it is pending.
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
