//! The server: what it can do, who is connected, how hosts reach it.

use std::sync::Arc;
use std::time::Duration;

use axum::response::Response;
use candor_server::protocol::Revision;
use candor_server::store::{Filter, Page as Part};
use candor_server::transport::http::AllowedHosts;
use candor_server::{About, AskLevel, RunningServer, SessionView};
use http::header::HOST;
use serde_json::json;

use super::shell::{self, PageParts, Section};
use crate::Inner;
use crate::html::{Html, html, shown};
use crate::problem::Problem;
use crate::request::ConsoleRequest;
use crate::rest::engine;

pub(crate) async fn page(
    console: &Arc<Inner>,
    asked: &ConsoleRequest,
) -> Result<Response, Problem> {
    let engine = engine(console)?;
    let about = engine.about();
    let ledger = ledger(console, asked).await;
    let main = html!(
        "{}{}{}{}{}",
        head(&about),
        facts(console, engine, &about, &ledger),
        snippets(console, asked, &about),
        sessions(asked, engine),
        capabilities(&about)
    );
    let page = PageParts { section: Section::Server, title: "Server", script: None, main };
    Ok(shell::page(console, asked, page))
}

fn head(about: &About) -> Html {
    let info = &about.info;
    let instructions = about.instructions.as_deref().map(|text| {
        html!(
            "<h2>Instructions for models</h2><pre data-testid=\"instructions\">{}</pre>",
            shown(text)
        )
    });
    html!(
        "<h1>{} <span class=\"soft\">{}</span></h1><p class=\"lead\">{}</p>{}",
        shown(info.title.as_deref().unwrap_or(&info.name)),
        shown(&info.version),
        shown(info.description.as_deref().unwrap_or_default()),
        instructions
    )
}

fn facts(console: &Inner, engine: &RunningServer, about: &About, ledger: &Html) -> Html {
    let health =
        if engine.is_stopping() { "Stopping: new requests are refused" } else { "Healthy" };
    let asks = match engine.asks() {
        AskLevel::Never => "No call needs approval",
        AskLevel::Destructive => "Calls that may delete or overwrite need approval",
        AskLevel::Writes => "Calls that may change anything need approval",
        AskLevel::Always => "Every call needs approval",
    };
    let callers = match console.front.authenticator() {
        Some(_) => "Callers with a token.",
        None => "Anyone on this machine. Calls from this page need the launch token.",
    };
    let revisions: Vec<&str> = about.revisions.iter().copied().map(Revision::as_str).collect();
    html!(
        "<h2>How it runs</h2><dl><dt>Health</dt><dd data-testid=\"health\">{}</dd>\
         <dt>Name</dt><dd class=\"mono\">{}</dd><dt>Protocol</dt><dd class=\"mono\" data-testid=\"revisions\">{}</dd>\
         <dt>Approval policy</dt><dd data-testid=\"asks\">{}</dd><dt>Access</dt><dd>{}</dd>\
         <dt>Ledger</dt><dd data-testid=\"ledger\">{}</dd></dl>",
        health,
        shown(&about.info.name),
        revisions.join(" · "),
        asks,
        callers,
        ledger
    )
}

/// Returns the state of the ledger. Only operators see where it is, because that reveals something about the machine.
async fn ledger(console: &Inner, asked: &ConsoleRequest) -> Html {
    let Some(store) = &console.store else {
        return html!("none: keys, approvals and history need one (<code>--ledger</code>)");
    };
    if !asked.visitor.operator {
        return html!("open");
    }
    let part = Part { most: 1, ..Part::default() };
    let state = match store.rows(Filter::default(), part).await {
        Ok(_) => "it answers",
        Err(error) => {
            tracing::warn!(%error, "the ledger could not be looked at");
            "it does not answer; the log says why"
        }
    };
    html!("<span class=\"mono\">{}</span> · {}", shown(&store.describe()), state)
}

/// Returns the configurations of hosts, ready to paste.
fn snippets(console: &Inner, asked: &ConsoleRequest, about: &About) -> Html {
    let url = format!("{}/mcp", reached(console, asked));
    let name = about.host_name();
    let closed = console.front.tells_callers_apart();
    let header = if closed { " --header \"Authorization: Bearer $CANDOR_TOKEN\"" } else { "" };
    let mut server = json!({"type": "http", "url": url});
    if closed {
        server["headers"] = json!({"Authorization": "Bearer ${CANDOR_TOKEN}"});
    }
    let pretty = |value: serde_json::Value| format!("{value:#}");
    let all = [
        ("claude", "Claude Code", format!("claude mcp add --transport http {name} {url}{header}")),
        (
            "servers",
            "Claude Desktop, Cursor and others: mcpServers",
            pretty(json!({"mcpServers": {&name: &server}})),
        ),
        ("vscode", "VS Code: .vscode/mcp.json", pretty(json!({"servers": {&name: &server}}))),
    ];
    let all: Html = all
        .into_iter()
        .map(|(id, title, text)| {
            html!(
                "<h3>{}</h3><div class=\"copy\"><pre id=\"for-{}\" data-testid=\"for-{}\">{}</pre>\
                 <button type=\"button\" class=\"small\" data-do=\"copy\" data-of=\"for-{}\">Copy</button></div>",
                title,
                id,
                id,
                text,
                id
            )
        })
        .collect();
    html!(
        "<h2>Connect a host</h2>{}<p class=\"soft\">If you have mounted the MCP endpoint elsewhere in your app, put its URL here.</p>",
        all
    )
}

/// Returns the URL of the console, as the caller reached it.
fn reached(console: &Inner, asked: &ConsoleRequest) -> String {
    if let AllowedHosts::Public(url) = console.front.hosts() {
        return url.to_string();
    }
    let host = asked.parts.headers.get(HOST).and_then(|host| host.to_str().ok());
    // It becomes part of a command line, so only safe characters pass.
    let safe = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | ':' | '-' | '[' | ']');
    let host = host.filter(|host| host.chars().all(safe)).unwrap_or("127.0.0.1:7332");
    format!("http://{host}{}", asked.base)
}

fn sessions(asked: &ConsoleRequest, engine: &RunningServer) -> Html {
    if !asked.visitor.operator {
        return html!(
            "<h2>Connected</h2><p class=\"soft\" data-testid=\"sessions\">Only operators see who is connected.</p>"
        );
    }
    let sessions = engine.sessions();
    if sessions.is_empty() {
        return html!(
            "<h2>Connected</h2><p class=\"soft\" data-testid=\"sessions\">No client has an open session. Clients that speak {} use no sessions.</p>",
            Revision::V2026_07_28.as_str()
        );
    }
    let rows: Html = sessions.iter().map(session).collect();
    html!(
        "<h2>Connected <span class=\"soft\">{}</span></h2><div class=\"wide\"><table data-testid=\"sessions\"><thead><tr><th scope=\"col\">Client</th>\
         <th scope=\"col\">For</th><th scope=\"col\">Protocol</th><th scope=\"col\">Silent for</th></tr></thead><tbody>{}</tbody></table></div>",
        sessions.len(),
        rows
    )
}

fn session(session: &SessionView) -> Html {
    let client = session.client.as_ref();
    let client = client.map(|client| html!("{} {}", shown(&client.name), shown(&client.version)));
    html!(
        "<tr><td>{}</td><td class=\"mono\">{}</td><td class=\"mono\">{}</td><td>{}</td></tr>",
        client.unwrap_or_else(|| html!("does not say")),
        shown(session.principal.as_str()),
        session.revision.as_str(),
        roughly(session.idle)
    )
}

/// Returns a rough duration, as users say it.
fn roughly(time: Duration) -> String {
    match time.as_secs() {
        seconds @ 0..60 => format!("{seconds} s"),
        seconds @ 60..3600 => format!("{} min", seconds / 60),
        seconds => format!("{} h", seconds / 3600),
    }
}

fn capabilities(about: &About) -> Html {
    let value = serde_json::to_value(&about.capabilities).unwrap_or_default();
    html!(
        "<h2>Capabilities</h2><p class=\"soft\">In both eras: in the answer to <code>initialize</code>, and to <code>server/discover</code>.</p>\
         <pre data-testid=\"capabilities\">{}</pre>",
        shown(&format!("{value:#}"))
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_shown_in_their_largest_unit() {
        assert_eq!(roughly(Duration::from_secs(59)), "59 s");
        assert_eq!(roughly(Duration::from_secs(3599)), "59 min");
        assert_eq!(roughly(Duration::from_secs(7200)), "2 h");
    }
}
