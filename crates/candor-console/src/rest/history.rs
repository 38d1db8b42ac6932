//! Past operations, one or all, and audit rows.

use std::convert::Infallible;
use std::sync::Arc;

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use candor_operator::{
    Filters, OperationView, ReportedResult, StateWord, ensure_unknown, find_operation, row, when,
};
use candor_server::store::{Export, Page, Resolution};
use futures_util::stream;
use http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use http::{HeaderValue, StatusCode};
use serde_json::{Value, json};

use super::{RequestBody, json as answer_json, operator_refused, store};
use crate::Inner;
use crate::problem::Problem;
use crate::request::ConsoleRequest;

/// Number of items on a page, by default and at most.
const USUAL: usize = 50;
pub(crate) const MOST: usize = 500;

/// Reads the filters from the query.
pub(crate) fn filters(asked: &ConsoleRequest) -> Result<Filters, Problem> {
    let wrong = |name: &str, problem: String| Problem::bad_request(format!("`{name}`: {problem}"));
    let time = |name: &str| {
        let text = asked.query(name);
        text.map(|text| when::read(&text).map_err(|problem| wrong(name, problem))).transpose()
    };
    let state =
        asked.query("state").map(|text| text.parse().map_err(|problem| wrong("state", problem)));
    Ok(Filters {
        tool: asked.query("tool"),
        principal: asked.query("principal"),
        key: asked.query("key"),
        state: state.transpose()?,
        since: time("since")?,
        before: time("before")?,
    })
}

/// Reads the page from the query.
pub(crate) fn page(asked: &ConsoleRequest) -> Result<Page, Problem> {
    let number = |name: &str| match asked.query(name) {
        None => Ok(None),
        Some(text) => text
            .parse::<u64>()
            .map(Some)
            .map_err(|_| Problem::bad_request(format!("`{name}` is a number"))),
    };
    let most = number("limit")?.map_or(USUAL, |limit| usize::try_from(limit).unwrap_or(MOST));
    Ok(Page { from: number("cursor")?, most: most.clamp(1, MOST), ..Page::default() })
}

/// Returns `{"items": […], "next": …}`: operations, or with `?rows=true` audit rows; the latest first.
pub(crate) async fn list(
    console: &Arc<Inner>,
    asked: &ConsoleRequest,
) -> Result<Response, Problem> {
    let (store, filters, page) = (store(console)?, filters(asked)?, page(asked)?);
    let now = when::now();
    let mut items = Vec::new();
    let next;
    if asked.query("rows").as_deref() == Some("true") {
        let paged =
            store.rows(filters.of_rows(), page).await.map_err(|e| operator_refused(e.into()))?;
        items.extend(paged.items.iter().filter(|one| filters.has_row(one)).map(row::json));
        next = paged.next;
    } else {
        let paged = store
            .records(filters.of_records(), page)
            .await
            .map_err(|e| operator_refused(e.into()))?;
        for entry in paged.items.into_iter().filter(|entry| filters.has_entry(entry)) {
            let operation =
                OperationView::brief(store, entry).await.map_err(|e| operator_refused(e.into()))?;
            items.push(Value::Object(operation.json(now)));
        }
        next = paged.next;
    }
    Ok(answer_json(json!({"items": items, "next": next}).to_string()))
}

/// Exports all audit rows as lines of JSON, the earliest first.
pub(crate) fn export(console: &Arc<Inner>, asked: &ConsoleRequest) -> Result<Response, Problem> {
    store(console)?;
    let filters = filters(asked)?;
    let lines = async_lines(Arc::clone(console), filters);
    let mut response = Response::new(Body::from_stream(lines));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/jsonl"));
    let name = HeaderValue::from_static("attachment; filename=\"candor-history.jsonl\"");
    headers.insert(CONTENT_DISPOSITION, name);
    Ok(response)
}

/// Streams the lines in parts, so that a slow client costs no memory.
fn async_lines(
    console: Arc<Inner>,
    filters: Filters,
) -> impl futures_util::Stream<Item = Result<Bytes, Infallible>> + Send {
    let (sender, receiver) = tokio::sync::mpsc::channel::<Bytes>(4);
    tokio::spawn(async move {
        let Ok(store) = store(&console) else { return };
        let mut rows = Export::of(store, filters.of_rows());
        let mut part = Vec::new();
        // A client that disconnects has given back its slot, so the export stops.
        while !sender.is_closed() {
            match rows.next().await {
                Ok(Some(one)) if filters.has_row(&one) => {
                    part.extend(row::json(&one).to_string().into_bytes());
                    part.push(b'\n');
                }
                Ok(Some(_)) => {}
                Ok(None) => break,
                Err(error) => {
                    tracing::error!(%error, "history could not be exported to its end");
                    // The last line is no row, so that a client does not take a part for the whole.
                    part.extend(b"{\"error\":\"the ledger could not be read any further\"}\n");
                    break;
                }
            }
            if part.len() >= 64 * 1024
                && sender.send(std::mem::take(&mut part).into()).await.is_err()
            {
                return;
            }
        }
        let _ = sender.send(part.into()).await;
    });
    stream::unfold(receiver, |mut receiver| async move {
        receiver.recv().await.map(|part| (Ok(part), receiver))
    })
}

pub(crate) async fn one(
    console: &Arc<Inner>,
    _: &ConsoleRequest,
    id: &str,
) -> Result<Response, Problem> {
    let store = store(console)?;
    let operation = find_operation(store, id).await.map_err(operator_refused)?;
    let operation =
        operation.with_replays(store).await.map_err(|error| operator_refused(error.into()))?;
    Ok(answer_json(operation.full_json(when::now())))
}

/// Resolves an unknown outcome by
/// `{"state": "succeeded" | "failed" | "not_run" | "abandoned", "result": any JSON?, "text": string?}`.
pub(crate) async fn resolve(
    console: &Arc<Inner>,
    asked: &ConsoleRequest,
    id: &str,
) -> Result<Response, Problem> {
    let store = store(console)?;
    let sent = RequestBody::read(console, asked)?;
    sent.only(&["state", "result", "text"])?;
    // Digit for digit: the next call with the key receives exactly this.
    let result = sent.raw("result");
    let known = [StateWord::Succeeded, StateWord::Failed, StateWord::NotRun, StateWord::Abandoned];
    let wanted = sent.text("state")?;
    let state =
        known.into_iter().find(|state| Some(state.as_str()) == wanted).ok_or_else(|| {
            let words = known.map(StateWord::as_str).join(", ");
            Problem::bad_request(format!("`state` must be one of {words}"))
        })?;
    let resolution = match state {
        StateWord::Succeeded | StateWord::Failed => {
            let given = match (&result, sent.text("text")?) {
                (Some(_), Some(_)) => {
                    return Err(Problem::bad_request("Send either `result` or `text`"));
                }
                (Some(json), None) => ReportedResult::Json(json.get()),
                (None, Some(text)) => ReportedResult::Text(text),
                (None, None) => ReportedResult::Nothing,
            };
            let outcome = given.outcome(state == StateWord::Failed);
            Resolution::Done(
                outcome.map_err(|problem| Problem::bad_request(format!("`result`: {problem}")))?,
            )
        }
        _ if result.is_some() || sent.member("text").is_some() => {
            let words = "Send `result` or `text` only with the state succeeded or failed";
            return Err(Problem::bad_request(words));
        }
        StateWord::NotRun => Resolution::NotDone,
        _ => Resolution::Abandon,
    };
    let operation = find_operation(store, id).await.map_err(operator_refused)?;
    ensure_unknown(&operation).map_err(operator_refused)?;
    let by = asked.visitor.principal.as_str();
    candor_operator::resolve(store, &operation, by, resolution, "console")
        .await
        .map_err(operator_refused)?;
    let entry = store.find(&operation.id).await.map_err(|error| operator_refused(error.into()))?;
    let entry = entry.ok_or_else(|| {
        Problem::new(StatusCode::NOT_FOUND, "not_found", "It is no longer on record")
    })?;
    let operation =
        OperationView::of(store, entry).await.map_err(|error| operator_refused(error.into()))?;
    Ok(answer_json(Value::Object(operation.json(when::now())).to_string()))
}
