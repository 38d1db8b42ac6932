//! Past calls, the latest first.

use std::sync::Arc;
use std::time::Duration;

use axum::response::Response;
use candor_operator::{
    Filters, OperationView, RecordedEffect, StateFilter, StateWord, state, when, words,
};
use candor_server::store::{
    AuditRow, Filter, Moment, OutcomeKind, Page as Part, RecordState, Scope, StateKind, Store,
};

use super::shell::{self, PageParts, Section, recorded_verdict};
use crate::Inner;
use crate::html::{Html, html, shown};
use crate::problem::Problem;
use crate::request::ConsoleRequest;
use crate::rest::history::{filters, page as part_of};
use crate::rest::{operator_refused, store};
use crate::route::encoded;

/// Maximum number of open operations of each state. They come first.
const MOST_OPEN: usize = 50;

/// A call, as a line of the list.
struct Line {
    at: Moment,
    tool: String,
    effect: Option<RecordedEffect>,
    state: Mark,
    words: String,
    principal: String,
    server: String,
    took: Option<Duration>,
    /// The operation, if there is a record.
    id: Option<String>,
}

/// The mark of a line, besides its words.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Mark {
    Done,
    Failed,
    Refused,
    Replayed,
    Running,
    Waiting,
    Unknown,
    Other,
}

impl Mark {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Refused => "refused",
            Self::Replayed => "replayed",
            Self::Running => "running",
            Self::Waiting => "waiting",
            Self::Unknown => "unknown",
            Self::Other => "other",
        }
    }

    pub(super) fn of(operation: &OperationView) -> Self {
        match operation.state() {
            Some(RecordState::Completed { outcome, .. })
                if outcome.kind == OutcomeKind::Success =>
            {
                Self::Done
            }
            Some(RecordState::Completed { .. }) => Self::Failed,
            Some(
                RecordState::Dispatched { .. }
                | RecordState::Claimed { .. }
                | RecordState::Suspended { .. },
            ) => Self::Running,
            Some(RecordState::Waiting { .. } | RecordState::Approved { .. }) => Self::Waiting,
            Some(RecordState::Denied { .. }) => Self::Refused,
            Some(RecordState::Indeterminate { .. }) => Self::Unknown,
            _ if operation.record.as_ref().is_some_and(state::has_failed) => Self::Failed,
            _ => Self::Other,
        }
    }
}

pub(crate) async fn page(
    console: &Arc<Inner>,
    asked: &ConsoleRequest,
) -> Result<Response, Problem> {
    let store = store(console)?;
    let (filters, part) = match filters(asked).and_then(|all| Ok((all, part_of(asked)?))) {
        Ok(wanted) => wanted,
        Err(problem) => return Ok(mistaken(console, asked, &problem)),
    };
    let (lines, next) = lines(console, store, &filters, part).await?;
    let longest = lines.iter().filter_map(|line| line.took).max().unwrap_or_default();
    let now = when::now();
    let rows: Html = lines.iter().map(|line| row(asked, line, longest, now)).collect();
    let list = if lines.is_empty() { nothing(console, asked, &filters) } else { table(&rows) };
    let older = next.map(|next| {
        html!("<p class=\"actions\"><a class=\"button\" rel=\"next\" href=\"?{}cursor={}\">Older</a></p>", query(&filters), next)
    });
    let shows = html!("{}{}{}", bar(asked, Some(&filters)), list, older);
    Ok(shell::page(console, asked, page_of(&shows)))
}

fn page_of(shows: &Html) -> PageParts<'static> {
    let main = html!(
        "<h1>History</h1><p class=\"lead\">Calls that changed something, had a key, were refused or needed approval, and recent calls that only read.</p>{}",
        shows
    );
    PageParts { section: Section::History, title: "History", script: None, main }
}

/// Returns the page for an invalid filter. The form keeps the input, so that the user can fix it. There is no export until then: it
/// would export everything.
fn mistaken(console: &Inner, asked: &ConsoleRequest, problem: &Problem) -> Response {
    let shows = html!(
        "{}<p class=\"error\" role=\"alert\" data-testid=\"mistaken\">{}</p>",
        bar(asked, None),
        problem.detail()
    );
    let mut response = shell::page(console, asked, page_of(&shows));
    *response.status_mut() = problem.status();
    response
}

fn failed(error: candor_server::store::StoreError) -> Problem {
    operator_refused(error.into())
}

/// Returns open operations first, then ended calls, and where the next page begins.
async fn lines(
    console: &Inner,
    store: &dyn Store,
    filters: &Filters,
    part: Part,
) -> Result<(Vec<Line>, Option<u64>), Problem> {
    let ended = matches!(
        filters.state,
        None | Some(
            StateFilter::Completed
                | StateFilter::Is(
                    StateWord::Succeeded | StateWord::Failed | StateWord::ResultInvalid
                )
        )
    );
    if !ended {
        let paged = store.records(filters.of_records(), part).await.map_err(failed)?;
        let mut lines = Vec::new();
        for entry in paged.items.into_iter().filter(|entry| filters.has_entry(entry)) {
            lines.push(of_record(&OperationView::of(store, entry).await.map_err(failed)?));
        }
        return Ok((lines, paged.next));
    }
    let mut lines = Vec::new();
    if filters.state.is_none() && part.from.is_none() {
        for kind in [
            StateKind::Indeterminate,
            StateKind::Waiting,
            StateKind::Approved,
            StateKind::Suspended,
            StateKind::Dispatched,
        ] {
            let open = Filter { state: Some(kind), ..filters.of_records() };
            let few = Part { most: MOST_OPEN, ..Part::default() };
            for entry in store.records(open, few).await.map_err(failed)?.items {
                let operation = OperationView::of(store, entry).await.map_err(failed)?;
                // An operation that changed its state by time alone is listed under its current state.
                if operation.state().map(RecordState::kind) == Some(kind) {
                    lines.push(of_record(&operation));
                }
            }
        }
    }
    let paged = store.rows(filters.of_rows(), part).await.map_err(failed)?;
    let mut ended = Vec::new();
    for row in paged.items.iter().filter(|row| filters.has_row(row)) {
        ended.extend(of_row(store, row).await?);
    }
    // Calls that only read leave no durable row. The server that ran them keeps the latest in memory.
    if let (Some(engine), None) = (&console.engine, part.from) {
        let oldest = paged.next.and(paged.items.last()).map(|row| row.at);
        for row in engine.recent_calls() {
            let fits = oldest.is_none_or(|oldest| row.at >= oldest)
                && fits(filters, &row)
                && filters.has_row(&row);
            if fits {
                ended.extend(of_row(store, &row).await?);
            }
        }
    }
    ended.sort_by_key(|line| std::cmp::Reverse(line.at));
    lines.extend(ended);
    Ok((lines, paged.next))
}

/// Returns true if the ledger's filter would match a row that is not in the ledger.
fn fits(filters: &Filters, row: &AuditRow) -> bool {
    let same =
        |wanted: &Option<String>, is: &str| wanted.as_deref().is_none_or(|wanted| wanted == is);
    same(&filters.tool, &row.scope.tool)
        && same(&filters.principal, &row.scope.principal)
        && filters.key.is_none()
        && filters.since.is_none_or(|since| row.at >= since)
        && filters.before.is_none_or(|before| row.at < before)
}

fn of_record(operation: &OperationView) -> Line {
    let Scope { principal, server, tool, .. } = operation.id.scope.clone();
    Line {
        at: operation.since.or_else(|| operation.created()).unwrap_or(Moment(0)),
        tool,
        effect: operation.effect(),
        state: Mark::of(operation),
        words: operation.label().to_owned(),
        principal,
        server,
        took: operation.took(when::now()),
        id: Some(operation.digits()),
    }
}

/// Returns a line for a row that reports how a call ended, or that there was one. `None` for the steps on the way.
async fn of_row(store: &dyn Store, row: &AuditRow) -> Result<Option<Line>, Problem> {
    let to = row.change.map(|change| change.to);
    let state = match (row.event.as_str(), to) {
        ("complete", _) | ("resolve", Some(StateKind::Completed)) | ("called", None) => {
            match row.outcome {
                Some(OutcomeKind::Success) => Mark::Done,
                Some(_) => Mark::Failed,
                None => Mark::Other,
            }
        }
        ("discard", _) => Mark::Failed,
        ("refused", None) | ("decide", Some(StateKind::Denied)) => Mark::Refused,
        ("replayed", None) => Mark::Replayed,
        ("left", None) | ("resolve" | "grant" | "revoke", _) => Mark::Other,
        _ => return Ok(None),
    };
    let mut effect = RecordedEffect::of_row(row);
    let mut took = row.circumstances.duration;
    let id = row.record();
    if let (Some(id), true) = (&id, effect.is_none() || took.is_none())
        && let Some(entry) = store.find(id).await.map_err(failed)?
    {
        let operation = OperationView::of(store, entry).await.map_err(failed)?;
        effect = effect.or_else(|| operation.effect());
        if row.event == "complete" {
            took = took.or_else(|| operation.took(when::now()));
        }
    }
    let Scope { principal, server, tool, .. } = row.scope.clone();
    Ok(Some(Line {
        at: row.at,
        tool,
        effect,
        state,
        words: match (row.event.as_str(), row.outcome) {
            // Each line is a call, so its outcome says more.
            ("called", Some(outcome)) => StateWord::of_outcome(outcome).label().to_owned(),
            _ => words::event(row),
        },
        principal,
        server,
        took,
        id: id.map(|id| id.digest().to_string()),
    }))
}

/// Returns the filters as a query, for the next page.
fn query(filters: &Filters) -> String {
    let mut query = String::new();
    let state = filters.state.map(|state| state.as_str().to_owned());
    for (name, value) in [
        ("tool", filters.tool.clone()),
        ("principal", filters.principal.clone()),
        ("key", filters.key.clone()),
        ("state", state),
        ("since", filters.since.map(when::written)),
        ("before", filters.before.map(when::written)),
    ] {
        if let Some(value) = value {
            query += &format!("{name}={}&", encoded(&value));
        }
    }
    query
}

fn bar(asked: &ConsoleRequest, filters: Option<&Filters>) -> Html {
    let state = asked.query("state").and_then(|text| text.parse::<StateFilter>().ok());
    let states: Html = StateFilter::all()
        .map(|filter| {
            let chosen = (state == Some(filter)).then(|| html!(" selected"));
            html!(
                "<option value=\"{}\" title=\"{}\"{}>{}</option>",
                filter.as_str(),
                filter.meaning(),
                chosen,
                filter.label()
            )
        })
        .collect();
    let export = filters.map(|filters| {
        html!(
            "<a class=\"button\" href=\"{}/history/export?{}\" download data-testid=\"export\">Export</a>",
            asked.base,
            query(filters)
        )
    });
    html!(
        "<form class=\"bar\" role=\"search\" aria-label=\"Filter\" method=\"get\">\
         <input type=\"search\" name=\"tool\" aria-label=\"Tool\" placeholder=\"Tool\" value=\"{}\">\
         <input name=\"principal\" class=\"short\" aria-label=\"Caller\" placeholder=\"Caller\" value=\"{}\">\
         <input name=\"key\" class=\"short\" aria-label=\"Key\" placeholder=\"Key\" value=\"{}\">\
         <select name=\"state\" aria-label=\"State\"><option value=\"\">Any state</option>{}</select>\
         <input name=\"since\" class=\"short\" aria-label=\"Since\" placeholder=\"Since, e.g. 2h\" value=\"{}\">\
         <button>Filter</button>{}</form>",
        asked.query("tool"),
        asked.query("principal"),
        asked.query("key"),
        states,
        asked.query("since"),
        export
    )
}

fn nothing(console: &Inner, asked: &ConsoleRequest, filters: &Filters) -> Html {
    if *filters == Filters::default() {
        let tools = console
            .engine
            .as_ref()
            .map(|_| html!(" <a href=\"{}\">Try a tool</a>", shell::home(&asked.base)));
        return html!(
            "<div class=\"empty\"><strong>Nothing has happened yet</strong>Calls appear here as they are made.{}</div>",
            tools
        );
    }
    html!(
        "<div class=\"empty\"><strong>Nothing matches</strong><a href=\"{}/ui/history\">Show all</a></div>",
        asked.base
    )
}

fn table(rows: &Html) -> Html {
    html!(
        "<div class=\"wide\"><table class=\"history\" data-list data-testid=\"history\"><thead><tr><th scope=\"col\">When</th><th scope=\"col\">Tool</th>\
         <th scope=\"col\">Effect</th><th scope=\"col\">Outcome</th><th scope=\"col\">Caller</th><th scope=\"col\">Duration</th></tr></thead><tbody>{}</tbody></table></div>",
        rows
    )
}

fn row(asked: &ConsoleRequest, line: &Line, longest: Duration, now: Moment) -> Html {
    let effect = line.effect.as_ref().map(|effect| {
        let (verdict, _) = recorded_verdict(effect);
        html!("<span title=\"{}\">{}</span>", effect.summary(), verdict)
    });
    let tool = match &line.id {
        Some(id) => html!(
            "<a data-item href=\"{}/ui/history/{}\">{}</a>",
            asked.base,
            id.as_str(),
            shown(&line.tool)
        ),
        None => html!("{}", shown(&line.tool)),
    };
    let took = line.took.map(|took| {
        let micros = |time: Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        html!(
            "<meter min=\"0\" max=\"{}\" value=\"{}\" aria-hidden=\"true\"></meter> <span>{}</span>",
            micros(longest).max(1),
            micros(took),
            when::length(took)
        )
    });
    html!(
        "<tr data-state=\"{}\" data-testid=\"call\"><td><time datetime=\"{}\" title=\"{}\">{}</time></td><td class=\"name\">{}</td><td>{}</td>\
         <td class=\"state\">{}</td><td>{} <span class=\"soft\">{}</span></td><td class=\"took\">{}</td></tr>",
        line.state.as_str(),
        when::written(line.at),
        when::written(line.at),
        when::ago(line.at, now),
        tool,
        effect,
        shown(&line.words),
        shown(&line.principal),
        shown(&line.server),
        took
    )
}
