//! `candor tools`: what a server can do, a line for each tool.

use std::process::ExitCode;

use candor::desk::shown::shown;
use candor::hints::{Source, Verdict};
use candor_client::{KnownTool, Policy, Tools};
use serde_json::{Value, json};

use super::given::definition;
use super::server::{Reached, Server, ended, result};
use super::trouble::Trouble;
use crate::out::Out;
use crate::reach::Own;

#[derive(Debug, clap::Args)]
#[command(override_usage = "candor tools TARGET\n       candor tools -- PROGRAM [ARGS]...")]
pub(crate) struct Args {
    /// The server: a URL, :PORT, or a name from the files of your hosts
    #[arg(value_name = "TARGET")]
    words: Vec<String>,

    #[command(flatten)]
    server: Server,
}

pub(crate) async fn run(args: Args) -> ExitCode {
    let Args { words, server } = args;
    let nothing_more = |rest: Vec<String>| match rest.first() {
        Some(word) => Err(Trouble::usage(format!(
            "{} is one word too many; for one tool: candor explain",
            shown(word)
        ))),
        None => Ok(()),
    };
    let list = async |reached: &Reached, (), out: &mut Out| list(reached, out).await;
    let done = server.visit((words, Own::Names), Policy::default(), nothing_more, list);
    ended(done.await, server.json)
}

/// As wide as the longest of the words.
const VERDICT: usize = 13;

async fn list(reached: &Reached, out: &mut Out) -> Result<(), Trouble> {
    let tools = reached.client.tools().await?;
    if out.json {
        return result(out, &as_json(&tools));
    }
    let width = out.width().saturating_sub(VERDICT + 2);
    for tool in tools.iter() {
        let verdict = format!("{:<VERDICT$}", verdict(tool));
        let deletes = tool.declared().hints.verdict() == Verdict::Deletes;
        let verdict = if deletes { out.strong(&verdict) } else { verdict };
        out.line(&format!("{verdict}  {}", definition(tool).signature(width)))?;
    }
    out.flush()?;
    if tools.is_empty() {
        eprintln!("{} has no tools", reached.name());
    }
    for (name, reason) in tools.left_out() {
        eprintln!("left out: {}: {}", shown(name), shown(reason));
    }
    reached.warn_of_stranger();
    Ok(())
}

/// Whether it says anything of what it does.
pub(super) fn declares(tool: &KnownTool) -> bool {
    tool.declared().sources.iter().any(|source| *source != Source::Default)
}

/// What a call does at worst, in the tool's own words.
fn verdict(tool: &KnownTool) -> String {
    if !declares(tool) {
        return "says nothing".to_owned();
    }
    let hints = tool.declared().hints;
    let word = match hints.verdict() {
        Verdict::Deletes => "DELETES".to_owned(),
        other => other.to_string().to_lowercase(),
    };
    let depends = tool.is_dynamic() || tool.is_resolvable();
    if depends && !hints.is_read_only() { format!("up to {word}") } else { word }
}

fn as_json(tools: &Tools) -> Value {
    let listed = tools.iter().map(|tool| {
        let hints = tool.declared().hints;
        json!({
            "name": tool.name(),
            "title": tool.title(),
            "description": tool.description(),
            "signature": definition(tool).signature(usize::MAX),
            "effect": hints.in_words(),
            "declares": declares(tool),
            "dependsOnArguments": tool.is_dynamic() || tool.is_resolvable(),
            "hints": {
                "readOnlyHint": hints.is_read_only(),
                "destructiveHint": hints.is_destructive(),
                "idempotentHint": hints.is_idempotent(),
                "openWorldHint": hints.is_open_world(),
            },
            "preview": tool.preview().map(|(name, required)| json!({"tool": name, "required": required})),
            "inputSchema": tool.input_schema(),
            "outputSchema": tool.output_schema(),
        })
    });
    let left_out =
        tools.left_out().iter().map(|(name, reason)| json!({"name": name, "reason": reason}));
    json!({"tools": listed.collect::<Value>(), "leftOut": left_out.collect::<Value>()})
}
