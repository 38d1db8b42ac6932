//! `candor approvals watch`: prints pending and new approval requests. At a terminal, the operator decides each one at once.

use std::collections::HashSet;
use std::time::Duration;

use candor_ledger::{RecordDigest, RecordVersion, RequestVersion, Review, StateKind, Store};

use super::decide::{THROUGH, say, show_on_terminal};
use super::{list, show};
use crate::out::{CommandEnd, Out};
use crate::terminal::{Terminal, read_approval};
use candor::operator::shown::shown;
use candor::operator::{ApprovalRequest, PendingRequests};
use candor::operator::{OperatorError, decide, when};

use crate::operator;

/// The interval between reads of the ledger.
const EVERY: Duration = Duration::from_secs(1);

#[derive(Debug, clap::Args)]
pub(crate) struct ApprovalsWatchArgs {
    #[command(flatten)]
    operator: operator::OperatorArgs,
}

/// The end of a request that was shown.
enum WatchAction {
    Decided(Review),
    Skipped,
    /// It was decided elsewhere, or is no longer pending.
    Gone,
    /// The input ended.
    End,
}

pub(crate) async fn run(
    store: &dyn Store,
    args: &ApprovalsWatchArgs,
    out: &mut Out,
) -> Result<(), CommandEnd> {
    // Ctrl-C ends the command. This handler also works if the parent process ignores the signal for it, as shells do in the
    // background.
    tokio::select! {
        done = watch(store, args, out) => done,
        _ = tokio::signal::ctrl_c() => {
            // A prompt may be open, without the end of its line.
            eprintln!();
            Ok(())
        }
    }
}

async fn watch(
    store: &dyn Store,
    args: &ApprovalsWatchArgs,
    out: &mut Out,
) -> Result<(), CommandEnd> {
    let by = args.operator.name()?;
    let mut terminal = if out.json { None } else { Terminal::open() };
    let mut known: HashSet<(RecordDigest, RequestVersion)> = HashSet::new();
    eprintln!("Watching the ledger ({}); press Ctrl-C to stop.", shown(&store.describe()));
    loop {
        // Forget requests that are no longer pending, and show them if they return.
        let mut here = HashSet::new();
        let mut all = PendingRequests::new(store);
        while let Some(waiting) = all.next().await? {
            let name = (waiting.id.digest(), waiting.question);
            here.insert(name);
            if known.contains(&name) {
                continue;
            }
            match &mut terminal {
                None => tell(&waiting, out)?,
                Some(terminal) => {
                    if !offer(store, &waiting, terminal, &by, out).await? {
                        return Ok(());
                    }
                }
            }
            out.flush()?;
        }
        known = here;
        tokio::time::sleep(EVERY).await;
    }
}

fn tell(waiting: &ApprovalRequest, out: &mut Out) -> Result<(), CommandEnd> {
    if out.json {
        out.line(&waiting.json())?;
    } else {
        let (marked, cells) = list::line(waiting, when::now());
        let line = cells.join("  ");
        let line = if marked { out.strong(&line) } else { line };
        out.line(&line)?;
    }
    Ok(())
}

/// Shows the whole request and records the operator's answer. Returns false if the input ended.
async fn offer(
    store: &dyn Store,
    waiting: &ApprovalRequest,
    terminal: &mut Terminal,
    by: &str,
    out: &mut Out,
) -> Result<bool, CommandEnd> {
    eprintln!();
    show_on_terminal(waiting, out)?;
    let seen = RecordVersion { fence: waiting.question.fence, state: StateKind::Waiting };
    let next = tokio::select! {
        next = answer(waiting, terminal) => next?,
        gone = store.watch(&waiting.id, seen) => gone.map(|()| WatchAction::Gone)?,
    };
    match next {
        WatchAction::Decided(decision) => match decide(store, waiting, by, decision, THROUGH).await
        {
            Ok(()) => say(store, waiting, None, out).await?,
            Err(OperatorError::Store(error)) => return Err(error.into()),
            // Another reviewer was faster. Continue with the other requests.
            Err(problem) => eprintln!("{}", operator::sentence(&problem)),
        },
        WatchAction::Skipped => eprintln!("{}  skipped; it still needs approval.", waiting.short()),
        WatchAction::Gone => eprintln!("\n{}  no longer needs approval.", waiting.short()),
        WatchAction::End => return Ok(false),
    }
    Ok(true)
}

async fn answer(
    waiting: &ApprovalRequest,
    terminal: &mut Terminal,
) -> std::io::Result<WatchAction> {
    let asked = waiting.details();
    let (tool, effect) =
        (shown(&waiting.id.scope.tool), show::effect(asked.as_ref(), str::to_owned));
    // A request that cannot be read can only be denied.
    let choice = if asked.is_some() { "[a]pprove, [d]eny, [s]kip:" } else { "[d]eny, [s]kip:" };
    let question = format!("\n{} {tool} ({effect})  {choice}", waiting.short());
    loop {
        let Some(said) = terminal.ask(&question).await? else { return Ok(WatchAction::End) };
        let decision = match said.trim().to_lowercase().as_str() {
            "s" | "skip" => return Ok(WatchAction::Skipped),
            "a" => Some(true),
            "d" => Some(false),
            other => read_approval(other),
        };
        match decision {
            Some(true) if asked.is_some() => return Ok(WatchAction::Decided(Review::Approve)),
            Some(false) => {
                let why = terminal.ask("Reason for the caller? (optional)").await?;
                let Some(why) = why else { return Ok(WatchAction::End) };
                let reason = Some(why.trim().to_owned()).filter(|why| !why.is_empty());
                return Ok(WatchAction::Decided(Review::Deny { reason }));
            }
            _ => {}
        }
    }
}
