//! `candor call`: one call of a tool, with a confirmation if it may do harm.

use std::pin::pin;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use candor::operator::json;
use candor::operator::shown::shown;
use candor::protocol::names::{argument, failure};
use candor_client::{
    AskLevel, CallResult, ConfirmRequest, Error, Failure, HostPolicy, KnownTool, RefusalSource,
    Trust, Verdict,
};
use serde_json::{Value, json as value};

use super::confirm::{Answer, Consent, Notes, UnaskedConfirmation, nobody_there};
use super::decision::review;
use super::error::CliError;
use super::explain::no_preview;
use super::pins::Pins;
use super::server::{ConnectedServer, Server, ended, result_with};
use super::{content, given, safe};
use crate::exit::Exit;
use crate::out::Out;
use crate::shell::quoted;
use crate::targets::{CliEnvironment, CommandWords};

#[derive(Debug, clap::Args)]
#[command(
    override_usage = "candor call TARGET TOOL [K=V]...\n       candor call TOOL [K=V]... -- PROGRAM [ARGS]...",
    after_long_help = HELP
)]
pub(crate) struct CallArgs {
    /// The server, the tool, and its arguments
    #[arg(value_name = "TARGET TOOL K=V")]
    words: Vec<String>,

    /// All arguments as one JSON object, instead of K=V: the object itself, @FILE, or - for stdin
    #[arg(long, value_name = "JSON")]
    arguments: Option<String>,

    /// The idempotency key: the server runs the same call with the same key once; if it has no keys, the call is refused [default: a
    /// new key, which is printed, for a call that writes, if a trusted server has keys]
    #[arg(long)]
    key: Option<String>,

    /// Send --key also to a server that has no idempotency keys: a repeat may run the call twice
    #[arg(long, requires = "key")]
    unsafe_key: bool,

    /// Confirm every call that candor would ask about here
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

A call that may delete or overwrite something needs your confirmation, and so does every call of an untrusted server. Without a
terminal the call is refused, unless you give --yes. If a trusted server asks for approval of the call itself and checks that it does,
only its request counts, and --yes does not answer it. If the server no longer asks when the call arrives, nothing is run and you
confirm here. Without a terminal, or if the server does not know the caller (HTTP without a token), the call waits for
`candor approvals` or the server's console.";

pub(crate) async fn run(args: CallArgs) -> ExitCode {
    let as_json = args.server.json;
    ended(visit(args).await, as_json)
}

async fn visit(args: CallArgs) -> Result<(), CliError> {
    let CallArgs { words, arguments, key, unsafe_key, yes, preview, server } = args;
    if key.as_deref().is_some_and(|key| key.trim().is_empty()) {
        return Err(CliError::usage("--key: a key is not empty"));
    }
    // A tool with unknown effects needs confirmation, like any other that may delete. `explain` reports the same.
    let policy = HostPolicy::ask(AskLevel::Destructive).proceed_unevaluated();
    let own_key = key.clone();
    server
        .visit(
            (words, CommandWords::Names),
            policy,
            |words| {
                let (tool, rest) = given::tool_and_rest(words)?;
                refuse_two_keys(own_key.as_deref(), &rest)?;
                Ok((tool, rest))
            },
            async |reached, (name, rest), out| {
                let tool = reached.client.tool(&name).await?;
                let arguments = given::read(&reached.client, &tool, rest, arguments).await?;
                let arguments = arguments.into();
                let mut making = CallDraft { reached, tool: name, arguments, key, unsafe_key, yes };
                if preview {
                    making = making.of_preview(&tool)?;
                }
                making.make(out).await
            },
        )
        .await
}

/// Refuses a second key among the arguments before the server is reached. Keys in files or in --arguments are compared later.
fn refuse_two_keys(key: Option<&str>, words: &[String]) -> Result<(), CliError> {
    let among = words.iter().filter_map(|word| match word.split_once('=') {
        Some((argument::IDEMPOTENCY_KEY, among)) if !among.starts_with('@') => Some(among),
        _ => None,
    });
    match key.and_then(|key| among.into_iter().find(|among| *among != key)) {
        Some(_) => Err(CliError::usage(
            "two different idempotency keys: --key, and the argument idempotency_key. Nothing was run. Give one",
        )),
        None => Ok(()),
    }
}

/// A call before it is sent.
struct CallDraft<'a> {
    reached: &'a ConnectedServer,
    tool: String,
    arguments: Value,
    key: Option<String>,
    unsafe_key: bool,
    yes: bool,
}

impl CallDraft<'_> {
    fn of_preview(mut self, tool: &KnownTool) -> Result<Self, CliError> {
        let Some((name, _)) = tool.preview() else { return Err(no_preview(tool)) };
        // A preview has no key and no plan token.
        self.key = None;
        if let Value::Object(arguments) = &mut self.arguments {
            arguments.remove(argument::IDEMPOTENCY_KEY);
            arguments.remove(argument::PLAN_TOKEN);
        }
        self.tool = name.to_owned();
        Ok(self)
    }

    async fn make(self, out: &mut Out) -> Result<(), CliError> {
        let Self { reached, tool, arguments, key, unsafe_key, yes } = self;
        let notes = Notes::default();
        let consent = Consent {
            person: reached.person.clone(),
            progress: reached.progress.clone(),
            yes,
            notes: notes.clone(),
        };
        let pins = Arc::new(Pins::of(&reached.found, &CliEnvironment::real()));
        let (reviewing, noting) = (pins.clone(), notes.clone());
        let (trust, noted) = (reached.client.trust(), reached.progress.clone());
        let (agreeing, telling) = (pins.clone(), reached.progress.clone());
        // The call whose approval is left to the server.
        let left = Arc::new(Mutex::new(None));
        let leaving = left.clone();
        let name = tool.clone();
        // Set when a call that does more than read is sent. The inner value is its key, if it has one.
        let sent = Arc::new(Mutex::new(None));
        let unasked = Arc::new(Mutex::new(UnaskedConfirmation::default()));
        let resending = sent.clone();
        let (sending, asking, quiet, own) = (sent.clone(), unasked.clone(), out.json, key.clone());
        let progress = reached.progress.clone();
        let mut call = reached
            .client
            .call_safely(tool, arguments)
            .review(move |tool, arguments, explanation| {
                // If the call was sent before, the server refused it because its decision had changed: nothing was run.
                *lock(&resending) = None;
                let notes = review(&reviewing, trust, (tool, arguments), explanation);
                // If the user must confirm, the notes appear with the confirmation instead.
                if explanation.verdict != Verdict::Ask || explanation.defers {
                    noted.note(&notes);
                }
                *lock(&noting) = notes;
                *lock(&leaving) =
                    explanation.defers.then(|| (arguments.clone(), explanation.clone()));
            })
            .confirm(async move |proposal: ConfirmRequest| {
                let ConfirmRequest { tool, arguments, explanation, .. } = proposal.clone();
                *lock(&asking) = UnaskedConfirmation {
                    destructive: explanation.hints.is_destructive(),
                    decision_changed: proposal.decision_changed,
                };
                telling.note(agreeing.change_of(&tool).as_slice());
                let answer = consent.to(proposal).await;
                if answer != Answer::No {
                    agreeing.keep(&tool, &arguments, &explanation);
                }
                answer != Answer::No
            })
            .on_progress(move |news| progress.tell(&news))
            .on_send(move |key| {
                // An untrusted server's keys are only a claim.
                if let (Some(key), None, false, Trust::Trusted) = (key, &own, quiet, trust) {
                    eprintln!("key {key}: the server runs the same call with --key {key} once");
                }
                *lock(&sending) = Some(key.map(ToString::to_string));
            });
        if let Some(key) = &key {
            call = call.key(key.as_str());
        }
        let has_keys = reached.client.has_keys();
        if unsafe_key {
            call = call.unsafe_key();
        }
        if unsafe_key && !has_keys {
            reached.progress.note(&[NO_KEYS.to_owned()]);
        }
        let mut call = pin!(call.into_future());
        let done = tokio::select! {
            done = &mut call => Some(done),
            never = reached.progress.fill_silence("waiting for the answer; press Ctrl-C to stop") => match never {},
            () = crate::stop::asked() => None,
        };
        reached.progress.clear();
        let sent = lock(&sent).take();
        // Mention a key only if a trusted server stores it.
        let keeps_keys = has_keys && trust == Trust::Trusted;
        let key = key.or_else(|| sent.clone().flatten()).filter(|_| keeps_keys);
        // A call that only reads has changed nothing, however it ended.
        let writes = sent.is_some();
        let Some(done) = done else {
            let trouble = CliError::interrupted();
            let progress = &reached.progress;
            return Err(match writes {
                // The question is not answered, so the call has not started.
                _ if progress.is_before_start() => trouble.next("Nothing was run."),
                _ if progress.told_of_wait() => undecided(trouble, key.as_deref()),
                true => unsure(trouble, key.as_deref()),
                false => trouble,
            });
        };
        let result = match done {
            Ok(result) => result,
            // Without a terminal, no user can have declined.
            Err(Error::Refused(RefusalSource::Person)) if reached.person.is_none() => {
                let (unasked, notes) = (*lock(&unasked), lock(&notes).clone());
                return Err(nobody_there(trust, unasked, notes));
            }
            // The server held the call for approval all the time.
            Err(error @ Error::TimedOut { .. }) if reached.progress.told_of_wait() => {
                return Err(undecided(error.into(), key.as_deref()));
            }
            Err(error) => return Err(failed(error, writes, key.as_deref())),
        };
        // An approval at the server's request is an agreement, too.
        let left = lock(&left).take().filter(|_| result.is_approved());
        if let Some((arguments, agreed)) = left
            && let Ok(tool) = reached.client.tool(&name).await
        {
            pins.keep(&tool, &arguments, &agreed);
        }
        if result.skipped_approval() {
            pins.keep_skipped_approval();
            reached.progress.note(&[SKIPPED.to_owned()]);
        }
        if result.is_error() {
            let trouble = CliError::of_result(&result);
            let doubted = writes && trust != Trust::Trusted;
            return Err(match result.failure() {
                None => trouble,
                // Only an untrusted server reports how far the call came. Its report is no reason to retry.
                Some(told) if doubted => {
                    let trouble = match told.code.as_str() {
                        failure::APPROVAL_REQUIRED => trouble.next(OPERATOR_DECIDES),
                        _ => suggested(trouble, &told),
                    };
                    unsure(trouble.unproven(Exit::ToolError), None)
                }
                Some(told) => advised(trouble, &told, key.as_deref()),
            });
        }
        let mut notes = lock(&notes).clone();
        notes.extend((unsafe_key && !has_keys).then(|| NO_KEYS.to_owned()));
        tell_result(&result, key.as_deref(), notes, out)
    }
}

const OPERATOR_DECIDES: &str =
    "an operator decides, with candor approvals or in the server's console";

const NO_KEYS: &str = "This server has no idempotency keys: a repeat may run the call twice.";

/// Tells the user that the server did not keep its promise.
const SKIPPED: &str = "The server said that it would ask for approval of this call, but ran it without asking. From now on, Candor asks you here.";

fn lock<T>(value: &Mutex<T>) -> MutexGuard<'_, T> {
    value.lock().unwrap_or_else(PoisonError::into_inner)
}

fn tell_result(
    result: &CallResult,
    key: Option<&str>,
    notes: Vec<String>,
    out: &mut Out,
) -> Result<(), CliError> {
    if out.json {
        let more = [
            ("key", value!(key)),
            ("replayed", value!(result.replayed())),
            ("skippedApproval", result.skipped_approval().then_some(true).into()),
            ("notes", (!notes.is_empty()).then_some(notes).into()),
        ];
        return result_with(out, result.raw(), &more);
    }
    if result.is_replayed() {
        eprintln!("Replayed: this is the stored result of this key. Nothing was run.");
    }
    let structured = result.raw().structured_content.as_ref();
    match (result.content(), structured) {
        ([], Some(structured)) => out.line(&json::pretty(structured.get(), ""))?,
        ([], None) => eprintln!("succeeded, without content"),
        (content, _) => out.line(&content::summary(content))?,
    }
    Ok(())
}

/// Adds what to do about a call without a response.
fn failed(error: Error, writes: bool, key: Option<&str>) -> CliError {
    // An invalid result is still a response, and it is reported.
    let told = matches!(error, Error::ResultInvalid { .. });
    let may_be_done = writes && error.may_have_run() && !told;
    let trouble = CliError::from(error);
    if may_be_done { unsure(trouble.unproven(Exit::Failed), key) } else { trouble }
}

/// Adds how to find out whether the call ran.
fn unsure(trouble: CliError, key: Option<&str>) -> CliError {
    match key {
        Some(key) => trouble
            .next(format!(
                "The call may have run. Repeat it with --key {}: the server runs it once.",
                word(key)
            ))
            .detail("key", key.into()),
        None => trouble.next("The call may have run. Check before you repeat it."),
    }
}

/// Adds how to find the approval request again that the call waits for.
fn undecided(trouble: CliError, key: Option<&str>) -> CliError {
    let (trouble, again) = match key {
        Some(key) => {
            (trouble.detail("key", key.into()), format!("the same call with --key {}", word(key)))
        }
        None => (trouble, "the same call again".to_owned()),
    };
    trouble.next(format!(
        "The call waits for approval. Nothing was run, unless an operator has approved it by now: {again} finds the request, or its outcome."
    ))
}

/// Adds what to do about a call that was refused or whose outcome is unknown.
fn advised(trouble: CliError, told: &Failure, key: Option<&str>) -> CliError {
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
            // Omit the id that the server gives: it could be that of another call.
            trouble.next(OPERATOR_DECIDES).next(again)
        }
        failure::OUTCOME_UNKNOWN if told.retriable != Some(true) => {
            let id = key.map_or_else(|| "ID".to_owned(), word);
            trouble.next("check whether the call ran, then record the outcome:").next(format!(
                "candor history resolve {id} --succeeded (or --failed, --not-run, --abandoned)"
            ))
        }
        failure::IN_PROGRESS => trouble.next(format!("wait, {again}")),
        _ => suggested(trouble, told),
    }
}

/// Adds the call that the server suggests instead.
fn suggested(trouble: CliError, told: &Failure) -> CliError {
    match &told.instead {
        // Tool and arguments are the server's, so they are no command to copy.
        Some((tool, arguments)) => trouble.next(format!(
            "the server suggests another call: {}",
            safe::quote(&format!("{tool} {arguments}"))
        )),
        None => trouble,
    }
}

/// Returns one word for a shell, safe to show. Escapes in it are quoted like any other text.
fn word(text: &str) -> String {
    quoted(&shown(text).to_string())
}
