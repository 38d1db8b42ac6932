//! Approval requests, as the ledger stores them, and the decision on one.

use std::sync::Arc;

use candor_ledger::{
    ApprovalChannel, AuditContext, Event, EventError, EventReply, Filter, Moment, Order, Page,
    RecordEntry, RecordId, RecordState, RequestVersion, Review, Scope, StateKind, Store,
    StoreError,
};
use serde_json::json;

use crate::details::RequestDetails;
use crate::display::shown::json_shown;
use crate::display::{json as text, when};
use crate::error::OperatorError;
use crate::find::find_operation;
use crate::operation::short_id;
use crate::state;

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
        short_id(&self.id)
    }

    /// Returns the details of the request; `None` if an unknown program wrote it.
    pub fn details(&self) -> Option<RequestDetails> {
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

/// All pending requests, oldest first, at most `AT_ONCE` of them in memory.
pub struct PendingRequests<'a> {
    store: &'a dyn Store,
    ready: std::vec::IntoIter<RecordEntry>,
    next: Option<Page>,
}

impl<'a> PendingRequests<'a> {
    /// Starts with the oldest request.
    pub fn new(store: &'a dyn Store) -> Self {
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

/// Returns the pending request that an operator names: by the first digits of its ID, or by its key.
///
/// # Errors
/// No operation matches, several do, or the one that matches has no pending request.
pub async fn find_request(store: &dyn Store, name: &str) -> Result<ApprovalRequest, OperatorError> {
    let operation = find_operation(store, name).await?;
    let entry = store.find(&operation.id).await?;
    entry.and_then(ApprovalRequest::of).ok_or_else(|| OperatorError::NotPending {
        id: operation.short(),
        state: operation.label(),
    })
}

/// Approves or denies exactly the request that was shown. `through` names where the decision was made: a command, a page.
///
/// # Errors
/// Another reviewer was faster, or the request changed or ended. Then nothing was recorded.
pub async fn decide(
    store: &dyn Store,
    request: &ApprovalRequest,
    by: &str,
    decision: Review,
    through: &str,
) -> Result<(), OperatorError> {
    let event = Event::Decide {
        question: request.question,
        by: by.to_owned(),
        via: ApprovalChannel::Operator,
        decision,
    };
    let note = AuditContext { note: Some(through.into()), ..Default::default() };
    let id = request.short();
    Err(match store.apply(&request.id, event, note).await? {
        EventReply::Done => return Ok(()),
        EventReply::Refused(EventError::AskedAnew) => OperatorError::RequestChanged { id },
        EventReply::Refused(EventError::Decided { by, via, stands }) => {
            let is_approval = stands != StateKind::Denied;
            OperatorError::AlreadyDecided { id, by, via, is_approval }
        }
        EventReply::Refused(EventError::NotWaiting(kind)) => {
            OperatorError::RequestEnded { id, state: state::label(kind) }
        }
        other => OperatorError::UnexpectedReply(Box::new(other)),
    })
}
