//! `candor demo --crash`: kills a server after it has charged a card and before it has responded. The card is charged once.
//!
//! Each line reports what the demo observed: in the till, in responses, in the ledger. An unexpected observation ends the demo
//! with an error.
//!
//! - `server`: the server and its till. `caller`: the client. `story`: the output.

mod caller;
pub(super) mod server;
mod story;

use std::fmt::{Debug, Display};
use std::path::Path;
use std::time::Duration;

use candor::operator::{self, ReportedResult, StateWord, find_operation};
use candor::store::open_address;
use candor_ledger::{RecordState, Resolution, Store};
use serde_json::json;

use crate::ledger;
use caller::{Caller, CallerReport};
use server::{ChargeRow, LEASE, Till};
use story::Story;

/// The timeout of each step. No step takes that long.
const PATIENCE: Duration = Duration::from_secs(30);

/// The idempotency key of the charge.
const KEY: &str = "order-1";

/// The operator that resolves the outcome.
const OPERATOR: &str = "operator";

pub(super) async fn tell(world: &Path, keep: bool, json: bool) -> candor::Result<()> {
    let till = Till::at(world).map_err(candor::Error::new)?;
    let (place, options) = server::ledger(world);
    let store = open_address(&place, options).map_err(candor::Error::new)?;
    let mut story = Story::new(json);

    // Charge the card, then kill the server.
    let first = Caller::start(world, true).await?;
    story.line(format_args!("A caller calls {}, key={KEY}", caller::CALL))?;
    let mut call = Box::pin(first.charge(KEY));
    let made = tokio::select! {
        answer = &mut call => return Err(unexpected("no answer yet", answer)),
        made = one_charge(&till) => made?,
    };
    story.line(format_args!(
        "  The card is charged: {}, by process {}; the server has not answered yet",
        made.charge, made.process
    ))?;
    kill(made.process)?;
    let heard = match soon("the end of the call", call).await? {
        Err(heard) if heard.may_have_run() => heard.to_string(),
        other => return Err(unexpected("a call that may have been done, or not", other)),
    };
    story.line(format_args!("kill -9 {}", made.process))?;
    story.line(format_args!("  The caller gets: {heard}. Was the card charged?"))?;
    story.fact("key", json!(KEY));
    story.fact("killed", json!({"process": made.process, "signal": 9, "heard": heard}));
    drop(first);

    // Restart the server and use the same key: the outcome is unknown, so nothing is run.
    let second = Caller::start(world, false).await?;
    story.line(format_args!(
        "The server restarts with the same ledger. A dead server's lease ends after {} s (default 30 s)",
        LEASE.as_secs()
    ))?;
    let mut retries = Vec::new();
    for again in ["The caller calls again, with the same key", "And once more"] {
        let told = answered(&second).await?;
        if told.code.as_deref() != Some("outcome_unknown") {
            return Err(unexpected("outcome_unknown", told));
        }
        let charges = still_one(&till, &made)?;
        story.line(format_args!("{again}: outcome_unknown"))?;
        if retries.is_empty() {
            story.line(format_args!("  {}", told.text))?;
        }
        story.line(format_args!("  Charges made: {charges}"))?;
        retries.push(json!({"code": told.code, "text": told.text, "charges": charges}));
    }
    story.fact("retries", json!(retries));

    // An operator checks the till and records the outcome.
    let result = json!(made.charge);
    resolve(&*store, &result.to_string()).await?;
    story.line(format_args!(
        "An operator checks the till, finds {}, and records the outcome, as this command does:",
        made.charge
    ))?;
    let flag = ledger::flag(&format!("sqlite:{}", world.join(server::LEDGER).display()));
    story.line(format_args!(
        "  candor history resolve {KEY} --succeeded --result '{result}' {flag}"
    ))?;
    story.fact(
        "resolution",
        json!({"by": OPERATOR, "state": StateWord::Succeeded.as_str(), "result": result}),
    );

    let told = answered(&second).await?;
    if told.code.is_some() || told.value != result || !told.replayed {
        return Err(unexpected("the result that the operator gave", told));
    }
    let charges = still_one(&till, &made)?;
    story.line(format_args!("The caller calls again, with the same key: {}", told.value))?;
    story.line(format_args!("Charges made: {charges}"))?;
    story.fact("answer", json!({"result": told.value, "replayed": told.replayed}));
    story.fact("charges", json!(charges));
    story.line(format_args!(
        "Read docs/servers.md, \"Use idempotency keys\". Next: `candor demo`"
    ))?;
    let fate = match keep {
        true => format!("The ledger is kept: candor history show {KEY} {flag}"),
        false => "The demo removes its ledger; --keep keeps it".to_owned(),
    };
    story.line(format_args!("{fate}"))?;
    second.close().await;
    story.end()
}

/// Returns the first charge as soon as it is durable.
async fn one_charge(till: &Till) -> candor::Result<ChargeRow> {
    let look = async {
        loop {
            match &till.charges().map_err(candor::Error::new)?[..] {
                [] => tokio::time::sleep(Duration::from_millis(5)).await,
                [made] => return Ok(made.clone()),
                more => return Err(unexpected("one charge", more)),
            }
        }
    };
    soon("the charge", look).await?
}

/// Returns the number of charges. Any charge besides the first one is an error.
fn still_one(till: &Till, made: &ChargeRow) -> candor::Result<usize> {
    let charges = till.charges().map_err(candor::Error::new)?;
    if charges == std::slice::from_ref(made) {
        Ok(charges.len())
    } else {
        Err(unexpected("one charge", charges))
    }
}

async fn answered(caller: &Caller) -> candor::Result<CallerReport> {
    // The lease of the dead server must end first.
    soon("an answer", caller.charge(KEY)).await?.map_err(candor::Error::new)
}

/// Resolves the operation as `candor history resolve` does.
async fn resolve(ledger: &dyn Store, result: &str) -> candor::Result<()> {
    let operation = find_operation(ledger, KEY).await.map_err(candor::Error::new)?;
    if !matches!(operation.state(), Some(RecordState::Indeterminate { .. })) {
        return Err(unexpected("an unknown outcome", operation.label()));
    }
    let outcome = ReportedResult::Json(result).outcome(false).map_err(candor::Error::new)?;
    operator::resolve(
        ledger,
        &operation,
        OPERATOR,
        Resolution::Done(outcome),
        "candor demo --crash",
    )
    .await
    .map_err(candor::Error::new)
}

/// Ends the server as a power cut would.
#[cfg(unix)]
fn kill(process: u32) -> candor::Result<()> {
    use rustix::process::{Pid, Signal, kill_process};
    let pid = i32::try_from(process).ok().and_then(Pid::from_raw);
    let pid = pid.ok_or_else(|| unexpected("the number of a process", process))?;
    Ok(kill_process(pid, Signal::KILL).map_err(std::io::Error::from)?)
}

#[cfg(not(unix))]
fn kill(_: u32) -> candor::Result<()> {
    Err(candor::Error::new("this system has no signal to kill the server with"))
}

async fn soon<T>(what: impl Display, happens: impl Future<Output = T>) -> candor::Result<T> {
    let late = |_| candor::Error::new(format!("expected {what}, and waited {PATIENCE:?}"));
    tokio::time::timeout(PATIENCE, happens).await.map_err(late)
}

fn unexpected(wanted: &str, saw: impl Debug) -> candor::Error {
    candor::Error::new(format!("expected {wanted}, and saw: {saw:?}"))
}
