//! The frame of all pages.

use axum::body::Body;
use axum::response::Response;
use candor_operator::RecordedEffect;
use candor_server::hints::{Effect, EffectiveHints, UNCLASSIFIED};
use http::header::CONTENT_TYPE;
use http::{HeaderValue, StatusCode};

use crate::Inner;
use crate::access::{AuthMethod, ConsoleIdentity};
use crate::html::{Html, html, shown};
use crate::problem::Problem;
use crate::project::Project;
use crate::request::ConsoleRequest;

/// The section of the console that a page belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Section {
    Tools,
    Approvals,
    History,
    Resources,
    Server,
    Elsewhere,
}

/// The parts in which pages differ.
pub(crate) struct PageParts<'a> {
    pub(crate) section: Section,
    /// The page's own title, which comes before the console's in the browser.
    pub(crate) title: &'a str,
    /// The page's own script, besides the common one: a name in `assets/`.
    pub(crate) script: Option<&'static str>,
    pub(crate) main: Html,
}

/// Returns the whole page.
pub(crate) fn page(console: &Inner, asked: &ConsoleRequest, page: PageParts<'_>) -> Response {
    let html = document(console, &asked.base, Some(&asked.visitor), page);
    respond(StatusCode::OK, html)
}

/// Returns a part of a page, which a script inserts.
pub(crate) fn part(html: Html) -> Response {
    respond(StatusCode::OK, html)
}

fn respond(status: StatusCode, html: Html) -> Response {
    let mut response = Response::new(Body::from(html.into_string()));
    *response.status_mut() = status;
    let kind = HeaderValue::from_static("text/html; charset=utf-8");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}

/// Returns an error page. A caller without a token can log in on it.
pub(crate) fn problem(
    console: &Inner,
    base: &str,
    visitor: Option<&ConsoleIdentity>,
    problem: &Problem,
) -> Response {
    let status = problem.status();
    let detail = problem.detail();
    let (title, says, login) = match status {
        StatusCode::UNAUTHORIZED => {
            // Users read other words than programs, except for the reason why a token was refused.
            let refused = (detail != console.where_the_token_is()).then(|| format!("{detail}. "));
            let says = html!("{}{}", refused, where_the_token_is(console));
            ("Log in", says, Some(login(base, true)))
        }
        _ => (status.canonical_reason().unwrap_or("Problem"), html!("{}", detail), None),
    };
    let main = html!(
        "<h1>{}</h1><p class=\"lead\">{}</p>{}<p><a href=\"{}\">Back to the beginning</a></p>",
        title,
        says,
        login,
        home(base)
    );
    let page = PageParts { section: Section::Elsewhere, title, script: None, main };
    let mut response = respond(status, document(console, base, visitor, page));
    problem.add_headers(response.headers_mut());
    response
}

/// Returns the path of the first page. Below a prefix, the path is explicit: `nest("/admin", …)` does not route `/admin/`, and
/// `nest("/admin/", …)` does not route `/admin`.
pub(crate) fn home(base: &str) -> String {
    if base.is_empty() { "/".to_owned() } else { format!("{base}/ui/tools") }
}

/// Returns the login form.
fn login(base: &str, alone: bool) -> Html {
    // Only if the page has nothing else to do.
    let focus = alone.then(|| html!(" autofocus"));
    html!(
        "<form class=\"login\" method=\"post\" action=\"{}/ui/session\" data-testid=\"login\">\
         <label for=\"token\">Token</label>\
         <input id=\"token\" name=\"token\" type=\"password\" autocomplete=\"off\" spellcheck=\"false\" required{}>\
         <button>Log in</button><p class=\"error\" role=\"alert\" data-testid=\"login-error\" hidden></p></form>",
        base,
        focus
    )
}

fn document(
    console: &Inner,
    base: &str,
    visitor: Option<&ConsoleIdentity>,
    page: PageParts<'_>,
) -> Html {
    let PageParts { section, title, script, main } = page;
    let whole_title = match title {
        "" => console.title.clone(),
        title => format!("{title} · {}", console.title),
    };
    // A title cannot contain tags, so invisible characters become escapes.
    let whole_title = candor_operator::shown::shown(&whole_title).to_string();
    let script = script
        .map(|name| html!("<script type=\"module\" src=\"{}/ui/assets/{}\"></script>", base, name));
    let operator = if visitor.is_some_and(|visitor| visitor.operator) { "true" } else { "false" };
    html!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta name=\"candor-base\" content=\"{}\">\n\
         <title>{}</title>\n\
         <link rel=\"icon\" href=\"{}/ui/assets/icon.svg\" type=\"image/svg+xml\">\n\
         <link rel=\"stylesheet\" href=\"{}/ui/assets/console.css\">\n\
         <script type=\"module\" src=\"{}/ui/assets/console.js\"></script>\n{}\n</head>\n\
         <body data-operator=\"{}\">\n\
         <a class=\"skip\" href=\"#main\">Skip to the content</a>\n{}{}{}{}\
         <main id=\"main\" tabindex=\"-1\">\n{}\n</main>\n{}\
         <div id=\"live\" class=\"unseen\" role=\"status\" aria-live=\"polite\"></div>\n{}\n</body>\n</html>\n",
        base,
        whole_title,
        base,
        base,
        base,
        script,
        operator,
        head(console, base, visitor, section),
        banner(console, base, visitor),
        lost(visitor),
        still(visitor),
        main,
        console.project.as_ref().map(Project::footer),
        sheet(console),
    )
}

/// The keyboard shortcuts of the console.
const SHORTCUTS: [(&str, &str); 10] = [
    ("/", "Search, or filter"),
    ("Ctrl Enter", "Call, from within a field of a tool"),
    ("↓ ↑", "Next and previous in a list or tree"),
    ("→ ←", "Open and close in a tree"),
    ("g t", "Tools"),
    ("g a", "Approvals"),
    ("g h", "History"),
    ("g r", "Resources"),
    ("g s", "Server"),
    ("?", "This sheet"),
];

fn keys_in(keys: &str) -> Html {
    keys.split(' ').map(|key| html!("<kbd>{}</kbd> ", key)).collect()
}

/// Returns the dialog that lists the shortcuts.
fn sheet(console: &Inner) -> Html {
    let there = sections(console);
    let lines: Html = SHORTCUTS
        .into_iter()
        .filter(|(keys, what)| match *keys {
            "Ctrl Enter" => console.engine.is_some(),
            keys => !keys.starts_with("g ") || there.iter().any(|one| one.1 == *what),
        })
        .map(|(keys, what)| html!("<dt>{}</dt><dd>{}</dd>", keys_in(keys), what))
        .collect();
    html!(
        "<dialog id=\"shortcuts\" aria-labelledby=\"shortcuts-title\"><h2 id=\"shortcuts-title\">Keys</h2>\
         <dl>{}</dl><form method=\"dialog\"><button>Close</button></form></dialog>",
        lines
    )
}

/// Returns the sections of this console, with their names and paths.
fn sections(console: &Inner) -> Vec<(Section, &'static str, &'static str)> {
    let served = console.engine.is_some();
    let mut all = Vec::new();
    if served {
        all.push((Section::Tools, "Tools", "/"));
    }
    if console.store.is_some() {
        all.push((Section::Approvals, "Approvals", "/ui/approvals"));
        all.push((Section::History, "History", "/ui/history"));
    }
    if served {
        all.push((Section::Resources, "Resources", "/ui/resources"));
        all.push((Section::Server, "Server", "/ui/server"));
    }
    all
}

fn head(console: &Inner, base: &str, visitor: Option<&ConsoleIdentity>, section: Section) -> Html {
    let links: Html = sections(console)
        .into_iter()
        .map(|(of, name, path)| {
            let current = (of == section).then(|| html!(" aria-current=\"page\""));
            let count = (of == Section::Approvals)
                .then(|| html!("<span class=\"count\" id=\"waiting\" hidden></span>"));
            let path = if path == "/" { home(base) } else { format!("{base}{path}") };
            html!("<li><a href=\"{}\"{}>{}{}</a></li>", path, current, name, count)
        })
        .collect();
    html!(
        "<header class=\"top\"><a class=\"brand\" href=\"{}\">{}</a>\
         <nav aria-label=\"Main\"><ul>{}</ul></nav>{}</header>\n",
        home(base),
        shown(&console.title),
        links,
        visitor.map(who)
    )
}

fn who(visitor: &ConsoleIdentity) -> Html {
    match &visitor.way {
        AuthMethod::Unknown => html!("<p class=\"who\">not logged in</p>"),
        AuthMethod::Bearer => html!("<p class=\"who\">{}</p>", shown(visitor.principal.as_str())),
        AuthMethod::Cookie { .. } => html!(
            "<p class=\"who\"><span data-who>{}</span> <button type=\"button\" class=\"quiet\" data-do=\"log-out\">Log out</button></p>",
            shown(visitor.principal.as_str())
        ),
    }
}

/// Returns the login banner for a caller that may only read. With a cookie, it stays hidden until the cookie is no longer enough.
fn banner(console: &Inner, base: &str, visitor: Option<&ConsoleIdentity>) -> Option<Html> {
    let (test, hidden, says) = match visitor?.way {
        AuthMethod::Bearer => return None,
        AuthMethod::Unknown => ("read-only", None, "You can look, not act."),
        AuthMethod::Cookie { .. } => {
            ("log-in-again", Some(html!(" hidden")), "Log in again to act.")
        }
    };
    Some(html!(
        "<aside class=\"banner\" id=\"banner\" aria-label=\"Log in\" data-testid=\"{}\"{}><p><strong>{}</strong> {}</p>{}</aside>\n",
        test,
        hidden,
        says,
        where_the_token_is(console),
        login(base, false)
    ))
}

/// Returns the banner for an unreachable server. Only operators get it, because only their pages listen for requests.
fn lost(visitor: Option<&ConsoleIdentity>) -> Option<Html> {
    visitor.filter(|visitor| visitor.operator).map(|_| {
        html!(
            "<div class=\"banner\" id=\"lost\" data-testid=\"lost\" hidden><p><strong>The server cannot be reached.</strong> \
             This page shows the last known state. It updates when the server is back.</p></div>\n"
        )
    })
}

/// Returns the message for a logout that the server did not confirm.
fn still(visitor: Option<&ConsoleIdentity>) -> Option<Html> {
    visitor.filter(|visitor| matches!(visitor.way, AuthMethod::Cookie { .. })).map(|_| {
        html!("<div class=\"banner error\" id=\"still\" role=\"alert\" data-testid=\"still-in\" hidden></div>\n")
    })
}

/// Returns where to find the token, for users.
fn where_the_token_is(console: &Inner) -> &'static str {
    match console.front.authenticator() {
        None => {
            "Open the link that the server printed when it started; it holds this launch's token. Or paste the token here."
        }
        Some(_) => "Paste your token here. The operator of this server can give you one.",
    }
}

/// Returns the effect of a call: the only thing in the console that has a color.
pub(crate) fn verdict(effective: EffectiveHints) -> Html {
    let effect = effective.hints.effect();
    match effective.is_unclassified() {
        true => coloured(effect, UNCLASSIFIED),
        false => coloured(effect, &effect.to_string()),
    }
}

/// Returns the worst effect of a tool's calls. If it depends on the arguments, it is what a call may do.
pub(crate) fn worst_verdict(effective: EffectiveHints, depends: bool) -> Html {
    let effect = effective.hints.effect();
    match depends && !effective.is_unclassified() {
        true => coloured(effect, effect.worst_case()),
        false => verdict(effective),
    }
}

/// Returns the word by which users filter tools.
pub(crate) fn verdict_word(effect: EffectiveHints) -> &'static str {
    if effect.is_unclassified() { "unclassified" } else { effect.hints.effect().as_str() }
}

/// Returns the effect that an audit row has, and its other parts in words. Words of an earlier version have no color.
pub(super) fn recorded_verdict(effect: &RecordedEffect) -> (Html, String) {
    match effect {
        RecordedEffect::Known(effect) => (verdict(*effect), other_parts(*effect)),
        RecordedEffect::Words(words) => (html!("<span>{}</span>", shown(words)), String::new()),
    }
}

/// Returns the effect of a call that cannot be evaluated.
pub(super) fn not_known() -> Html {
    coloured(Effect::ChangesOrDeletes, "Not known")
}

fn coloured(effect: Effect, word: &str) -> Html {
    // A call that may delete has the color of one that deletes.
    let color = if effect == Effect::ChangesOrDeletes { Effect::Deletes } else { effect };
    html!("<span class=\"verdict {}\">{}</span>", color.as_str(), word)
}

/// The words beside [`UNCLASSIFIED`]: how such a call is treated.
const WORST_CASE: &str = "treated as the worst case";

/// Returns the other parts of the effect, in small print.
pub(crate) fn besides(effect: EffectiveHints) -> Html {
    html!("<span class=\"besides\">{}</span>", other_parts(effect))
}

/// Returns the other parts of the effect, in words.
pub(super) fn other_parts(effect: EffectiveHints) -> String {
    let hints = effect.hints;
    match effect.is_unclassified() {
        true => WORST_CASE.to_owned(),
        false => format!("{} · {}", hints.retry(), hints.reach()),
    }
}

#[cfg(test)]
mod tests {
    use candor_server::hints::{DeclaredHints, Hints};

    use super::*;

    #[test]
    fn recorded_effect_has_a_color_unless_it_is_words() {
        let read = |effect: EffectiveHints| RecordedEffect::read(&RecordedEffect::stored(effect));
        let reads = Hints::READS.closed_world().declared().effective();
        let (verdict, rest) = recorded_verdict(&read(reads));
        assert_eq!(verdict.into_string(), "<span class=\"verdict reads\">Reads</span>");
        assert_eq!(rest, "safe to retry · local");
        let (verdict, rest) = recorded_verdict(&read(DeclaredHints::default().effective()));
        assert_eq!(verdict.into_string(), "<span class=\"verdict deletes\">Unclassified</span>");
        assert_eq!(rest, "treated as the worst case");
        let (verdict, rest) = recorded_verdict(&RecordedEffect::read("reads <nothing>"));
        assert_eq!(verdict.into_string(), "<span>reads &lt;nothing&gt;</span>");
        assert_eq!(rest, "");
    }
}
