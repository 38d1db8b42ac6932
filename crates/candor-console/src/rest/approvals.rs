//! Approval requests, decisions on them, and grants.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::response::Response;
use bytes::Bytes;
use candor_operator::{
    ApprovalRequest, GrantDraft, OperatorError, RequestDetails, find_request, grant_json, when,
};
use candor_server::store::{Grant, PendingApproval, Review, Store, StoreError};
use futures_util::future::try_join_all;
use futures_util::stream;
use http::{HeaderName, StatusCode};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tokio::sync::Mutex;

use super::listening::ListenerSlot;
use super::sse::{event, respond};
use super::{RequestBody, json as answer_json, operator_refused, store};
use crate::Inner;
use crate::problem::Problem;
use crate::request::ConsoleRequest;

/// Maximum number of requests on a page and in a list. The ledger picks them from each caller in turn. So a caller is left out only
/// if there are more callers than this, not because a few callers have many requests.
pub(crate) const MOST: usize = 200;

/// Number of requests to fetch at once, because a ledger may be remote.
const AT_ONCE: usize = 16;

/// The header with the number of all pending requests. A list may have fewer.
const TOTAL: HeaderName = HeaderName::from_static("x-total-count");

/// How often a listener looks for a change.
const LOOK: Duration = Duration::from_millis(600);

/// Where a decision was made, for the audit log.
const THROUGH: &str = "console";

/// Returns the version of a request. A decision must name exactly the version that the reviewer saw.
pub(crate) fn version(waiting: &ApprovalRequest) -> String {
    let asked = &waiting.question;
    format!("{}.{}.{}", asked.fence.0, asked.fingerprint, asked.binding)
}

/// Returns an approval request with its version, as JSON.
fn item(waiting: &ApprovalRequest) -> String {
    let json = waiting.json();
    let members = json.strip_prefix('{').unwrap_or(&json);
    format!("{{\"version\":{},{members}", Value::from(version(waiting)))
}

/// The pending requests, up to [`MOST`].
pub(crate) struct PendingList {
    /// The oldest first.
    pub(crate) waiting: Vec<ApprovalRequest>,
    /// The number of all pending requests, including these.
    pub(crate) in_all: u64,
}

impl PendingList {
    pub(crate) async fn of(store: &dyn Store) -> Result<Self, StoreError> {
        let turns = store.pending_approvals(MOST).await?;
        let others = turns.in_all.saturating_sub(turns.chosen.len() as u64);
        let mut waiting = Vec::new();
        for some in turns.chosen.chunks(AT_ONCE) {
            let found: Vec<_> = some.iter().map(|waits| store.find(&waits.id)).collect();
            // Some may have been decided since the ledger picked them.
            let found = try_join_all(found).await?.into_iter().flatten();
            waiting.extend(found.filter_map(ApprovalRequest::of));
        }
        let in_all = waiting.len() as u64 + others;
        Ok(Self { waiting, in_all })
    }
}

pub(crate) async fn list(console: &Arc<Inner>, _: &ConsoleRequest) -> Result<Response, Problem> {
    let shown =
        PendingList::of(store(console)?).await.map_err(|error| operator_refused(error.into()))?;
    let items: Vec<_> = shown.waiting.iter().map(item).collect();
    let mut response = answer_json(format!("[{}]", items.join(",")));
    response.headers_mut().insert(TOTAL, shown.in_all.into());
    Ok(response)
}

pub(crate) async fn one(
    console: &Arc<Inner>,
    _: &ConsoleRequest,
    id: &str,
) -> Result<Response, Problem> {
    let waiting = find_request(store(console)?, id).await.map_err(operator_refused)?;
    Ok(answer_json(item(&waiting)))
}

/// A reviewer's decision, as the last segment of the path says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReviewVerb {
    Approve,
    Deny,
}

/// Decides a request by `{"version": "…"}`. An approval may have
/// `"grant": {"minutes": 15, "any": ["why"], "under": {"path": "notes"}}`, a denial `"reason"`.
pub(crate) async fn decide(
    console: &Arc<Inner>,
    asked: &ConsoleRequest,
    id: &str,
    decided: ReviewVerb,
) -> Result<Response, Problem> {
    let store = store(console)?;
    let sent = RequestBody::read(console, asked)?;
    sent.only(match decided {
        ReviewVerb::Approve => &["version", "grant"],
        ReviewVerb::Deny => &["version", "reason"],
    })?;
    let shown = sent.text("version")?.ok_or_else(|| {
        Problem::bad_request("Send `version`: the version of the request, as the list has it")
    })?;
    let waiting = find_request(store, id).await.map_err(operator_refused)?;
    if version(&waiting) != shown {
        return Err(operator_refused(OperatorError::RequestChanged { id: waiting.short() }));
    }
    let by = asked.visitor.principal.as_str();
    let mut permission = None;
    let decision = match decided {
        ReviewVerb::Deny => {
            let reason = sent.text("reason")?.filter(|reason| !reason.trim().is_empty());
            Review::Deny { reason: reason.map(str::to_owned) }
        }
        ReviewVerb::Approve => {
            let Some(content) = waiting.details() else {
                return Err(operator_refused(OperatorError::RequestUnreadable));
            };
            if let Some(wanted) = sent.member("grant") {
                permission = Some(permitted(wanted, &content)?);
            }
            Review::Approve
        }
    };
    candor_operator::decide(store, &waiting, by, decision, THROUGH)
        .await
        .map_err(operator_refused)?;
    let mut grant = None;
    if let Some(permission) = permission {
        grant = Some(permission.give(store, &waiting, by).await.map_err(operator_refused)?);
    }
    let word = match decided {
        ReviewVerb::Approve => "approved",
        ReviewVerb::Deny => "denied",
    };
    let said = json!({
        "id": waiting.id.digest().to_string(),
        "decision": word,
        "by": by,
        "grant": grant.as_ref().map(|grant| grant_json(grant, when::now())),
    });
    Ok(answer_json(said.to_string()))
}

/// Reads the grant that goes with an approval.
fn permitted(wanted: &Value, asked: &RequestDetails) -> Result<GrantDraft, Problem> {
    let wrong = |what: &str| {
        Problem::bad_request(format!(
            "`grant` is {{\"minutes\": NUMBER, \"any\": [NAMES], \"under\": {{NAME: FOLDER}}}}: {what}"
        ))
    };
    let Some(members) = wanted.as_object() else { return Err(wrong("it is an object")) };
    if let Some(other) =
        members.keys().find(|name| !["minutes", "any", "under"].contains(&name.as_str()))
    {
        return Err(wrong(&format!("it has no {other:?}")));
    }
    let minutes = wanted["minutes"].as_u64().filter(|minutes| (1..=7 * 24 * 60).contains(minutes));
    let minutes = minutes.ok_or_else(|| wrong("minutes are between 1 and 10080"))?;
    let any: Option<Vec<&str>> = match &wanted["any"] {
        Value::Null => Some(Vec::new()),
        Value::Array(names) => names.iter().map(Value::as_str).collect(),
        _ => None,
    };
    let any = any.ok_or_else(|| wrong("any is a list of names"))?;
    let under: Option<Vec<(&str, &str)>> = match &wanted["under"] {
        Value::Null => Some(Vec::new()),
        Value::Object(folders) => {
            folders.iter().map(|(name, at)| Some((name.as_str(), at.as_str()?))).collect()
        }
        _ => None,
    };
    let under = under.ok_or_else(|| wrong("under is an object of folders"))?;
    let lasts = Duration::from_secs(minutes * 60);
    GrantDraft::like(asked, &any, &under, lasts).map_err(|problem| wrong(&problem.to_string()))
}

/// Returns the active grants, the latest first.
pub(crate) async fn in_force(store: &dyn Store) -> Result<Vec<Grant>, Problem> {
    let now = when::now();
    let mut grants = candor_operator::grants(store).await.map_err(operator_refused)?;
    grants.retain(|grant| grant.binding.is_some() && grant.is_in_force(now));
    Ok(grants)
}

pub(crate) async fn grants(console: &Arc<Inner>, _: &ConsoleRequest) -> Result<Response, Problem> {
    let (grants, now) = (in_force(store(console)?).await?, when::now());
    let members = grants.iter().map(|grant| grant_json(grant, now));
    Ok(answer_json(members.collect::<Value>().to_string()))
}

pub(crate) async fn revoke(
    console: &Arc<Inner>,
    asked: &ConsoleRequest,
    id: &str,
) -> Result<Response, Problem> {
    let store = store(console)?;
    let unknown = || Problem::new(StatusCode::NOT_FOUND, "not_found", "No grant has this id");
    let grants = candor_operator::grants(store).await.map_err(operator_refused)?;
    let grant = grants.iter().find(|grant| grant.id.to_string() == id).ok_or_else(unknown)?;
    let by = asked.visitor.principal.as_str().to_owned();
    let grant = store.revoke(grant.id, by).await.map_err(|error| operator_refused(error.into()))?;
    let grant = grant.ok_or_else(unknown)?;
    Ok(answer_json(grant_json(&grant, when::now()).to_string()))
}

/// Streams the number of pending requests whenever it changes. The client fetches the requests themselves.
pub(crate) fn events(console: &Arc<Inner>, _: &ConsoleRequest) -> Result<Response, Problem> {
    store(console)?;
    let listener =
        Listener { _place: ListenerSlot::begin()?, console: Arc::clone(console), last: None };
    let said = stream::unfold(listener, |mut listener| async move {
        let text = listener.next().await?;
        Some((text, listener))
    });
    Ok(respond(said, console.limits.keep_alive))
}

/// A client that waits for changes of the number of pending requests.
struct Listener {
    _place: ListenerSlot,
    console: Arc<Inner>,
    /// The last message to the client.
    last: Option<String>,
}

impl Listener {
    /// Returns the next event, or `None` once the server stops.
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            if self.console.is_closing() {
                return None;
            }
            let said = self.look().await;
            if let Some(said) = said.filter(|said| self.last.as_ref() != Some(said)) {
                return Some(event("waiting", self.last.insert(said)));
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Returns the current message, or `None` if the ledger does not respond.
    async fn look(&self) -> Option<String> {
        let console = Arc::clone(&self.console);
        // A separate task: a client that does not read stops this future, and must not keep the lock that all listeners share.
        let look = tokio::spawn(async move { console.seen.look(store(&console).ok()?).await });
        look.await.ok()?
    }
}

/// The last count and its time. The ledger scans all requests for it, so all listeners share one.
#[derive(Default)]
pub(crate) struct PendingCount(Mutex<Option<(Instant, Option<String>)>>);

impl PendingCount {
    async fn look(&self, store: &dyn Store) -> Option<String> {
        let mut seen = self.0.lock().await;
        match &*seen {
            Some((at, said)) if at.elapsed() < LOOK => said.clone(),
            _ => {
                let said = looked(store).await;
                seen.insert((Instant::now(), said)).1.clone()
            }
        }
    }
}

/// Returns the number of pending requests, and a tag that changes if other requests are shown.
async fn looked(store: &dyn Store) -> Option<String> {
    let turns = store.pending_approvals(MOST).await.ok()?;
    let mut hash = Sha256::new();
    for PendingApproval { id, fence, until } in &turns.chosen {
        hash.update(id.digest().0);
        hash.update(fence.0.to_be_bytes());
        // A record that was purged and recreated starts with the same fence.
        hash.update(until.0.to_be_bytes());
    }
    let tag: String = hash.finalize()[..8].iter().map(|byte| format!("{byte:02x}")).collect();
    Some(json!({"waiting": turns.in_all, "tag": tag}).to_string())
}
