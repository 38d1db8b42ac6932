//! `candor history resolve ID`: an operator says what came of a call of which nobody knows.
//!
//! What it will mean for the next caller is said before it is asked for, and nothing is written without a yes.

use std::io::{self, Write as _};

use candor::desk::find::find;
use candor::desk::shown::shown;
use candor::desk::{self, Given, Operation, json, meanwhile, when, words};
use candor_ledger::{Body, OutcomeKind, Resolution, Rules, State, Store};
use serde_json::Value;

use super::show;
use crate::exit::Failure;
use crate::operator;
use crate::out::{Out, Problem, told};
use crate::terminal::Terminal;

#[derive(Debug, clap::Args)]
#[command(group(clap::ArgGroup::new("finding").args(["done", "not_done", "abandon"]).required(true)))]
pub(crate) struct Args {
    /// The first digits of its id, at least 4, or its key
    id: String,

    /// It was done: the next call with this key gets this result
    #[arg(long)]
    done: bool,

    /// It was not done: the next call with this key starts it once more
    #[arg(long)]
    not_done: bool,

    /// Nobody will ever know: this key is refused from now on
    #[arg(long)]
    abandon: bool,

    /// What it returned: a tool result (an object with `content`), or any value to make one of
    #[arg(long, value_name = "JSON", conflicts_with_all = ["not_done", "abandon"], allow_hyphen_values = true)]
    result: Option<String>,

    /// What it returned, as text
    #[arg(long, conflicts_with_all = ["not_done", "abandon", "result"], allow_hyphen_values = true)]
    text: Option<String>,

    /// It ended with an error: that is what the next call gets
    #[arg(long, conflicts_with_all = ["not_done", "abandon"])]
    failed: bool,

    #[command(flatten)]
    operator: operator::Args,

    /// Do not ask
    #[arg(long)]
    yes: bool,
}

impl Args {
    fn resolution(&self) -> Result<Resolution, Failure> {
        if self.abandon {
            return Ok(Resolution::Abandon);
        }
        if self.not_done {
            return Ok(Resolution::NotDone);
        }
        let given = match (&self.result, &self.text) {
            (Some(json), _) => Given::Json(json),
            (None, Some(text)) => Given::Text(text),
            (None, None) => Given::Nothing,
        };
        let flag = if self.result.is_some() { "--result" } else { "--text" };
        let outcome = given.outcome(self.failed);
        outcome
            .map(Resolution::Done)
            .map_err(|problem| Failure::usage(format!("{flag}: {}", shown(&problem))))
    }
}

pub(crate) async fn run(store: &dyn Store, args: &Args, out: &mut Out) -> Result<(), Problem> {
    let (by, resolution) = (args.operator.name()?, args.resolution()?);
    let operation = find(store, &args.id).await?;
    let Some(State::Indeterminate { .. }) = operation.state() else {
        return Err(not_unknown(&operation));
    };
    if !args.yes {
        let stderr = io::stderr();
        for line in show::lines(&operation, when::now(), str::to_owned) {
            writeln!(&stderr, "{line}")?;
        }
        writeln!(&stderr, "\n{}", meaning(&resolution, &by))?;
        let Some(mut terminal) = Terminal::open() else {
            return Err(Failure::refused(
                "nothing was changed: this is not said without a yes, and there is no terminal to ask on; use --yes",
            )
            .into());
        };
        confirm(&mut terminal).await?;
        unchanged(store, &operation).await?;
    }
    let said = sentence(&operation, &resolution, &by);
    desk::resolve(store, &operation, &by, resolution, "candor history resolve").await?;
    if out.json {
        let id = operation.id.clone();
        let Some(entry) = store.find(&id).await? else { return Err(gone(&operation)) };
        let operation = Operation::of(store, entry).await?;
        out.value(&Value::Object(operation.json(when::now())))?;
    } else {
        out.line(&said)?;
    }
    Ok(())
}

/// What will be written, and what that means for who calls next.
fn meaning(resolution: &Resolution, by: &str) -> String {
    let Rules { retention, tombstone, .. } = Rules::default();
    let by = shown(by);
    match resolution {
        Resolution::Done(outcome) => {
            let ended = if outcome.kind == OutcomeKind::Success { "was done" } else { "failed" };
            let result = match &outcome.body {
                Body::Kept(bytes) => json::text(bytes).unwrap_or_default(),
                Body::Omitted { .. } => "",
            };
            format!(
                "{by} says that it {ended}, with this result:\n{}\n\
                 The next call with this key gets this result, for {}; then the key is refused for {}.",
                json::pretty(result, "  "),
                when::length(retention),
                when::length(tombstone),
            )
        }
        Resolution::NotDone => format!(
            "{by} says that it was not done.\n\
             The next call with this key starts it once more: if it was done after all, it is done twice."
        ),
        Resolution::Abandon => format!(
            "{by} gives it up: nobody will know what came of it.\n\
             This key is refused from now on, and is forgotten after {}.",
            when::length(retention + tombstone)
        ),
    }
}

/// What was written.
fn sentence(operation: &Operation, resolution: &Resolution, by: &str) -> String {
    let (id, by) = (operation.short(), shown(by));
    let (what, then) = match resolution {
        Resolution::Done(outcome) => {
            (words::ended(outcome.kind), "the next call with this key gets this result")
        }
        Resolution::NotDone => ("not done", "the next call with this key starts it once more"),
        Resolution::Abandon => ("abandoned", "this key is refused from now on"),
    };
    format!("{id}  {what}, says {by}: {then}.")
}

async fn confirm(terminal: &mut Terminal) -> Result<(), Problem> {
    if terminal.agrees("Go on?").await? {
        Ok(())
    } else {
        Err(Failure::refused("nothing was changed").into())
    }
}

/// While a person thought about it, its owner may have returned, or another operator was quicker and it was started once more.
async fn unchanged(store: &dyn Store, operation: &Operation) -> Result<(), Problem> {
    let Some(now) = store.find(&operation.id).await?.and_then(|entry| entry.seen) else {
        return Err(gone(operation));
    };
    match &operation.record {
        Some(then) if (then.fence, then.state.kind()) == (now.fence, now.state.kind()) => Ok(()),
        _ => Err(meanwhile(operation, now.state.kind()).into()),
    }
}

fn not_unknown(operation: &Operation) -> Problem {
    let (id, words) = (operation.short(), operation.words());
    told(format!(
        "only what is unknown can be resolved, and {id} is not: it stands at `{words}`; nothing was changed"
    ))
}

fn gone(operation: &Operation) -> Problem {
    told(format!("{} is no longer on record", operation.short()))
}
