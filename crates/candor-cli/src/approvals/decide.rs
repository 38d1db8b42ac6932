//! `candor approvals approve ID` and `deny ID`: an operator's decision on a call. An approval needs a terminal, a denial does not.

use std::io::{self, Write as _};

use candor::operator::shown::shown;
use candor::operator::{ApprovalRequest, OperationView, OperatorError, decide, find_request, when};
use candor_ledger::{Grant, RecordState, Review, Store};
use serde_json::{Value, json};

use super::{grants, permission, show};
use crate::exit::Failure;
use crate::operator;
use crate::out::{CommandEnd, Out, told};
use crate::terminal::{Terminal, Word};

#[derive(Debug, clap::Args)]
pub(crate) struct Approve {
    /// The first digits of its id, at least 4, or its key
    id: String,

    #[command(flatten)]
    permission: permission::GrantArgs,

    #[command(flatten)]
    operator: operator::OperatorArgs,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Deny {
    /// The first digits of its id, at least 4, or its key
    id: String,

    /// The reason, for the caller
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,

    #[command(flatten)]
    operator: operator::OperatorArgs,
}

pub(crate) async fn approve(
    store: &dyn Store,
    args: &Approve,
    out: &mut Out,
) -> Result<(), CommandEnd> {
    let (mut terminal, by) = (terminal()?, args.operator.name()?);
    let waiting = find_request(store, &args.id).await?;
    let Some(asked) = waiting.details() else {
        show_on_terminal(&waiting, out)?;
        return Err(OperatorError::RequestUnreadable.into());
    };
    let permission = args.permission.of(&asked)?;
    show_on_terminal(&waiting, out)?;
    if let Some(permission) = &permission {
        let words = permission.summary(&waiting.id.scope, when::now());
        writeln!(io::stderr(), "\n{}", out.strong("The grant:"))?;
        writeln!(io::stderr(), "{words}")?;
    }
    let question = match &permission {
        None => format!("\nMay this call of {} start, once?", tool(&waiting)),
        Some(_) => format!("\nMay this call of {} start, and those like it?", tool(&waiting)),
    };
    match terminal.decide(&question).await? {
        Word::Yes | Word::Approve => {}
        Word::Deny => {
            decide(store, &waiting, &by, Review::Deny { reason: None }, THROUGH).await?;
            return say(store, &waiting, None, out).await;
        }
        Word::No => return Err(undecided(&waiting, "deny", out).into()),
    }
    decide(store, &waiting, &by, Review::Approve, THROUGH).await?;
    let grant = match permission {
        None => None,
        Some(permission) => Some(permission.give(store, &waiting, &by).await?),
    };
    say(store, &waiting, grant.as_ref(), out).await
}

pub(crate) async fn deny(store: &dyn Store, args: &Deny, out: &mut Out) -> Result<(), CommandEnd> {
    let by = args.operator.name()?;
    let waiting = find_request(store, &args.id).await?;
    show_on_terminal(&waiting, out)?;
    if let Some(reason) = &args.reason {
        writeln!(io::stderr(), "\nThe caller sees the reason: {}", shown(reason))?;
    }
    // A denial starts nothing, so it needs no proof that an operator has seen the request.
    if let Some(mut terminal) = Terminal::open() {
        let question = format!("\nDeny this call of {}?", tool(&waiting));
        match terminal.decide(&question).await? {
            Word::Yes | Word::Deny => {}
            Word::Approve => return Err(undecided(&waiting, "approve", out).into()),
            Word::No => return Err(Failure::refused(UNDECIDED).into()),
        }
    }
    let reason = args.reason.clone().filter(|reason| !reason.trim().is_empty());
    decide(store, &waiting, &by, Review::Deny { reason }, THROUGH).await?;
    say(store, &waiting, None, out).await
}

const UNDECIDED: &str = "Not recorded; the request is still open";

/// Returns the refusal, which names the command for the other decision.
fn undecided(waiting: &ApprovalRequest, otherwise: &str, out: &Out) -> Failure {
    let (id, same) = (waiting.short(), &out.same);
    Failure::refused(format!(
        "{UNDECIDED}. To {otherwise} it: candor approvals {otherwise} {id}{same}"
    ))
}

/// Opens the terminal. No flag replaces it: a flag would not prove that the operator has seen the request.
fn terminal() -> Result<Terminal, Failure> {
    Terminal::open().ok_or_else(|| {
        Failure::refused(
            "Not recorded: an approval needs a terminal on stdin and stderr, and no flag replaces it. \
             In a browser: candor console",
        )
    })
}

fn tool(waiting: &ApprovalRequest) -> String {
    let asked = waiting.details();
    format!("{} ({})", shown(&waiting.id.scope.tool), show::effect(asked.as_ref(), str::to_owned))
}

pub(crate) fn show_on_terminal(waiting: &ApprovalRequest, out: &Out) -> io::Result<()> {
    let stderr = io::stderr();
    for line in show::lines(waiting, when::now(), |text| out.strong(text)) {
        writeln!(&stderr, "{line}")?;
    }
    Ok(())
}

/// The place of the decision, as the ledger records it.
pub(crate) const THROUGH: &str = "candor approvals";

/// Prints the recorded decision, and the grant if there is one.
pub(crate) async fn say(
    store: &dyn Store,
    waiting: &ApprovalRequest,
    grant: Option<&Grant>,
    out: &mut Out,
) -> Result<(), CommandEnd> {
    let id = waiting.short();
    let Some(entry) = store.find(&waiting.id).await? else {
        return Err(told(format!("{id} was decided, and its record is purged")));
    };
    let operation = OperationView::of(store, entry).await?;
    if out.json {
        let mut members = operation.json(when::now());
        members.insert(
            "grant".to_owned(),
            grant.map_or(Value::Null, |grant| json!(grant.id.to_string())),
        );
        out.value(&Value::Object(members))?;
        return Ok(());
    }
    out.line(&match operation.state() {
        Some(RecordState::Approved { by, until, .. }) => format!(
            "{id}  Approved by {}: the call may start once, until {}. A caller that no longer waits must repeat it.",
            shown(by),
            when::written(*until)
        ),
        Some(RecordState::Denied { by, until, .. }) => format!(
            "{id}  Denied by {}: the call is refused until {}.",
            shown(by),
            when::written(*until)
        ),
        // The caller was waiting and has already used the approval.
        _ => format!("{id}  Approved, and used already. State: {}.", operation.label()),
    })?;
    if let Some(grant) = grant {
        let (id, until) = (grants::short(grant), when::written(grant.until));
        let back = format!("candor approvals revoke {id}{}", out.same);
        out.line(&format!("{id}  Granted until {until}. Revoke it: {back}"))?;
    }
    Ok(())
}
