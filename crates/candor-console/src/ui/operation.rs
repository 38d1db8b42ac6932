//! One operation with all its details, and the form that resolves an unknown outcome.

use std::sync::Arc;

use axum::response::Response;
use candor_operator::{OperationView, find_operation, json, when, words};
use candor_server::store::{ApprovalChannel, Body, RecordState, Scope};

use super::history::Mark;
use super::shell::{self, PageParts, Section, recorded_verdict};
use crate::Inner;
use crate::html::{Html, html, shown};
use crate::problem::Problem;
use crate::request::ConsoleRequest;
use crate::rest::{operator_refused, store};
use crate::route::encoded;

pub(crate) async fn page(
    console: &Arc<Inner>,
    asked: &ConsoleRequest,
    id: &str,
) -> Result<Response, Problem> {
    let store = store(console)?;
    let operation = find_operation(store, id).await.map_err(operator_refused)?;
    let operation =
        operation.with_replays(store).await.map_err(|error| operator_refused(error.into()))?;
    let now = when::now();
    let Scope { principal, server, instance, tool } = &operation.id.scope;
    let effect = operation.effect().map(|effect| {
        let (verdict, rest) = recorded_verdict(&effect);
        html!("<dt>Effect</dt><dd>{} <span class=\"soft\">{}</span></dd>", verdict, rest)
    });
    let shape = operation.told(|row| row.circumstances.shape.as_deref());
    let shape =
        shape.filter(|_| operation.arguments().is_none()).map(|shape| html!("<dt>Arguments</dt><dd><span class=\"mono\">{}</span> <span class=\"soft\">names, types and lengths</span></dd>", shown(shape)));
    let again = console.engine.as_ref().filter(|engine| engine.name() == server).map(|_| {
        html!(
            "<a class=\"button\" href=\"{}/ui/tools/{}\">Open the tool</a>",
            asked.base,
            encoded(tool)
        )
    });
    let decide = matches!(operation.state(), Some(RecordState::Waiting { .. })).then(|| {
        html!(
            "<a class=\"button\" href=\"{}/ui/approvals/{}\">Decide</a>",
            asked.base,
            operation.digits()
        )
    });
    let key = operation.id.key.as_str();
    let key = (!key.starts_with('~'))
        .then(|| html!("<dt>Key</dt><dd class=\"mono\">{}</dd>", shown(key)));
    let main = html!(
        "<p class=\"back\"><a href=\"{}/ui/history\">History</a></p>\
         <h1 class=\"name\">{}</h1><p class=\"lead\" data-testid=\"state\" data-state=\"{}\">{}</p>\
         <p class=\"error\" id=\"trouble\" role=\"alert\" hidden></p>{}\
         <dl>{}{}{}{}{}<dt>Caller</dt><dd>{}</dd><dt>Server</dt><dd>{} <span class=\"soft\">{}</span></dd>{}<dt>Operation</dt><dd class=\"mono\">{}</dd></dl>\
         <div class=\"actions\">{}{}</div>{}<h2>Timeline</h2>{}{}",
        asked.base,
        shown(tool),
        Mark::of(&operation).as_str(),
        shown(&stands(&operation)),
        resolve(&operation),
        review(&operation),
        error(&operation),
        effect,
        shape,
        key,
        shown(principal),
        shown(server),
        shown(instance),
        operation.took(now).map(|took| html!("<dt>Duration</dt><dd>{}</dd>", when::length(took))),
        operation.digits(),
        decide,
        again,
        arguments(&operation),
        timeline(&operation),
        result(&operation)
    );
    let page =
        PageParts { section: Section::History, title: tool, script: Some("history.js"), main };
    Ok(shell::page(console, asked, page))
}

fn stands(operation: &OperationView) -> String {
    let words = operation.label();
    match (operation.state(), operation.reason(), operation.by()) {
        (Some(RecordState::Approved { until, .. }), _, Some(by)) => {
            let until = when::written(*until);
            format!("Approved by {by}. The call runs if its caller repeats it by {until}.")
        }
        (Some(RecordState::Denied { .. }), _, Some(by)) => format!("Denied by {by}"),
        (_, Some(reason), _) => format!("{words}: {}", words::reason(reason)),
        (_, None, Some(by)) => format!("{words}, resolved by {by}"),
        (_, None, None) => words.to_owned(),
    }
}

/// Returns the review: who approved or denied the call, when and why.
fn review(operation: &OperationView) -> Option<Html> {
    let review = operation.review()?;
    let through = match review.via {
        ApprovalChannel::Client => " via client",
        ApprovalChannel::Operator => "",
    };
    let reason = review.reason.as_deref().map(|reason| html!(": {}", shown(reason)));
    Some(html!(
        "<dt>Review</dt><dd data-testid=\"review\">{} by {}{} <time datetime=\"{}\" class=\"soft mono\">{}</time>{}</dd>",
        review.word(),
        shown(&review.by),
        through,
        when::written(review.at),
        when::written(review.at),
        reason
    ))
}

/// Returns the error of the last attempt.
fn error(operation: &OperationView) -> Option<Html> {
    let error = operation.error()?;
    Some(html!(
        "<dt>Error</dt><dd data-testid=\"error\"><span class=\"mono\">{}</span> {}</dd>",
        shown(&error.code),
        shown(&error.message)
    ))
}

/// Returns the arguments, with secrets redacted.
fn arguments(operation: &OperationView) -> Option<Html> {
    let pretty = json::pretty(operation.arguments()?, "");
    Some(html!("<h2>Arguments</h2><pre data-testid=\"arguments\">{}</pre>", shown(&pretty)))
}

fn timeline(operation: &OperationView) -> Html {
    let rows: Html = operation
        .story
        .iter()
        .map(|row| {
            let note = row.circumstances.note.as_deref();
            html!(
                "<li><time datetime=\"{}\" class=\"soft mono\">{}</time> {} {}</li>",
                when::written(row.at),
                when::written(row.at),
                shown(&words::event(row)),
                note.map(|note| html!("<span class=\"soft\">({})</span>", shown(note)))
            )
        })
        .collect();
    html!("<ol class=\"timeline\" data-testid=\"timeline\">{}</ol>", rows)
}

fn result(operation: &OperationView) -> Option<Html> {
    let outcome = operation.outcome()?;
    Some(match &outcome.body {
        Body::Omitted { len, .. } => {
            html!("<h2>Result</h2><p>The result had {} bytes, too many to store.</p>", *len)
        }
        Body::Kept(bytes) => {
            let text = json::text(bytes).map_or_else(
                || String::from_utf8_lossy(bytes).into_owned(),
                |text| json::pretty(text, ""),
            );
            html!("<h2>Result</h2><pre data-testid=\"result\">{}</pre>", shown(&text))
        }
    })
}

/// Returns the form that records an unknown outcome.
fn resolve(operation: &OperationView) -> Option<Html> {
    matches!(operation.state(), Some(RecordState::Indeterminate { .. })).then(|| {
        html!(
            "<form class=\"sheet resolve\" data-resolve=\"{}\" data-testid=\"resolve\"><h2>Record the outcome</h2>\
             <p>The call may have run. Check the external system, then record the outcome here.</p>\
             <noscript><p>This form needs JavaScript. <code>candor history resolve</code> does the same on the command line.</p></noscript>\
             <fieldset><legend class=\"unseen\">Outcome</legend>\
             <label><input type=\"radio\" name=\"state\" value=\"succeeded\" required> Succeeded <span class=\"soft\">The next call with this key returns the result below.</span></label>\
             <label><input type=\"radio\" name=\"state\" value=\"failed\"> Failed <span class=\"soft\">The next call with this key returns the error below.</span></label>\
             <label><input type=\"radio\" name=\"state\" value=\"not_run\"> Not run <span class=\"soft\">The next call with this key starts again. If it ran after all, it runs twice.</span></label>\
             <label><input type=\"radio\" name=\"state\" value=\"abandoned\"> Abandoned <span class=\"soft\">This key is refused from now on.</span></label></fieldset>\
             <p><label for=\"text\">Result, if known</label><textarea id=\"text\" name=\"text\" rows=\"2\"></textarea></p>\
             <div class=\"actions\"><button class=\"main\">Record outcome</button></div></form>",
            operation.digits()
        )
    })
}
