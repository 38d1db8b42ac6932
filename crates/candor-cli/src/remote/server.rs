//! The server that a command talks to: the flags that name it, connecting, and disconnecting.

use std::pin::pin;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use candor::operator::json;
use candor::operator::shown::shown;
use candor::protocol::rpc::code;
use candor_client::{Client, Connect, Error, HostPolicy, Trust};
use serde::Serialize;
use serde_json::Value;

use super::error::CliError;
use super::progress::Progress;
use super::question::{self, TerminalUser};
use super::safe;
use crate::exit::Exit;
use crate::out::Out;
use crate::stop;
use crate::targets::{BEARER, CliEnvironment, CommandWords, ResolvedTarget, TargetArgs};
use crate::width::cut;
use candor_client::config::Target;

/// A delay that a user does not notice.
const A_MOMENT: Duration = Duration::from_millis(100);

/// How long a server may take to end after a signal.
const HASTE: Duration = Duration::from_millis(500);

/// What every command that talks to a server takes.
#[derive(Debug, clap::Args)]
#[group(skip)] // flattened into the arguments of several commands
pub(super) struct Server {
    /// One JSON object on stdout, {"result": …}; a failure is one on stderr, {"error": {"code", "message", …}}, after a line {"notice": …} if the call had to wait
    #[arg(long)]
    pub(super) json: bool,

    #[command(flatten)]
    pub(super) target: TargetArgs,
}

/// A server that the client is connected to.
pub(super) struct ConnectedServer {
    pub(super) client: Client,
    pub(super) found: ResolvedTarget,
    /// The user at the terminal, if there is one.
    pub(super) person: Option<Arc<TerminalUser>>,
    pub(super) progress: Arc<Progress>,
}

impl ConnectedServer {
    /// Returns what the server calls itself, safe to show; or its address.
    pub(super) fn name(&self) -> String {
        match self.client.server() {
            Some(server) => named(&server.name, &server.version),
            None => self.found.to_string(),
        }
    }

    /// Warns that the hints of an untrusted server do not count.
    pub(super) fn warn_of_untrusted(&self) {
        if self.client.trust() == Trust::Untrusted {
            eprintln!(
                "{} is untrusted: the hints of its tools do not count. If you know it: --trust hints",
                self.found
            );
        }
    }
}

/// Returns what a server calls itself, in quotes: it may be any sentence.
pub(super) fn named(name: &str, version: &str) -> String {
    safe::quote(&cut(&format!("{name} {version}"), 80))
}

impl Server {
    /// Connects to the server that the words name, runs `run`, and disconnects. `read` parses the words that are left first, so
    /// mistakes in them are errors before any connection. A program that was started has ended when this returns, unless a signal
    /// stopped the command: then `main` ends it.
    pub(super) async fn visit<T>(
        &self,
        (words, own): (Vec<String>, CommandWords),
        policy: HostPolicy,
        read: impl FnOnce(Vec<String>) -> Result<T, CliError>,
        run: impl AsyncFnOnce(&ConnectedServer, T, &mut Out) -> Result<(), CliError>,
    ) -> Result<(), CliError> {
        stop::listen();
        let here = CliEnvironment::real();
        let (sought, rest) = self.target.find(words, own, &here)?;
        let wanted = read(rest)?;
        let found = tokio::select! {
            found = sought.agreed(&here) => found?,
            () = stop::asked() => return Err(CliError::interrupted()),
        };
        for note in &found.notes {
            eprintln!("{note}");
        }
        let redactor = found.redactor.clone();
        let done = self.reached(found, wanted, policy, run).await;
        done.map_err(|trouble| trouble.under(&redactor))
    }

    async fn reached<T>(
        &self,
        found: ResolvedTarget,
        wanted: T,
        policy: HostPolicy,
        run: impl AsyncFnOnce(&ConnectedServer, T, &mut Out) -> Result<(), CliError>,
    ) -> Result<(), CliError> {
        let person = TerminalUser::here();
        let progress =
            Arc::new(Progress::new(self.json, self.target.trust(&found) == Trust::Trusted));
        let connect = self.connect(&found, policy, person.as_ref(), &progress);
        let waiting = format!("waiting for {}; press Ctrl-C to stop", cut(&found.to_string(), 40));
        let client = tokio::select! {
            client = connect => client,
            never = progress.fill_silence(&waiting) => match never {},
            () = stop::asked() => {
                progress.clear();
                return Err(CliError::interrupted());
            }
        };
        progress.clear();
        let client = client.map_err(|error| not_reached(error, &found))?;
        let reached = ConnectedServer { client, found, person, progress };
        let mut out = Out::new(self.json);
        let done = {
            let mut running = pin!(run(&reached, wanted, &mut out));
            tokio::select! {
                done = &mut running => done,
                // `run` may listen for the same signal and report more about it, so give it a moment.
                () = stop::asked() => match tokio::time::timeout(A_MOMENT, running).await {
                    Ok(done) => done,
                    Err(_) => Err(CliError::interrupted()),
                },
            }
        };
        reached.progress.clear();
        let closed = reached.client.close();
        match &done {
            // The user does not wait long for a server to end; `main` ends what is left.
            Err(trouble) if trouble.is_interrupted() => {
                let _ = tokio::time::timeout(HASTE, closed).await;
            }
            _ => closed.await,
        }
        done.and_then(|()| Ok(out.flush()?))
    }

    /// Returns a connection that is not open yet, with everything that the flags say.
    pub(super) fn connect(
        &self,
        found: &ResolvedTarget,
        policy: HostPolicy,
        person: Option<&Arc<TerminalUser>>,
        progress: &Arc<Progress>,
    ) -> Connect {
        let connect = to(&found.target, None)
            .named("candor", env!("CARGO_PKG_VERSION"))
            .trust(self.target.trust(found))
            .policy(policy);
        let connect = match self.target.timeout {
            Some(time) => connect.timeout(time),
            None => connect,
        };
        // Without a terminal, do not offer to answer questions: an automatic denial would count as a decision.
        let Some(person) = person.cloned() else { return connect };
        let (from, progress) = (found.to_string(), progress.clone());
        connect.visits_urls().on_elicit(move |asked| {
            let (person, from, progress) = (person.clone(), from.clone(), progress.clone());
            async move {
                let _quiet = progress.pause();
                let _asked = asked.is_approval().then(|| progress.approving());
                question::answer(&person, &from, &asked).await
            }
        })
    }
}

/// Returns why a server is not reached, and what to do about it.
fn not_reached(error: Error, found: &ResolvedTarget) -> CliError {
    if knows_nothing(&error) {
        return not_mcp(error, &found.target);
    }
    let sent = matches!(&found.target, Target::Url { headers, .. }
        if headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("authorization")));
    let advice = match &error {
        Error::Unauthorized { .. } if sent => {
            Some("the server does not accept the token that was sent")
        }
        _ if is_without_tls(&error) => Some(WITHOUT_TLS),
        _ if is_uncertified(&error) => Some(UNCERTIFIED),
        Error::Unreachable { .. }
        | Error::Lost { .. }
        | Error::TimedOut { .. }
        | Error::Http { .. }
        | Error::Protocol(_) => {
            Some("run `candor doctor` with the same server to see where the connection fails")
        }
        _ => None,
    };
    let trouble = CliError::from(error);
    match advice {
        Some(advice) => trouble.next(advice),
        None => trouble,
    }
}

/// Returns true if the server does not know the first request, or answers something else.
pub(super) fn knows_nothing(error: &Error) -> bool {
    match error {
        Error::Server(told) => told.code() == code::METHOD_NOT_FOUND,
        Error::Protocol(_) => true,
        _ => false,
    }
}

/// Returns the error for a server that responds but does not speak MCP.
pub(super) fn not_mcp(error: Error, target: &Target) -> CliError {
    let message = match target {
        Target::Url { .. } => "The address responds, but not as an MCP server",
        Target::Program { .. } => "The program responds, but it is not an MCP server",
    };
    let advice = match target {
        Target::Url { .. } => "is this the address of the MCP endpoint? Often it ends with /mcp",
        Target::Program { .. } => {
            "is this the command that starts the server, with all its arguments?"
        }
    };
    let trouble = CliError::new(Exit::Unreachable, "not_an_mcp_server", message).next(advice);
    match error {
        Error::Server(told) => trouble.detail("rpcCode", told.code().into()).saying(told.message),
        other => trouble.saying(other.to_string()),
    }
}

/// Returns true if the TLS library received an answer in plain text.
pub(super) fn is_without_tls(error: &Error) -> bool {
    matches!(error, Error::Unreachable { why, .. } if why.contains("InvalidContentType"))
}

pub(super) const WITHOUT_TLS: &str =
    "the server answers without TLS: if that is intended, write http://";

/// Returns true if the TLS library does not accept the server's certificate.
pub(super) fn is_uncertified(error: &Error) -> bool {
    matches!(error, Error::Unreachable { why, .. } if why.contains("invalid peer certificate"))
}

pub(super) const UNCERTIFIED: &str = "this system does not trust the server's certificate: add the issuer's certificate to the system, or name its file in SSL_CERT_FILE";

/// The first lines that a program writes to stderr. A program that writes more has already reported what is wrong.
pub(super) type StderrLines = Arc<Mutex<Vec<String>>>;

const MOST_LINES: usize = 200;

/// Returns a connection to a target, not open yet.
pub(super) fn to(target: &Target, heard: Option<&StderrLines>) -> Connect {
    let Some(program) = target.program() else { return target.connect() };
    // The token is for a server with a URL.
    let mut program = program.without_env(BEARER);
    if let Some(heard) = heard.cloned() {
        program = program.on_stderr(move |line| {
            let mut heard = heard.lock().unwrap_or_else(PoisonError::into_inner);
            if heard.len() < MOST_LINES {
                heard.push(line.to_owned());
            }
        });
    }
    Client::start(program)
}

/// Returns an error if words are left that the command does not take.
pub(super) fn nothing_more(rest: &[String]) -> Result<(), CliError> {
    match rest.first() {
        Some(word) => Err(CliError::usage(format!("{} is one word too many", shown(word)))),
        None => Ok(()),
    }
}

/// Writes the result for programs: as the server sent it, on one line.
pub(super) fn result(out: &mut Out, result: &impl Serialize) -> Result<(), CliError> {
    result_with(out, result, &[])
}

/// Writes the result with further members next to it.
pub(super) fn result_with(
    out: &mut Out,
    result: &impl Serialize,
    more: &[(&str, Value)],
) -> Result<(), CliError> {
    // Not through a `Value`: the server's numbers keep all their digits.
    let mut text = serde_json::to_string(result).map_err(std::io::Error::other)?;
    for (name, value) in more.iter().filter(|(_, value)| !value.is_null()) {
        text.push_str(&format!(",\"{name}\":{value}"));
    }
    out.line(&json::compact(&format!("{{\"result\":{text}}}")))?;
    Ok(())
}

/// Returns the exit code of a command.
pub(super) fn ended(done: Result<(), CliError>, as_json: bool) -> ExitCode {
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(trouble) => trouble.end(as_json),
    }
}
