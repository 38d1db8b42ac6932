//! `candor approvals watch`: what waits and what comes, as it comes; at a terminal, to be decided at once.

use std::collections::HashSet;
use std::time::Duration;

use candor_ledger::{Decision, Question, RecordDigest, Seen, StateKind, Store};

use super::decide::{THROUGH, say, show_on_terminal};
use super::{list, show};
use crate::out::{Out, Problem};
use crate::terminal::{Terminal, read_approval};
use candor::desk::shown::shown;
use candor::desk::waiting::{All, Waiting};
use candor::desk::{self, decide, when};

use crate::operator;

/// How often the ledger is looked at.
const EVERY: Duration = Duration::from_secs(1);

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    operator: operator::Args,
}

/// What becomes of a question that was shown.
enum Next {
    Decided(Decision),
    Skipped,
    /// Decided elsewhere, or no longer asked.
    Gone,
    /// There is nobody any more.
    End,
}

pub(crate) async fn run(store: &dyn Store, args: &Args, out: &mut Out) -> Result<(), Problem> {
    // That is how it ends, also where whoever started it lets it ignore the signal, as shells do in the background.
    tokio::select! {
        done = watch(store, args, out) => done,
        _ = tokio::signal::ctrl_c() => {
            // Perhaps a question stands there, without an end of its line.
            eprintln!();
            Ok(())
        }
    }
}

async fn watch(store: &dyn Store, args: &Args, out: &mut Out) -> Result<(), Problem> {
    let by = args.operator.name()?;
    let mut terminal = if out.json { None } else { Terminal::open() };
    let mut known: HashSet<(RecordDigest, Question)> = HashSet::new();
    eprintln!("Watching the ledger ({}); Ctrl-C ends.", shown(&store.describe()));
    loop {
        // What no longer waits is forgotten, and shown if it comes again.
        let mut here = HashSet::new();
        let mut all = All::of(store);
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

fn tell(waiting: &Waiting, out: &mut Out) -> Result<(), Problem> {
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

/// Shows all of it and does what the person says. Whether to go on.
async fn offer(
    store: &dyn Store,
    waiting: &Waiting,
    terminal: &mut Terminal,
    by: &str,
    out: &mut Out,
) -> Result<bool, Problem> {
    eprintln!();
    show_on_terminal(waiting, out)?;
    let seen = Seen { fence: waiting.question.fence, state: StateKind::Waiting };
    let next = tokio::select! {
        next = answer(waiting, terminal) => next?,
        gone = store.watch(&waiting.id, seen) => gone.map(|()| Next::Gone)?,
    };
    match next {
        Next::Decided(decision) => match decide(store, waiting, by, decision, THROUGH).await {
            Ok(()) => say(store, waiting, None, out).await?,
            Err(desk::Problem::Store(error)) => return Err(error.into()),
            // Somebody was quicker. There are other questions.
            Err(problem) => eprintln!("{problem}"),
        },
        Next::Skipped => eprintln!("{}  skipped; it still needs approval.", waiting.short()),
        Next::Gone => eprintln!("\n{}  no longer needs approval.", waiting.short()),
        Next::End => return Ok(false),
    }
    Ok(true)
}

async fn answer(waiting: &Waiting, terminal: &mut Terminal) -> std::io::Result<Next> {
    let asked = waiting.asked();
    let (tool, effect) =
        (shown(&waiting.id.scope.tool), show::effect(asked.as_ref(), str::to_owned));
    // What cannot be read can be denied only.
    let choice = if asked.is_some() { "[a]pprove, [d]eny, [s]kip:" } else { "[d]eny, [s]kip:" };
    let question = format!("\n{} {tool} ({effect})  {choice}", waiting.short());
    loop {
        let Some(said) = terminal.ask(&question).await? else { return Ok(Next::End) };
        let decision = match said.trim().to_lowercase().as_str() {
            "s" | "skip" => return Ok(Next::Skipped),
            "a" => Some(true),
            "d" => Some(false),
            other => read_approval(other),
        };
        match decision {
            Some(true) if asked.is_some() => return Ok(Next::Decided(Decision::Approve)),
            Some(false) => {
                let why = terminal.ask("Reason for the caller? (optional)").await?;
                let Some(why) = why else { return Ok(Next::End) };
                let reason = Some(why.trim().to_owned()).filter(|why| !why.is_empty());
                return Ok(Next::Decided(Decision::Deny { reason }));
            }
            _ => {}
        }
    }
}
