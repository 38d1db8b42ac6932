//! What waits for a person, what a person says, and what they have permitted for a while.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::response::Response;
use bytes::Bytes;
use candor_server::desk::waiting::{self, Waiting};
use candor_server::desk::{self, Permission, permission, when};
use candor_server::store::{Decision, Filter, Grant, Order, Page, Store};
use futures_util::stream;
use http::StatusCode;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tokio::sync::Mutex;

use super::listening::Listening;
use super::sse::{event, respond};
use super::{Sent, json as answer_json, refused, store};
use crate::Inner;
use crate::problem::Problem;
use crate::route::Decided;
use crate::serve::Asked;

/// As much as a page shows, and a list has: the oldest, which are the next to be decided.
pub(crate) const MOST: usize = 200;

/// How often somebody who listens is looked after.
const LOOK: Duration = Duration::from_millis(600);

/// Where a decision was made, in the audit.
const THROUGH: &str = "console";

/// Which question it is: a decision must be on exactly the one that was shown.
pub(crate) fn question(waiting: &Waiting) -> String {
    let asked = &waiting.question;
    format!("{}.{}.{}", asked.fence.0, asked.fingerprint, asked.binding)
}

/// A call that waits, with the name of its question.
fn item(waiting: &Waiting) -> String {
    let json = waiting.json();
    let members = json.strip_prefix('{').unwrap_or(&json);
    format!("{{\"question\":{},{members}", Value::from(question(waiting)))
}

/// All that waits, the oldest first.
pub(crate) async fn waiting(store: &dyn Store) -> Result<Vec<Waiting>, Problem> {
    let page = Page { from: None, most: MOST, order: Order::Oldest };
    let paged =
        store.waiting(Filter::default(), page).await.map_err(|error| refused(error.into()))?;
    Ok(paged.items.into_iter().filter_map(Waiting::of).collect())
}

pub(crate) async fn list(console: &Arc<Inner>, _: &Asked) -> Result<Response, Problem> {
    let items: Vec<_> = waiting(store(console)?).await?.iter().map(item).collect();
    Ok(answer_json(format!("[{}]", items.join(","))))
}

pub(crate) async fn one(console: &Arc<Inner>, _: &Asked, id: &str) -> Result<Response, Problem> {
    let waiting = waiting::wanted(store(console)?, id).await.map_err(refused)?;
    Ok(answer_json(item(&waiting)))
}

/// `{"question": "…"}`, and to permit more than this call `"for": {"minutes": 15, "any": ["why"], "under": {"path": "notes"}}`; or
/// `"reason"` with a no.
pub(crate) async fn decide(
    console: &Arc<Inner>,
    asked: &Asked,
    id: &str,
    decided: Decided,
) -> Result<Response, Problem> {
    let store = store(console)?;
    let sent = Sent::read(console, asked)?;
    sent.only(match decided {
        Decided::Approve => &["question", "for"],
        Decided::Deny => &["question", "reason"],
    })?;
    let shown = sent.text("question")?.ok_or_else(|| {
        Problem::bad_request(
            "Name the question that was decided: its member `question`, as the list has it",
        )
    })?;
    let waiting = waiting::wanted(store, id).await.map_err(refused)?;
    if question(&waiting) != shown {
        return Err(Problem::new(
            StatusCode::CONFLICT,
            "asked_anew",
            "Nothing was decided: something else is asked by now than what was shown. Look again",
        ));
    }
    let by = asked.visitor.principal.as_str();
    let mut permission = None;
    let decision = match decided {
        Decided::Deny => {
            let reason = sent.text("reason")?.filter(|reason| !reason.trim().is_empty());
            Decision::Deny { reason: reason.map(str::to_owned) }
        }
        Decided::Approve => {
            let Some(content) = waiting.asked() else {
                return Err(Problem::new(
                    StatusCode::CONFLICT,
                    "not_readable",
                    "Nothing was decided: what is asked cannot be read here, and nobody should approve what they have not seen",
                ));
            };
            if let Some(wanted) = sent.member("for") {
                permission = Some(permitted(wanted, &content)?);
            }
            Decision::Approve
        }
    };
    desk::decide(store, &waiting, by, decision, THROUGH).await.map_err(refused)?;
    let mut grant = None;
    if let Some(permission) = permission {
        grant = Some(permission.give(store, &waiting, by).await.map_err(refused)?);
    }
    let word = match decided {
        Decided::Approve => "approved",
        Decided::Deny => "denied",
    };
    let said = json!({
        "id": waiting.id.digest().to_string(),
        "decision": word,
        "by": by,
        "rule": grant.as_ref().map(|grant| permission::members(grant, when::now())),
    });
    Ok(answer_json(said.to_string()))
}

/// What is permitted besides the call itself.
fn permitted(wanted: &Value, asked: &desk::Asked) -> Result<Permission, Problem> {
    let wrong = |what: &str| {
        Problem::bad_request(format!(
            "`for` is {{\"minutes\": NUMBER, \"any\": [NAMES], \"under\": {{NAME: FOLDER}}}}: {what}"
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
    Permission::like(asked, &any, &under, lasts).map_err(|problem| wrong(&problem.to_string()))
}

/// What is permitted for a while, the latest first.
pub(crate) async fn in_force(store: &dyn Store) -> Result<Vec<Grant>, Problem> {
    let now = when::now();
    let mut grants = permission::kept(store).await.map_err(refused)?;
    grants.retain(|grant| grant.binding.is_some() && grant.is_in_force(now));
    Ok(grants)
}

pub(crate) async fn rules(console: &Arc<Inner>, _: &Asked) -> Result<Response, Problem> {
    let (grants, now) = (in_force(store(console)?).await?, when::now());
    let rules = grants.iter().map(|grant| permission::members(grant, now));
    Ok(answer_json(rules.collect::<Value>().to_string()))
}

pub(crate) async fn revoke(
    console: &Arc<Inner>,
    asked: &Asked,
    id: &str,
) -> Result<Response, Problem> {
    let store = store(console)?;
    let unknown = || Problem::new(StatusCode::NOT_FOUND, "not_found", "No rule has this id");
    let grants = permission::kept(store).await.map_err(refused)?;
    let grant = grants.iter().find(|grant| grant.id.to_string() == id).ok_or_else(unknown)?;
    let by = asked.visitor.principal.as_str().to_owned();
    let grant = store.revoke(grant.id, by).await.map_err(|error| refused(error.into()))?;
    let grant = grant.ok_or_else(unknown)?;
    Ok(answer_json(permission::members(&grant, when::now()).to_string()))
}

/// How many calls wait, as that changes. What they are is for who is told to look.
pub(crate) fn events(console: &Arc<Inner>, _: &Asked) -> Result<Response, Problem> {
    store(console)?;
    let listener =
        Listener { _place: Listening::begin()?, console: Arc::clone(console), last: None };
    let said = stream::unfold(listener, |mut listener| async move {
        let text = listener.next().await?;
        Some((text, listener))
    });
    Ok(respond(said, console.limits.keep_alive))
}

/// Somebody who wants to know how many wait.
struct Listener {
    _place: Listening,
    console: Arc<Inner>,
    /// What they know.
    last: Option<String>,
}

impl Listener {
    /// The next thing to say; nothing more once the server ends.
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

    /// What is to be said now; nothing while the ledger does not answer.
    async fn look(&self) -> Option<String> {
        let console = Arc::clone(&self.console);
        // A task of its own: who does not read is not asked for the next, and must not keep what all share.
        let look = tokio::spawn(async move { console.seen.look(store(&console).ok()?).await });
        look.await.ok()?
    }
}

/// What was seen last of what waits, and when. The ledger gives each question with all that is in it, up to a megabyte: so all
/// who listen share one look.
#[derive(Default)]
pub(crate) struct Seen(Mutex<Option<(Instant, Option<String>)>>);

impl Seen {
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

/// How many wait, and a tag that is another if they are others.
async fn looked(store: &dyn Store) -> Option<String> {
    let mut all = waiting::All::of(store);
    let (mut count, mut hash) = (0, Sha256::new());
    while count < MOST
        && let Some(one) = all.next().await.ok()?
    {
        // Two callers who want the same put the same question.
        hash.update(one.id.digest().to_string());
        hash.update(question(&one));
        count += 1;
    }
    let tag: String = hash.finalize()[..8].iter().map(|byte| format!("{byte:02x}")).collect();
    Some(json!({"waiting": count, "tag": tag}).to_string())
}
