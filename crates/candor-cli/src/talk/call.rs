//! `candor call`: one call of a tool, asked about where that matters.

use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use candor::desk::json;
use candor::desk::shown::shown;
use candor::protocol::names::{argument, failure};
use candor_client::{Ask, CallResult, Error, KnownTool, Policy, Proposal, Refusal};
use serde_json::{Value, json as value};

use super::consent::{Answer, Consent, nobody_there};
use super::explain::no_preview;
use super::pins::Pins;
use super::server::{Reached, Server, ended, result_with};
use super::trouble::Trouble;
use super::{content, given};
use crate::out::Out;
use crate::reach::{Own, Surroundings};
use crate::shell::quoted;

#[derive(Debug, clap::Args)]
#[command(
    override_usage = "candor call TARGET TOOL [K=V]...\n       candor call TOOL [K=V]... -- PROGRAM [ARGS]...",
    after_long_help = HELP
)]
pub(crate) struct Args {
    /// The server, the tool, and its arguments
    #[arg(value_name = "TARGET TOOL K=V")]
    words: Vec<String>,

    /// All arguments as one JSON object, instead of K=V: the object itself, @FILE, or - for stdin
    #[arg(long, value_name = "JSON")]
    arguments: Option<String>,

    /// The name of the operation: the same call with the same key is not done twice [default: a new one, which is told]
    #[arg(long)]
    key: Option<String>,

    /// Say yes beforehand to what would be asked here
    #[arg(long)]
    yes: bool,

    /// Call the tool's preview instead, which shows what the call would do
    #[arg(long)]
    preview: bool,

    #[command(flatten)]
    server: Server,
}

const HELP: &str = "\
Arguments: k=v is read by the tool's schema; k:=JSON is JSON; a.b=v is a member of a member; k=@FILE and k=@- take the text of a file
or of stdin, and k=@@x is the text @x.

Before a call that may delete or overwrite something, and before every call of a stranger, you are asked; without a terminal that is a
no, unless --yes says yes. Where a known server asks for approval of the call itself and checks that it does, you are not asked as
well: its question is the one that counts, and --yes does not answer it. If the server no longer asks when the call arrives, nothing
is run and you are asked here. Without a terminal, and where the server does not know who calls (HTTP without
a token), it waits for `candor approvals` or the server's console.";

pub(crate) async fn run(args: Args) -> ExitCode {
    let as_json = args.server.json;
    ended(visit(args).await, as_json)
}

async fn visit(args: Args) -> Result<(), Trouble> {
    let Args { words, arguments, key, yes, preview, server } = args;
    if key.as_deref().is_some_and(|key| key.trim().is_empty()) {
        return Err(Trouble::usage("--key: a key is not empty"));
    }
    let policy = Policy::ask(Ask::Destructive);
    server
        .visit(
            (words, Own::Names),
            policy,
            given::tool_and_rest,
            async |reached, (name, rest), out| {
                let tool = reached.client.tool(&name).await?;
                let arguments = given::read(&tool, rest, arguments).await?;
                let mut making =
                    Making { reached, tool: name, arguments: arguments.into(), key, yes };
                if preview {
                    making = making.of_preview(&tool)?;
                }
                making.make(out).await
            },
        )
        .await
}

/// A call in the making.
struct Making<'a> {
    reached: &'a Reached,
    tool: String,
    arguments: Value,
    key: Option<String>,
    yes: bool,
}

impl Making<'_> {
    fn of_preview(mut self, tool: &KnownTool) -> Result<Self, Trouble> {
        let Some((name, _)) = tool.preview() else { return Err(no_preview(tool)) };
        // Looking at something has no key, and follows no other look.
        self.key = None;
        if let Value::Object(arguments) = &mut self.arguments {
            arguments.remove(argument::IDEMPOTENCY_KEY);
            arguments.remove(argument::PLAN_TOKEN);
        }
        self.tool = name.to_owned();
        Ok(self)
    }

    async fn make(self, out: &mut Out) -> Result<(), Trouble> {
        let Self { reached, tool, arguments, key, yes } = self;
        let consent =
            Consent { person: reached.person.clone(), progress: reached.progress.clone(), yes };
        let pins = Pins::of(&reached.found, &Surroundings::real());
        // Of a call that does more than read: its key, if it has one.
        let sent = Arc::new(Mutex::new(None));
        let changed = Arc::new(AtomicBool::new(false));
        let (sending, changing, quiet, own) =
            (sent.clone(), changed.clone(), out.json, key.clone());
        let progress = reached.progress.clone();
        let mut call = reached
            .client
            .call_safely(tool, arguments)
            .confirm(async move |proposal: Proposal| {
                let tool = proposal.tool.clone();
                changing.store(proposal.decision_changed, Ordering::Relaxed);
                pins.warn_if_changed(&tool);
                let answer = consent.to(proposal).await;
                if answer == Answer::Yes {
                    pins.keep(&tool);
                }
                answer != Answer::No
            })
            .on_progress(move |news| progress.tell(&news))
            .on_send(move |key| {
                if let (Some(key), None, false) = (key, &own, quiet) {
                    eprintln!("key {key}: the same call with --key {key} is not done twice");
                }
                *lock(&sending) = Some(key.map(ToString::to_string));
            });
        if let Some(key) = &key {
            call = call.key(key.as_str());
        }
        let done = tokio::select! {
            done = call.into_future() => Some(done),
            never = reached.progress.fill_silence("waiting for the answer; Ctrl-C ends") => match never {},
            () = crate::stop::asked() => None,
        };
        reached.progress.clear();
        let sent = lock(&sent).take();
        let key = key.or_else(|| sent.clone().flatten());
        let Some(done) = done else {
            let trouble = Trouble::interrupted();
            return Err(match (reached.progress.told_of_wait(), sent.is_some()) {
                (true, _) => undecided(trouble, key.as_deref()),
                (false, true) => unsure(trouble, key.as_deref()),
                (false, false) => trouble,
            });
        };
        let result = match done {
            Ok(result) => result,
            // A no that nobody can have said.
            Err(Error::Refused(Refusal::Person)) if reached.person.is_none() => {
                let changed = changed.load(Ordering::Relaxed);
                return Err(nobody_there(reached.client.trust(), changed));
            }
            Err(error) => return Err(failed(error, key.as_deref())),
        };
        if result.is_error() {
            return Err(advised(Trouble::of_result(&result), &result, key.as_deref()));
        }
        tell_result(&result, key.as_deref(), out)
    }
}

fn lock<T>(value: &Mutex<T>) -> MutexGuard<'_, T> {
    value.lock().unwrap_or_else(PoisonError::into_inner)
}

fn tell_result(result: &CallResult, key: Option<&str>, out: &mut Out) -> Result<(), Trouble> {
    if out.json {
        let more = [("key", value!(key)), ("replayed", value!(result.replayed()))];
        return result_with(out, result.raw(), &more);
    }
    if result.is_replayed() {
        eprintln!("this is the result of an earlier call with the same key; nothing was done now");
    }
    let structured = result.raw().structured_content.as_ref();
    match (result.content(), structured) {
        ([], Some(structured)) => out.line(&json::pretty(structured.get(), ""))?,
        ([], None) => eprintln!("done; it says nothing"),
        (content, _) => out.line(&content::in_words(content))?,
    }
    Ok(())
}

/// What to do about a call that has no answer.
fn failed(error: Error, key: Option<&str>) -> Trouble {
    // What came back is told, whatever it is.
    let may_be_done = error.may_have_been_done() && !matches!(error, Error::ResultInvalid { .. });
    let trouble = Trouble::from(error);
    if may_be_done { unsure(trouble, key) } else { trouble }
}

/// How to find out, where a call may have been done.
fn unsure(trouble: Trouble, key: Option<&str>) -> Trouble {
    match key {
        Some(key) => trouble
            .next(format!(
                "it may have been done; the same call with --key {} is not done twice",
                word(key)
            ))
            .detail("key", key.into()),
        None => trouble.next("it may have been done: look before you repeat it"),
    }
}

/// How to find the question again that a call waits for.
fn undecided(trouble: Trouble, key: Option<&str>) -> Trouble {
    let (trouble, again) = match key {
        Some(key) => {
            (trouble.detail("key", key.into()), format!("the same call with --key {}", word(key)))
        }
        None => (trouble, "the same call again".to_owned()),
    };
    trouble.next(format!(
        "it waits for a person, unless they have decided by now: {again} finds the question, or what came of it"
    ))
}

/// What to do about a call that was not let through, or is lost.
fn advised(trouble: Trouble, result: &CallResult, key: Option<&str>) -> Trouble {
    let Some(told) = result.failure() else { return trouble };
    let trouble = match key {
        Some(key) => trouble.detail("key", key.into()),
        None => trouble,
    };
    let again = match key {
        Some(key) => format!("then make the same call again, with --key {}", word(key)),
        None => "then make the same call again".to_owned(),
    };
    match told.code.as_str() {
        failure::APPROVAL_REQUIRED => {
            let operation = told.details.get("operation").and_then(Value::as_str);
            let id = operation.or(key).map(word).unwrap_or_default();
            trouble
                .next(format!("a person decides: candor approvals approve {id} (or deny), or in the server's console"))
                .next(again)
        }
        failure::OUTCOME_UNKNOWN if told.retriable != Some(true) => {
            let id = key.map_or_else(|| "ID".to_owned(), word);
            trouble
                .next("find out whether it was done, and say so:")
                .next(format!("candor history resolve {id} --done (or --not-done, or --abandon)"))
        }
        failure::IN_PROGRESS => trouble.next(format!("wait, {again}")),
        _ => match &told.instead {
            Some((tool, arguments)) => trouble.next(format!(
                "instead: candor call … {} --arguments {}",
                word(tool),
                word(&arguments.to_string())
            )),
            None => trouble,
        },
    }
}

/// One word for a shell, safe to show: what was made safe is quoted as it then is.
fn word(text: &str) -> String {
    quoted(&shown(text).to_string())
}
