//! `candor history resolve ID`: an operator records an unknown outcome.
//!
//! It shows what that means for the next caller, and records nothing without confirmation.

use std::io::{self, Write as _};

use candor::operator::shown::shown;
use candor::operator::{
    OperationView, ReportedResult, StateWord, ensure_unchanged, ensure_unknown, find_operation,
    json, resolve, when,
};
use candor_ledger::{Body, LedgerLimits, Resolution, Store};
use serde_json::Value;

use super::show;
use crate::exit::Failure;
use crate::operator;
use crate::out::{CommandEnd, Out, told};
use crate::terminal::Terminal;

#[derive(Debug, clap::Args)]
#[command(
    group(clap::ArgGroup::new("state").args(["succeeded", "failed", "not_run", "abandoned"])),
    override_usage = "candor history resolve [OPTIONS] <--succeeded|--failed|--not-run|--abandoned> <ID>",
)]
pub(crate) struct HistoryResolveArgs {
    /// The first digits of its id, at least 4, or its key
    id: String,

    /// Record success: the next call with this key returns this result
    #[arg(long)]
    succeeded: bool,

    /// Record a failure: the next call with this key returns this error
    #[arg(long)]
    failed: bool,

    /// Record that the call did not run: the next call with this key starts it
    #[arg(long, alias = "not-done")]
    not_run: bool,

    /// Close the operation without an outcome: this key is refused from now on
    #[arg(long, alias = "abandon")]
    abandoned: bool,

    /// The former name of `--succeeded`; if `--failed` is also given, `--failed` wins
    #[arg(long, hide = true, conflicts_with_all = ["succeeded", "not_run", "abandoned"])]
    done: bool,

    /// The result: a tool result (an object with `content`), or any other JSON value, which becomes the content of a tool result
    #[arg(long, value_name = "JSON", conflicts_with_all = ["not_run", "abandoned"], allow_hyphen_values = true)]
    result: Option<String>,

    /// The result as text
    #[arg(long, conflicts_with_all = ["not_run", "abandoned", "result"], allow_hyphen_values = true)]
    text: Option<String>,

    #[command(flatten)]
    operator: operator::OperatorArgs,

    /// Do not ask
    #[arg(long)]
    yes: bool,
}

impl HistoryResolveArgs {
    fn resolution(&self) -> Result<Resolution, Failure> {
        if self.abandoned {
            return Ok(Resolution::Abandon);
        }
        if self.not_run {
            return Ok(Resolution::NotDone);
        }
        if !(self.succeeded || self.failed || self.done) {
            return Err(Failure::usage(
                "name the outcome: --succeeded, --failed, --not-run or --abandoned",
            ));
        }
        let given = match (&self.result, &self.text) {
            (Some(json), _) => ReportedResult::Json(json),
            (None, Some(text)) => ReportedResult::Text(text),
            (None, None) => ReportedResult::Nothing,
        };
        let flag = if self.result.is_some() { "--result" } else { "--text" };
        let outcome = given.outcome(self.failed);
        outcome
            .map(Resolution::Done)
            .map_err(|problem| Failure::usage(format!("{flag}: {}", shown(&problem))))
    }
}

pub(crate) async fn run(
    store: &dyn Store,
    args: &HistoryResolveArgs,
    out: &mut Out,
) -> Result<(), CommandEnd> {
    let (by, resolution) = (args.operator.name()?, args.resolution()?);
    let operation = find_operation(store, &args.id).await?;
    ensure_unknown(&operation)?;
    if !args.yes {
        let stderr = io::stderr();
        for line in show::lines(&operation, when::now(), str::to_owned) {
            writeln!(&stderr, "{line}")?;
        }
        writeln!(&stderr, "\n{}", meaning(&resolution, &by))?;
        let Some(mut terminal) = Terminal::open() else {
            return Err(Failure::refused(
                "Not recorded: this needs confirmation, and no terminal is available. Use --yes",
            )
            .into());
        };
        confirm(&mut terminal).await?;
        unchanged(store, &operation).await?;
    }
    let said = sentence(&operation, &resolution, &by);
    resolve(store, &operation, &by, resolution, "candor history resolve").await?;
    if out.json {
        let id = operation.id.clone();
        let Some(entry) = store.find(&id).await? else { return Err(gone(&operation)) };
        let operation = OperationView::of(store, entry).await?;
        out.value(&Value::Object(operation.json(when::now())))?;
    } else {
        out.line(&said)?;
    }
    Ok(())
}

/// Returns what will be recorded, and what that means for the next call.
fn meaning(resolution: &Resolution, by: &str) -> String {
    let LedgerLimits { retention, tombstone, .. } = LedgerLimits::default();
    let by = shown(by);
    match resolution {
        Resolution::Done(outcome) => {
            let label = StateWord::of_outcome(outcome.kind);
            let result = match &outcome.body {
                Body::Kept(bytes) => json::text(bytes).unwrap_or_default(),
                Body::Omitted { .. } => "",
            };
            format!(
                "{by} records: {label}, with this result:\n{}\n\
                 The next call with this key returns this result for {}. Then the key is refused for {}.",
                json::pretty(result, "  "),
                when::length(retention),
                when::length(tombstone),
            )
        }
        Resolution::NotDone => format!(
            "{by} records: {}.\n\
             The next call with this key starts again. If the call ran after all, it runs twice.",
            StateWord::NotRun
        ),
        Resolution::Abandon => format!(
            "{by} records: {}.\n\
             This key is refused from now on, and is purged after {}.",
            StateWord::Abandoned,
            when::length(retention + tombstone)
        ),
    }
}

/// Returns what was recorded, in a sentence.
fn sentence(operation: &OperationView, resolution: &Resolution, by: &str) -> String {
    let (id, by) = (operation.short(), shown(by));
    let (label, then) = match resolution {
        Resolution::Done(outcome) => {
            (StateWord::of_outcome(outcome.kind), "the next call with this key returns this result")
        }
        Resolution::NotDone => (StateWord::NotRun, "the next call with this key starts again"),
        Resolution::Abandon => (StateWord::Abandoned, "this key is refused from now on"),
    };
    format!("{id}  {label}, resolved by {by}: {then}.")
}

async fn confirm(terminal: &mut Terminal) -> Result<(), CommandEnd> {
    if terminal.agrees("Record it?").await? {
        Ok(())
    } else {
        Err(Failure::refused("Not recorded").into())
    }
}

/// Returns an error if the record changed while the operator decided.
async fn unchanged(store: &dyn Store, operation: &OperationView) -> Result<(), CommandEnd> {
    let Some(now) = store.find(&operation.id).await?.and_then(|entry| entry.seen) else {
        return Err(gone(operation));
    };
    Ok(ensure_unchanged(operation, &now)?)
}

fn gone(operation: &OperationView) -> CommandEnd {
    told(format!("the record of {} is purged", operation.short()))
}
