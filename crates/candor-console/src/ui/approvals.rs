//! Approval requests, each with everything a reviewer needs, and the active grants.

use std::sync::Arc;

use axum::response::Response;
use candor_operator::shown::cut;
use candor_operator::{
    ApprovalRequest, RequestDetails as Content, find_request, json, pattern_summary, when,
};
use candor_server::protocol::Undo;
use candor_server::protocol::names::extension;
use candor_server::store::{Grant, Moment, Scope, Store};
use serde_json::Value;

use super::shell::{self, PageParts, Section, not_known, other_parts, verdict};
use crate::Inner;
use crate::html::{Html, html, shown};
use crate::problem::Problem;
use crate::request::ConsoleRequest;
use crate::rest::approvals::{MOST, PendingList, in_force, version};
use crate::rest::{operator_refused, store};
use crate::route::encoded;

/// How long a grant can last, in minutes.
const LENGTHS: [(u64, &str); 4] =
    [(5, "5 minutes"), (15, "15 minutes"), (60, "an hour"), (8 * 60, "8 hours")];

/// Maximum length of a value in a menu. The card shows all of it above.
const MOST_SHOWN: usize = 60;

/// Maximum size in bytes of the large requests on one page. A caller may have a hundred requests of a megabyte, which no browser
/// can show.
const MOST_BYTES: usize = 1 << 20;

/// A request up to this size is small. All small requests are on the page, so the large ones of one caller cannot displace them.
const SMALL: usize = MOST_BYTES / MOST;

/// Maximum length of a headline, in characters.
const HEADLINE: usize = 160;

pub(crate) async fn page(
    console: &Arc<Inner>,
    asked: &ConsoleRequest,
) -> Result<Response, Problem> {
    let desk = desk(console, asked, store(console)?).await?;
    if asked.query("part").is_some() {
        return Ok(shell::part(desk));
    }
    let main = html!(
        "<h1>Approvals</h1><p class=\"lead\">Calls that need approval before they start. What you see is what runs.</p>\
         {}<p class=\"error\" id=\"trouble\" role=\"alert\" hidden></p>\
         <p id=\"decided\" data-testid=\"decided\" hidden></p><div id=\"desk\">{}</div>",
        no_script(),
        desk
    );
    Ok(shell::page(console, asked, page_of("Approvals", main)))
}

/// Shows one request, for a reviewer who followed a link to it.
pub(crate) async fn one(
    console: &Arc<Inner>,
    asked: &ConsoleRequest,
    id: &str,
) -> Result<Response, Problem> {
    let waiting = find_request(store(console)?, id).await.map_err(operator_refused)?;
    let main = html!(
        "<p class=\"back\"><a href=\"{}/ui/approvals\">Approvals</a></p><h1>May this run?</h1>\
         {}<p class=\"error\" id=\"trouble\" role=\"alert\" hidden></p><div id=\"desk\" data-one>{}</div>",
        asked.base,
        no_script(),
        card(console, asked, &waiting, when::now(), true)
    );
    Ok(shell::page(console, asked, page_of("Approval", main)))
}

fn no_script() -> Html {
    html!(
        "<noscript><p>Deciding here needs JavaScript; <code>candor approvals</code> does the same on the command line.</p></noscript>"
    )
}

fn page_of(title: &str, main: Html) -> PageParts<'_> {
    PageParts { section: Section::Approvals, title, script: Some("approvals.js"), main }
}

async fn desk(console: &Inner, asked: &ConsoleRequest, store: &dyn Store) -> Result<Html, Problem> {
    let list = PendingList::of(store).await.map_err(|error| operator_refused(error.into()))?;
    let (waiting, grants, now) = (&list.waiting, in_force(store).await?, when::now());
    let mut room = MOST_BYTES;
    let cards: Html = waiting
        .iter()
        .enumerate()
        .map(|(at, one)| {
            let takes = if one.bytes().len() <= SMALL { 0 } else { one.bytes().len() };
            match room.checked_sub(takes) {
                None => large(asked, one, now, at == 0),
                Some(left) => {
                    room = left;
                    card(console, asked, one, now, at == 0)
                }
            }
        })
        .collect();
    let cards = if waiting.is_empty() { nothing(console) } else { cards };
    let more = (list.in_all > waiting.len() as u64).then(|| {
        html!(
            "<p class=\"soft\" data-testid=\"more\">These are {} of {} calls that wait, by turns of those who ask: the oldest of each caller first. \
             Others follow as these are decided; <code>candor approvals</code> lists all.</p>",
            waiting.len(),
            list.in_all
        )
    });
    Ok(html!(
        "<section id=\"questions\" aria-label=\"Calls that wait\" data-list>{}</section>{}{}",
        cards,
        more,
        grants_of(&grants, now)
    ))
}

fn nothing(console: &Inner) -> Html {
    let asks = console.engine.as_ref().is_none_or(|engine| {
        engine
            .about()
            .capabilities
            .extensions
            .is_some_and(|all| all.contains_key(extension::APPROVAL))
    });
    let next = if asks {
        html!("Approval requests appear here as they arrive. Leave this page open.")
    } else {
        html!(
            "No call of this server needs approval. Start it with <code>--ask destructive</code> to review calls that may delete or overwrite."
        )
    };
    html!(
        "<div class=\"empty\" data-testid=\"nothing-waits\"><strong>No approval requests</strong>{}</div>",
        next
    )
}

fn card(
    console: &Inner,
    asked: &ConsoleRequest,
    waiting: &ApprovalRequest,
    now: Moment,
    first: bool,
) -> Html {
    let Scope { principal, server, instance, tool } = &waiting.id.scope;
    let content = waiting.details();
    let id = waiting.id.digest().to_string();
    let focus = first.then(|| html!(" autofocus"));
    // A reviewer must not approve what the page cannot show.
    let approve = content.as_ref().map(|_| {
        html!(
            "<button type=\"button\" class=\"main\" data-decide=\"approve\">Approve once</button>"
        )
    });
    let (mark, effect) = match &content {
        Some(Content { effect: Some(effect), .. }) => {
            (verdict(*effect), shown(&other_parts(*effect)))
        }
        Some(content) => (not_known(), shown(&content.summary)),
        None => (not_known(), html!("what it would do cannot be read here")),
    };
    // The ledger also has the calls of other servers, whose tools have no page here.
    let ours = console.engine.as_ref().filter(|engine| engine.name() == server);
    let named = |tool: &str| match ours {
        Some(_) => {
            html!("<a href=\"{}/ui/tools/{}\">{}</a>", asked.base, encoded(tool), shown(tool))
        }
        None => shown(tool),
    };
    let inside = html!(
        "<h2 id=\"h-{}\">{} <span class=\"what\">{}</span></h2>\
         <p class=\"soft\"><span class=\"name\">{}</span> · {} · <span class=\"left\">{}</span></p>\
         {}\
         <dl><dt>Caller</dt><dd>{}</dd><dt>Server</dt><dd>{} <span class=\"soft\">{}</span></dd>{}{}\
         <dt>Asked</dt><dd>{}</dd><dt>Operation</dt><dd class=\"mono\"><a href=\"{}/ui/history/{}\">{}</a></dd></dl>\
         {}\
         <div class=\"actions\"><button type=\"button\" data-decide=\"deny\" data-item{}>Deny</button>{}</div>{}{}",
        waiting.short(),
        mark,
        headline(tool, content.as_ref()),
        named(tool),
        effect,
        left(waiting.until, now),
        content.as_ref().and_then(preview),
        shown(principal),
        shown(server),
        shown(instance),
        content.as_ref().map(client),
        content.as_ref().map(|content| undo(content, named)),
        when::ago(waiting.since, now),
        asked.base,
        id,
        waiting.short(),
        content.as_ref().map_or_else(|| unreadable(waiting), arguments),
        focus,
        approve,
        deny_because(waiting),
        content.as_ref().map(|content| permit(waiting, content))
    );
    sheet(waiting, false, &inside)
}

/// Returns the card of a request that is too large for the list. It can be denied here, and approved on its own page, which shows
/// all of it.
fn large(asked: &ConsoleRequest, waiting: &ApprovalRequest, now: Moment, first: bool) -> Html {
    let Scope { principal, tool, .. } = &waiting.id.scope;
    let id = waiting.id.digest().to_string();
    let focus = first.then(|| html!(" autofocus"));
    let inside = html!(
        "<h2 id=\"h-{}\"><span class=\"what name\">{}</span></h2>\
         <p class=\"soft\">{} · <span class=\"left\">{}</span></p>\
         <p>This call has too much in it to stand beside others, {} bytes. <a href=\"{}/ui/approvals/{}\">Look at all of it</a> before you approve it.</p>\
         <div class=\"actions\"><button type=\"button\" data-decide=\"deny\" data-item{}>Deny</button></div>",
        waiting.short(),
        shown(tool),
        shown(principal),
        left(waiting.until, now),
        waiting.bytes().len(),
        asked.base,
        id,
        focus
    );
    sheet(waiting, true, &inside)
}

/// Returns the element for decisions. It names exactly the version of the request that it shows, and whether it shows all of it.
fn sheet(waiting: &ApprovalRequest, large: bool, inside: &Html) -> Html {
    html!(
        "<article class=\"question sheet arrives\" id=\"q-{}\" data-id=\"{}\" data-version=\"{}\" data-until=\"{}\"{} data-testid=\"question\" aria-labelledby=\"h-{}\">{}</article>",
        waiting.short(),
        waiting.id.digest().to_string(),
        version(waiting),
        when::written(waiting.until),
        large.then(|| html!(" data-large")),
        waiting.short(),
        inside
    )
}

fn left(until: Moment, now: Moment) -> String {
    format!("{} left to decide", when::length(now.until(until)))
}

/// Returns the first line of the preview, if it is short enough for a headline.
fn said_first(content: &Content) -> Option<&str> {
    let line = content.preview.as_deref()?.lines().next()?;
    (!line.trim().is_empty() && line.chars().count() <= HEADLINE).then_some(line)
}

/// Returns one sentence: the first line of the preview, or else the call with its arguments.
fn headline(tool: &str, content: Option<&Content>) -> Html {
    if let Some(line) = content.and_then(said_first) {
        return shown(line);
    }
    let arguments: Value = content
        .and_then(|content| serde_json::from_str(content.arguments.get()).ok())
        .unwrap_or_default();
    let mut words = vec![tool.to_owned()];
    for (name, value) in arguments.as_object().into_iter().flatten() {
        let value = match value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        words.push(format!("{name}={value}"));
    }
    let line = words.join(" ");
    if line.chars().count() <= HEADLINE {
        return html!("<span class=\"mono\">{}</span>", shown(&line));
    }
    // Says that the line is cut. The card has all of it below.
    let cut: String = line.chars().take(HEADLINE).collect();
    html!(
        "<span class=\"mono\">{}</span> <span class=\"soft\">(all arguments below)</span>",
        shown(&cut)
    )
}

fn client(content: &Content) -> Html {
    let says = content.client.as_deref();
    html!(
        "<dt>Client</dt><dd>{}</dd>",
        says.map_or_else(
            || html!("does not say what it is"),
            |says| html!("claims to be {}", shown(says))
        )
    )
}

/// Returns the sentence of [`Undo::summary`], with a link to the tool.
fn undo(content: &Content, named: impl Fn(&str) -> Html) -> Html {
    let how = match &content.undo {
        Some(Undo::With(tool)) => html!(
            "The server says that <span class=\"name\">{}</span> can undo the call.",
            named(tool)
        ),
        other => shown(&Undo::summary(other.as_ref())),
    };
    html!("<dt>Undo</dt><dd data-testid=\"undo\">{}</dd>", how)
}

/// Returns the whole preview, unless the headline already has it.
fn preview(content: &Content) -> Option<Html> {
    let preview = content.preview.as_deref()?;
    if said_first(content).is_some_and(|line| line.trim_end() == preview.trim_end()) {
        return None;
    }
    Some(html!(
        "<h3>What its preview shows</h3><pre tabindex=\"0\" data-testid=\"preview\">{}</pre>",
        shown(preview)
    ))
}

/// Returns all arguments, digit for digit, and the tool's description.
fn arguments(content: &Content) -> Html {
    let author = content.title.iter().chain(&content.description).map(String::as_str);
    let author = author.collect::<Vec<_>>().join("\n");
    let author = match author.is_empty() {
        true => html!("<p class=\"soft\">(the tool has no description)</p>"),
        false => html!(
            "<h3>What the tool's author says of it</h3><pre tabindex=\"0\" data-testid=\"author\">{}</pre>",
            shown(&author)
        ),
    };
    html!(
        "<h3>Arguments</h3><pre tabindex=\"0\" data-testid=\"arguments\">{}</pre>{}",
        shown(&json::pretty(content.arguments.get(), "")),
        author
    )
}

fn unreadable(waiting: &ApprovalRequest) -> Html {
    html!(
        "<h3>The request, which this version cannot read</h3><pre tabindex=\"0\">{}</pre>",
        shown(&String::from_utf8_lossy(waiting.bytes()))
    )
}

fn deny_because(waiting: &ApprovalRequest) -> Html {
    html!(
        "<details class=\"more\"><summary>Deny with a reason</summary>\
         <label for=\"why-{}\">Why, for the caller</label><input id=\"why-{}\" data-reason maxlength=\"500\">\
         <div class=\"actions\"><button type=\"button\" data-decide=\"deny\" data-with=\"reason\">Deny and say why</button></div></details>",
        waiting.short(),
        waiting.short()
    )
}

/// Returns the form for a grant: which arguments of similar calls may differ.
fn permit(waiting: &ApprovalRequest, content: &Content) -> Html {
    let id = waiting.short();
    let arguments: Value = serde_json::from_str(content.arguments.get()).unwrap_or_default();
    let choices: Html = arguments
        .as_object()
        .into_iter()
        .flatten()
        .enumerate()
        .map(|(at, (name, value))| {
            if content.secrets.contains(name) {
                return secret_choice(&id, at, name);
            }
            let folder = value.as_str().and_then(|path| path.rsplit_once('/')).map(|(folder, _)| folder);
            let folder = folder.filter(|folder| !folder.is_empty()).map(|folder| {
                html!("<option value=\"under\" data-folder=\"{}\">anything in {}</option>", folder, cut(folder, MOST_SHOWN))
            });
            let value = match value {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            // A menu shows only text, so misleading characters become escapes.
            let value = cut(&value, MOST_SHOWN);
            html!(
                "<tr><th scope=\"row\"><label class=\"mono\" for=\"like-{}-{}\">{}</label></th>\
                 <td><select id=\"like-{}-{}\" data-like=\"{}\"><option value=\"is\">exactly {}</option>{}<option value=\"any\">anything, or omitted</option></select></td></tr>",
                id, at, shown(name), id, at, name, value, folder
            )
        })
        .collect();
    let lengths: Html = LENGTHS
        .iter()
        .map(|(minutes, words)| {
            let chosen = (*minutes == 15).then(|| html!(" selected"));
            html!("<option value=\"{}\"{}>{}</option>", *minutes, chosen, *words)
        })
        .collect();
    html!(
        "<details class=\"more\" data-testid=\"grant-similar\"><summary>Grant similar calls</summary>\
         <p>Until the grant expires, this caller may call <span class=\"name\">{}</span> without approval with these arguments:</p>\
         <table class=\"like\">{}</table>\
         <p><label for=\"for-{}\">For</label> <select id=\"for-{}\" data-minutes class=\"short\">{}</select></p>\
         <div class=\"actions\"><button type=\"button\" data-decide=\"approve\" data-with=\"grant\">Approve and grant</button></div></details>",
        shown(&waiting.id.scope.tool),
        choices,
        id,
        id,
        lengths
    )
}

/// Returns the choice for a secret. Nothing is selected until the reviewer chooses, because the server does not know the value.
fn secret_choice(id: &str, at: usize, name: &str) -> Html {
    html!(
        "<tr><th scope=\"row\"><label class=\"mono\" for=\"like-{}-{}\">{}</label></th>\
         <td><select id=\"like-{}-{}\" data-like=\"{}\"><option value=\"\" disabled selected>a secret: a grant cannot match its value</option>\
         <option value=\"any\">anything, or omitted</option></select></td></tr>",
        id,
        at,
        shown(name),
        id,
        at,
        name
    )
}

fn grants_of(grants: &[Grant], now: Moment) -> Html {
    if grants.is_empty() {
        return html!(
            "<h2>Grants</h2><p class=\"soft\" data-testid=\"no-grants\">No active grants.</p>"
        );
    }
    let lines: Html = grants
        .iter()
        .map(|grant| {
            let Scope { principal, tool, server, .. } = &grant.scope;
            let pattern = pattern_summary(&grant.pattern);
            let pattern: Html = pattern.iter().map(|line| html!("<li>{}</li>", shown(line.trim()))).collect();
            html!(
                "<tr data-testid=\"grant\"><td>{} may call <span class=\"name\">{}</span> of {} when:<ul>{}</ul></td>\
                 <td>{} left<br><span class=\"soft\">by {}</span></td>\
                 <td><button type=\"button\" data-revoke=\"{}\" data-item>Revoke</button></td></tr>",
                shown(principal),
                shown(tool),
                shown(server),
                pattern,
                when::length(now.until(grant.until)),
                shown(&grant.by),
                grant.id.to_string()
            )
        })
        .collect();
    html!(
        "<h2>Grants</h2><div class=\"wide\"><table class=\"grants\"><thead><tr><th scope=\"col\">Runs without approval</th>\
         <th scope=\"col\">Expires</th><th scope=\"col\"><span class=\"unseen\">Revoke</span></th></tr></thead><tbody>{}</tbody></table></div>",
        lines
    )
}
