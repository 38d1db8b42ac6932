//! The page of one tool: its arguments, what a call would do, and the call itself.

use std::sync::Arc;

use axum::response::Response;
use candor_server::hints::EffectiveHints;
use candor_server::protocol::json::RawValue;
use candor_server::tool::{Idempotency, KEY_ARGUMENT, SchemaProblem, SchemaRole};
use candor_server::{NextStep, ToolView};
use serde_json::Value;

use super::shell::{self, PageParts, Section, besides, home, verdict_word, worst_verdict};
use crate::Inner;
use crate::form::{self, Field, Kind, Text};
use crate::html::{Html, html, shown};
use crate::problem::Problem;
use crate::request::ConsoleRequest;
use crate::rest::body::view;
use crate::rest::refused;
use crate::route::encoded;

pub(crate) async fn page(
    console: &Arc<Inner>,
    asked: &ConsoleRequest,
    name: &str,
) -> Result<Response, Problem> {
    let view = view(console, asked)?;
    let tool = view.tool(name).await.map_err(refused::problem)?;
    let schema = parsed(&tool.definition.input_schema);
    let mut takes = form::read(&schema);
    if tool.idempotency.has_argument() {
        mark_key(&mut takes);
    }
    let gives = tool.definition.output_schema.as_ref().map(|schema| form::read(&parsed(schema)));
    let ledger = console.store.is_some();
    let key = (ledger && tool.idempotency == Idempotency::Beside).then(key_field);
    let main = html!(
        "{}{}<div class=\"bench\" data-tool=\"{}\" data-path=\"/tools/{}\" data-testid=\"bench\">\
         <form id=\"call\" novalidate data-testid=\"form\">{}{}{}{}</form>{}{}</div>{}{}",
        head(&asked.base, &tool, &takes, gives.as_ref()),
        schema_problems(asked, &tool),
        name,
        encoded(name),
        errors(),
        arguments(&takes, &schema),
        key,
        actions(console, asked, &tool),
        foresight(asked, &tool),
        outcome(),
        reference(&tool, &takes, gives.as_ref()),
        confirm(name)
    );
    let page = PageParts { section: Section::Tools, title: name, script: Some("tool.js"), main };
    Ok(shell::page(console, asked, page))
}

/// Parses a schema. Text that is not JSON describes nothing.
fn parsed(schema: &RawValue) -> Value {
    serde_json::from_str(schema.get()).unwrap_or_default()
}

/// Marks the argument for the idempotency key, so that the form offers to make one.
fn mark_key(takes: &mut Field) {
    let Kind::Group { fields, .. } = &mut takes.kind else { return };
    for field in fields.iter_mut().filter(|field| field.name == KEY_ARGUMENT) {
        if let Kind::Text(text) = &mut field.kind {
            *text = Text::Key;
        }
    }
}

fn head(base: &str, tool: &ToolView<'_>, takes: &Field, gives: Option<&Field>) -> Html {
    let definition = &tool.definition;
    let title = definition.title.as_deref().filter(|title| *title != definition.name);
    let title = title.map(|title| html!("<p class=\"soft\">{}</p>", shown(title)));
    let depends = tool.dynamic.then(|| html!(" · depends on the arguments"));
    html!(
        "<p class=\"back\"><a href=\"{}\">Tools</a></p><div class=\"title\"><h1 class=\"name\">{}</h1>\
         <p class=\"small\">{} {}{}</p></div>{}<p class=\"lead lines\">{}</p>\
         <p class=\"signature mono\" data-testid=\"signature\">{}</p>",
        home(base),
        shown(&definition.name),
        worst_verdict(tool.worst, tool.dynamic),
        besides(tool.worst),
        depends,
        title,
        shown(definition.description.as_deref().unwrap_or_default()),
        shown(&form::signature(&definition.name, takes, gives))
    )
}

/// Names the schemas of the tool's types that cannot be used. The reason may quote a panic, so it is for operators.
fn schema_problems(asked: &ConsoleRequest, tool: &ToolView<'_>) -> Html {
    let row = |found: &SchemaProblem| {
        let published = match found.role {
            SchemaRole::Input => {
                "The server accepts any object; the tool's types check the arguments."
            }
            SchemaRole::Output => "The server publishes no output schema.",
        };
        let why = asked.visitor.operator.then(|| html!(" <code>{}</code>", shown(&found.problem)));
        html!(
            "<p data-testid=\"schema-problem\"><strong>The {} schema of this tool's types cannot be used.</strong> {}{}</p>",
            found.role.as_str(),
            published,
            why
        )
    };
    tool.schema_problems.iter().map(row).collect()
}

/// Returns the list of errors. It stays empty until the user tries to send.
fn errors() -> Html {
    html!(
        "<div class=\"errors\" id=\"errors\" tabindex=\"-1\" role=\"group\" aria-labelledby=\"errors-title\" data-testid=\"errors\" hidden>\
         <h2 id=\"errors-title\">Not sent</h2><ul></ul></div>"
    )
}

fn arguments(takes: &Field, schema: &Value) -> Html {
    let fields = form::form(takes);
    let nothing = matches!(&takes.kind, Kind::Group { fields, rest: None } if fields.is_empty());
    let says = match (&fields, nothing) {
        (None, _) => html!(
            "<p class=\"soft\">This schema is too large or too unusual for a form. Write the arguments as JSON.</p>"
        ),
        (_, true) => html!("<p class=\"soft\">It takes no arguments.</p>"),
        _ => takes
            .limits
            .iter()
            .map(|limit| {
                html!("<p class=\"soft\"><span class=\"limit\">{}</span></p>", shown(limit))
            })
            .collect(),
    };
    let root = if matches!(takes.kind, Kind::Group { .. }) { "group" } else { "only" };
    let prefill = form::prefill(schema);
    let prefill = serde_json::to_string_pretty(&prefill).unwrap_or_default();
    let offered = if fields.is_some() { "true" } else { "false" };
    html!(
        "<div class=\"views\" role=\"group\" aria-label=\"How to write the arguments\" hidden>\
         <button type=\"button\" data-view=\"form\" aria-pressed=\"true\" data-testid=\"view-form\">Form</button>\
         <button type=\"button\" data-view=\"json\" aria-pressed=\"false\" data-testid=\"view-json\">JSON</button></div>\
         {}<div id=\"fields\" data-kind=\"{}\" data-name=\"\" data-required data-offered=\"{}\">{}</div>\
         <div id=\"json\" hidden><label for=\"raw\">Arguments as JSON</label>\
         <textarea id=\"raw\" rows=\"10\" spellcheck=\"false\" aria-describedby=\"raw-error\" data-testid=\"raw\">{}</textarea>\
         <p class=\"error\" id=\"raw-error\" role=\"alert\" data-testid=\"raw-error\" hidden></p></div>",
        says,
        root,
        offered,
        fields,
        prefill
    )
}

fn key_field() -> Html {
    html!(
        "<div class=\"field idempotency\"><label for=\"key\"><span class=\"name\">Idempotency-Key</span> <span class=\"need\">optional</span></label>\
         <p class=\"hint\" id=\"key-hint\">A call that comes again with the same key gets the first result; it does not run twice.</p>\
         <div class=\"control\"><input id=\"key\" type=\"text\" aria-describedby=\"key-hint\" spellcheck=\"false\" autocomplete=\"off\" data-testid=\"key\">\
         <button type=\"button\" class=\"small\" data-form=\"uuid\">New</button></div></div>"
    )
}

/// Returns the buttons for a call, or why the caller cannot call.
fn actions(console: &Inner, asked: &ConsoleRequest, tool: &ToolView<'_>) -> Html {
    let why = if !console.allow_execute {
        Some(
            "Calling is switched off in this console. The operator of this server can switch it on.",
        )
    } else if !asked.visitor.is_known() {
        Some("To call it, log in with the token that the server printed when it started.")
    } else {
        None
    };
    let validate = html!(
        "<button type=\"button\" data-act=\"validate\" data-testid=\"validate\">Validate</button>"
    );
    let checked = html!("<p class=\"checked\" id=\"checked\" data-testid=\"checked\" hidden></p>");
    if let Some(why) = why {
        return html!(
            "<div class=\"actions\">{}</div>{}<p class=\"soft\" data-testid=\"cannot-call\">{}</p>{}",
            validate,
            checked,
            why,
            no_script()
        );
    }
    let preview = tool.preview.map(|_| {
        html!(
            "<button type=\"button\" data-act=\"preview\" data-testid=\"preview\">Preview</button>"
        )
    });
    html!(
        "<div class=\"actions\"><button class=\"main\" data-testid=\"call\">Call</button>{}{}\
         <button type=\"button\" data-act=\"cancel\" data-testid=\"cancel\" hidden>Cancel</button></div>{}{}",
        preview,
        validate,
        checked,
        no_script()
    )
}

fn no_script() -> Html {
    html!(
        "<noscript><p class=\"soft\">Checking and calling need JavaScript; what the tool takes and does can be read without.</p></noscript>"
    )
}

/// Returns what a call would do. Until the user types, this is the worst case.
fn foresight(asked: &ConsoleRequest, tool: &ToolView<'_>) -> Html {
    let other = |word: &str, name: Option<&str>, test: &str| {
        name.map(|name| {
            html!(
                "<dt>{}</dt><dd><a class=\"name\" data-testid=\"{}\" href=\"{}/ui/tools/{}\">{}</a></dd>",
                word,
                test,
                asked.base,
                encoded(name),
                shown(name)
            )
        })
    };
    let must = tool
        .requires_preview
        .then(|| html!("<dt></dt><dd>A call needs the token of a preview</dd>"));
    let rate = tool.rate.as_deref().map(|rate| html!("<dt>At most</dt><dd>{}</dd>", shown(rate)));
    html!(
        "<aside class=\"foresight sheet\" aria-labelledby=\"would\" data-testid=\"foresight\" data-state=\"worst\" data-verdict=\"{}\">\
         <h2 id=\"would\">What this call would do</h2>\
         <p class=\"verdict-line\"><span id=\"verdict\" data-testid=\"verdict\">{}</span> <span id=\"besides\">{}</span></p>\
         <p class=\"soft\" id=\"exact\">The worst that any call can do</p>\
         <dl class=\"facts\"><dt>Arguments</dt><dd id=\"fits\" data-testid=\"valid\">not checked yet</dd>\
         <dt>Decision</dt><dd id=\"decision\" data-testid=\"decision\">{}</dd>\
         <dt id=\"record-is\" hidden>On record</dt><dd id=\"record\" data-testid=\"record\" hidden></dd>\
         {}{}{}{}{}</dl>{}\
         <details><summary>The server's answer</summary><pre id=\"answer\" tabindex=\"0\" data-testid=\"answer\">–</pre></details></aside>",
        verdict_word(tool.worst),
        worst_verdict(tool.worst, tool.dynamic),
        besides(tool.worst),
        NextStep::of_verdict(tool.verdict).label(),
        other("Preview", tool.preview, "preview-tool"),
        must,
        other("Undo", tool.undo, "undo-tool"),
        other("Gentler", tool.instead, "instead-tool"),
        rate,
        hint_table(tool.worst)
    )
}

/// Returns the four hints, and the source of each.
fn hint_table(effective: EffectiveHints) -> Html {
    let EffectiveHints { hints, sources } = effective;
    let values = [
        ("readOnlyHint", hints.is_read_only()),
        ("destructiveHint", hints.is_destructive()),
        ("idempotentHint", hints.is_idempotent()),
        ("openWorldHint", hints.is_open_world()),
    ];
    let rows: Html = values
        .into_iter()
        .zip(sources)
        .map(|((name, value), source)| {
            html!(
                "<tr data-hint=\"{}\"><th scope=\"row\" class=\"mono\">{}</th><td class=\"mono\">{}</td><td>{}</td></tr>",
                name,
                name,
                if value { "true" } else { "false" },
                source.as_str()
            )
        })
        .collect();
    html!(
        "<table class=\"hints\" data-testid=\"hints\"><caption class=\"unseen\">The four hints and the source of each</caption>\
         <thead><tr><th scope=\"col\">Hint</th><th scope=\"col\">Value</th><th scope=\"col\">Source</th></tr></thead><tbody>{}</tbody></table>\
         <p class=\"small\">Declared by the tool, resolved for these arguments, or the default if the tool declares nothing.</p>",
        rows
    )
}

fn outcome() -> Html {
    html!(
        "<section id=\"outcome\" class=\"outcome\" aria-labelledby=\"outcome-title\" data-testid=\"result\" data-state=\"not-run\">\
         <h2 id=\"outcome-title\" tabindex=\"-1\">Result</h2><p class=\"soft\" id=\"outcome-says\" data-testid=\"result-says\">Not called yet.</p>\
         <progress id=\"progress\" hidden aria-label=\"Progress\"></progress><div id=\"outcome-shows\"></div></section>"
    )
}

fn reference(tool: &ToolView<'_>, takes: &Field, gives: Option<&Field>) -> Html {
    let definition = &tool.definition;
    let effects: Html =
        tool.effects.iter().map(|line| html!("<li class=\"mono\">{}</li>", shown(line))).collect();
    let effects = (!tool.effects.is_empty()).then(|| {
        html!(
            "<h2>What makes a difference</h2><ul class=\"effects\" data-testid=\"effects\">{}</ul>",
            effects
        )
    });
    let outlined = |title: &str, field: Option<&Field>, schema: Option<&RawValue>| {
        let schema = schema?;
        let table = field.and_then(|field| form::outline(field, title));
        let text = serde_json::to_string_pretty(&parsed(schema)).unwrap_or_default();
        Some(html!(
            "<h2>{}</h2>{}<details><summary>Schema</summary><pre tabindex=\"0\">{}</pre></details>",
            title,
            table,
            shown(&text)
        ))
    };
    html!(
        "<section class=\"copies\"><h2>The same call elsewhere</h2>{}{}{}{}</section>\
         <section data-testid=\"reference\">{}{}{}</section>",
        copy("curl", "curl"),
        copy("candor", "command line"),
        copy("mcp", "MCP message"),
        copy("link", "link to this form"),
        effects,
        outlined("Parameters", Some(takes), Some(&definition.input_schema)),
        outlined("What it returns", gives, definition.output_schema.as_deref())
    )
}

/// Returns the call in another notation. The script updates it.
fn copy(id: &str, title: &str) -> Html {
    html!(
        "<details><summary>As {}</summary><div class=\"copy\"><pre id=\"as-{}\" data-testid=\"as-{}\"></pre>\
         <button type=\"button\" class=\"small\" data-do=\"copy\" data-of=\"as-{}\">Copy</button></div></details>",
        title,
        id,
        id,
        id
    )
}

/// Returns the dialog that confirms a call that may delete.
fn confirm(name: &str) -> Html {
    html!(
        "<dialog id=\"confirm\" aria-labelledby=\"confirm-title\" aria-describedby=\"confirm-effect\" data-testid=\"confirm\"><form method=\"dialog\">\
         <h2 id=\"confirm-title\">Call <span class=\"name\">{}</span>?</h2>\
         <p id=\"confirm-effect\" data-testid=\"confirm-effect\"></p><h3>Arguments</h3><pre id=\"confirm-arguments\" data-testid=\"confirm-arguments\"></pre>\
         <p id=\"confirm-undo\" data-testid=\"confirm-undo\"></p>\
         <div class=\"actions\"><button value=\"cancel\" autofocus data-testid=\"confirm-cancel\">Cancel</button>\
         <button value=\"call\" class=\"danger\" data-testid=\"confirm-call\">Call it</button></div></form></dialog>",
        shown(name)
    )
}
