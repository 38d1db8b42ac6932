//! `candor tools`: lists the tools of a server, one per line.

use std::io;
use std::process::ExitCode;

use candor::hints::HintSource;
use candor::operator::shown::shown;
use candor::protocol::json::{Json, RawValue};
use candor::protocol::names::extension;
use candor_client::{HostPolicy, KnownTool, Tools, UnusableTool};
use serde_json::{Value, json};

use super::error::CliError;
use super::given::definition;
use super::safe;
use super::server::{ConnectedServer, Server, ended, result};
use crate::out::Out;
use crate::targets::CommandWords;
use crate::width::cut;

#[derive(Debug, clap::Args)]
#[command(override_usage = "candor tools TARGET\n       candor tools -- PROGRAM [ARGS]...")]
pub(crate) struct ToolsArgs {
    /// The server: a URL, :PORT, or a name from a configuration file of your hosts
    #[arg(value_name = "TARGET")]
    words: Vec<String>,

    #[command(flatten)]
    server: Server,
}

pub(crate) async fn run(args: ToolsArgs) -> ExitCode {
    let ToolsArgs { words, server } = args;
    let nothing_more = |rest: Vec<String>| match rest.first() {
        Some(word) => Err(CliError::usage(format!(
            "{} is one word too many; for one tool: candor explain",
            shown(word)
        ))),
        None => Ok(()),
    };
    let list = async |reached: &ConnectedServer, (), out: &mut Out| list(reached, out).await;
    let done =
        server.visit((words, CommandWords::Names), HostPolicy::default(), nothing_more, list);
    ended(done.await, server.json)
}

/// The width of the longest effect, in columns.
const EFFECT: usize = 12;

/// The maximum width of a name and of a reason in one line, in columns.
const NAME: usize = 80;
const REASON: usize = 200;

async fn list(reached: &ConnectedServer, out: &mut Out) -> Result<(), CliError> {
    let tools = reached.client.tools().await?;
    if out.json {
        return result(out, &as_json(&tools)?);
    }
    let width = out.width().saturating_sub(EFFECT + 2);
    for tool in tools.iter() {
        let effect = format!("{:<EFFECT$}", effect(tool));
        let destroys = tool.declared().hints.is_destructive();
        let effect = if destroys { out.strong(&effect) } else { effect };
        out.line(&format!("{effect}  {}", definition(tool).signature(width)))?;
    }
    out.flush()?;
    if tools.is_empty() {
        eprintln!("{} has no tools", reached.name());
    }
    match tools.iter().filter(|tool| tool.declared().is_unclassified()).count() {
        0 => {}
        1 => eprintln!("1 tool is unclassified (treated as the worst case)"),
        more => eprintln!("{more} tools are unclassified (treated as the worst case)"),
    }
    for (name, schemas) in tools.iter().filter_map(|tool| Some((tool.name(), unavailable(tool)?))) {
        eprintln!(
            "{}: its {schemas} schema is unavailable; the server's log has the reason",
            safe::quote(name)
        );
    }
    for left_out in tools.left_out() {
        let (name, reason) = (cut(&left_out.name, NAME), cut(&left_out.reason, REASON));
        eprintln!("left out: {}: {reason}", safe::quote(&name));
    }
    reached.warn_of_untrusted();
    Ok(())
}

/// Returns which schemas of a tool its server could not use: `input`, `output`, or both.
pub(super) fn unavailable(tool: &KnownTool) -> Option<String> {
    let mark = serde_json::to_value(tool.definition().meta.as_ref()?).ok()?;
    let roles: Vec<_> = mark.get(extension::SCHEMA)?.get("unavailable")?.as_array()?.clone();
    let has = |role: &&&str| roles.iter().any(|named| named == **role);
    let roles: Vec<&str> = ["input", "output"].iter().filter(has).copied().collect();
    (!roles.is_empty()).then(|| roles.join(" and "))
}

/// Returns the worst effect of a call, as the tool declares it.
fn effect(tool: &KnownTool) -> String {
    let declared = tool.declared();
    if declared.is_unclassified() {
        return "Unclassified".to_owned();
    }
    let effect = declared.hints.effect();
    let depends = tool.is_dynamic() || tool.is_resolvable();
    if depends { effect.worst_case().to_owned() } else { effect.to_string() }
}

/// Returns the list: all members of each definition as the server sent them, and Candor's reading next to them.
fn as_json(tools: &Tools) -> io::Result<Box<RawValue>> {
    let listed: io::Result<Vec<_>> = tools.iter().map(|tool| tool_as_json(tool)).collect();
    let left_out = tools.left_out().iter().map(|left_out| {
        let UnusableTool { name, reason, definition, .. } = left_out;
        let (name, reason) = (Value::from(&name[..]), Value::from(&reason[..]));
        format!("{{\"name\":{name},\"reason\":{reason},\"definition\":{}}}", definition.get())
    });
    let left_out = left_out.collect::<Vec<_>>().join(",");
    raw(format!("{{\"tools\":[{}],\"leftOut\":[{left_out}]}}", listed?.join(",")))
}

/// Writes the definition as text: a number must keep all its digits, and a value may hold more than we can read.
fn tool_as_json(tool: &KnownTool) -> io::Result<String> {
    let declared = tool.declared();
    let hints = declared.hints;
    let own = json!({
        "signature": definition(tool).signature(usize::MAX),
        "effect": declared.summary(),
        "declares": declared.sources.iter().any(|source| *source != HintSource::Default),
        "unclassified": declared.is_unclassified(),
        "dependsOnArguments": tool.is_dynamic() || tool.is_resolvable(),
        "hints": {
            "readOnlyHint": hints.is_read_only(),
            "destructiveHint": hints.is_destructive(),
            "idempotentHint": hints.is_idempotent(),
            "openWorldHint": hints.is_open_world(),
        },
        "preview": tool.preview().map(|(name, required)| json!({"tool": name, "required": required})),
    });
    let mut own = own.as_object().cloned().unwrap_or_default();
    if let (None, Some(title)) = (&tool.definition().title, tool.title()) {
        own.insert("title".to_owned(), title.into());
    }
    let whole = raw(serde_json::to_string(tool.definition())?)?;
    let member = |name: &str, text: &str| format!("{}:{text}", Value::from(name));
    let (mut members, mut hidden) = (Vec::new(), Vec::new());
    for (name, value) in Json::from(&*whole).entries() {
        // A server's member with the name of one of Candor's must not pass for it.
        let place = if own.contains_key(&*name) { &mut hidden } else { &mut members };
        place.push(member(&name, value.text()));
    }
    members.extend(own.iter().map(|(name, value)| member(name, &value.to_string())));
    if !hidden.is_empty() {
        members.push(format!("\"shadowed\":{{{}}}", hidden.join(",")));
    }
    Ok(format!("{{{}}}", members.join(",")))
}

fn raw(text: String) -> io::Result<Box<RawValue>> {
    Ok(RawValue::from_string(text)?)
}
