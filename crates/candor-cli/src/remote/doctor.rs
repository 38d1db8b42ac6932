//! `candor doctor`: diagnoses a connection step by step, up to the first step that fails.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::PoisonError;
use std::time::{Duration, Instant};
use std::{env, io, thread};

use candor::operator::shown::shown;
use candor_client::{Client, Era, Error, Tools, Trust};
use candor_schema::Schema;
use serde_json::{Value, json};
use tokio::net::{TcpStream, lookup_host};
use tokio::sync::mpsc;

use super::error::CliError;
use super::safe;
use super::server::{
    Server, StderrLines, UNCERTIFIED, WITHOUT_TLS, ended, is_uncertified, is_without_tls,
    knows_nothing, named, not_mcp, nothing_more, result, to,
};
use crate::exit::Exit;
use crate::out::Out;
use crate::signature::named as word;
use crate::stop;
use crate::targets::{CliEnvironment, CommandWords, ResolvedTarget};
use crate::width::cut;
use candor_client::config::redact::Redactor;
use candor_client::config::{Target, host};

#[derive(Debug, clap::Args)]
#[command(override_usage = "candor doctor TARGET\n       candor doctor -- PROGRAM [ARGS]...")]
pub(crate) struct DoctorArgs {
    /// The server: a URL, :PORT, or a name from a configuration file of your hosts
    #[arg(value_name = "TARGET")]
    words: Vec<String>,

    #[command(flatten)]
    server: Server,
}

/// The default time limit for all schemas together. A schema that takes longer is not a useful one.
const COMPILE: Duration = Duration::from_secs(10);

/// The time limit for a connection.
const CONNECT: Duration = Duration::from_secs(10);

/// The maximum number of names in one line.
const NAMES: usize = 5;

/// The maximum width of a reason in one line, in columns.
const REASON: usize = 200;

pub(crate) async fn run(args: DoctorArgs) -> ExitCode {
    let DoctorArgs { words, server } = args;
    stop::listen();
    let mut report =
        Report { out: Out::new(server.json), steps: Vec::new(), redactor: Redactor::default() };
    let done = tokio::select! {
        done = examine(&server, words, &mut report) => done,
        () = stop::asked() => Err(CliError::interrupted()),
    };
    let done = match done {
        Ok(()) if server.json => result(&mut report.out, &json!({"checks": report.steps})),
        Ok(()) => Ok(()),
        Err(trouble) => Err(trouble.detail("checks", report.steps.into())),
    };
    let done = done.and_then(|()| Ok(report.out.flush()?));
    ended(done, server.json)
}

/// The checks so far, in order.
struct Report {
    out: Out,
    steps: Vec<Value>,
    /// Applies to all text about the server, once the server is found.
    redactor: Redactor,
}

impl Report {
    fn step(&mut self, check: &str, state: &str, found: &str) -> io::Result<()> {
        let found = self.redactor.redact(found);
        self.steps.push(json!({"check": check, "state": state, "found": found}));
        self.line(check, state, &found)
    }

    fn line(&mut self, check: &str, state: &str, found: &str) -> io::Result<()> {
        if self.out.json {
            return Ok(());
        }
        let state = format!("{state:<5}");
        let state = if state.trim() == "ok" { state } else { self.out.strong(&state) };
        self.out.line(&format!("{state} {check:<10} {found}"))?;
        self.out.flush()
    }

    fn ok(&mut self, check: &str, found: impl AsRef<str>) -> io::Result<()> {
        self.step(check, "ok", found.as_ref())
    }

    /// Reports a check that passes, and what the user may want to know.
    fn note(&mut self, check: &str, found: impl AsRef<str>) -> io::Result<()> {
        self.step(check, "note", found.as_ref())
    }

    fn wrong(&mut self, check: &'static str, trouble: CliError) -> CliError {
        let trouble = trouble.under(&self.redactor);
        let found = trouble.in_one_line();
        self.steps.push(json!({"check": check, "state": "fails", "found": found}));
        let trouble = trouble.detail("check", check.into());
        match found.split_once('\n') {
            // A row of the report has one line: the whole text follows on stderr.
            Some((first, _)) => {
                let _ = self.line(check, "FAILS", first);
                trouble
            }
            None => {
                let _ = self.line(check, "FAILS", &found);
                trouble.reported(check)
            }
        }
    }
}

async fn examine(server: &Server, words: Vec<String>, report: &mut Report) -> Result<(), CliError> {
    let here = CliEnvironment::real();
    let sought = server.target.find(words, CommandWords::Names, &here);
    let (sought, rest) = sought.map_err(|failure| report.wrong("target", failure.into()))?;
    nothing_more(&rest)?;
    let found = sought.agreed(&here).await;
    let found = found.map_err(|failure| report.wrong("target", failure.into()))?;
    report.redactor = found.redactor.clone();
    report.ok("target", format!("{found} (from {})", found.origin))?;
    for note in &found.notes {
        report.note("target", note)?;
    }
    let reached = match &found.target {
        Target::Url { url, .. } => network(url, server.target.timeout, report).await,
        Target::Program { program, cwd, .. } => installed(program, cwd.as_deref(), report),
    };
    reached?;
    let heard = StderrLines::default();
    let client = connect(server, &found, &heard, report).await?;
    let time = server.target.timeout.unwrap_or(COMPILE);
    let done = listed(&client, time, report).await;
    client.close().await;
    done
}

/// Checks that the name has an address, and that a server listens there.
async fn network(url: &str, time: Option<Duration>, report: &mut Report) -> Result<(), CliError> {
    let time = time.unwrap_or(CONNECT).min(CONNECT);
    let name = host(url).trim_start_matches('[').trim_end_matches(']');
    let port = port(url);
    let failed = |message: String| CliError::new(Exit::Unreachable, "unreachable", message);
    let found = tokio::time::timeout(time, lookup_host((name, port))).await;
    let addresses: Vec<SocketAddr> = match found.unwrap_or_else(|late| Err(late.into())) {
        Ok(addresses) => addresses.collect(),
        Err(error) => {
            let message = format!("{} has no address: {}", shown(name), shown(&error.to_string()));
            let trouble =
                failed(message).next("is the name spelled right, and is there a network?");
            return Err(report.wrong("name", trouble));
        }
    };
    let listed: Vec<_> = addresses.iter().map(|address| address.ip().to_string()).collect();
    report.ok("name", format!("{} is {}", shown(name), listed.join(", ")))?;
    let mut last = "no address".to_owned();
    for address in addresses {
        match tokio::time::timeout(time, TcpStream::connect(address)).await {
            Ok(Ok(_)) => {
                report.ok("connects", address.to_string())?;
                return Ok(());
            }
            Ok(Err(error)) => last = format!("{address}: {error}"),
            Err(_) => last = format!("{address}: no answer in {} s", time.as_secs_f64()),
        }
    }
    let trouble = failed(format!("no server listens there: {}", shown(&last)))
        .next("does the server run, and on this port? `candor files DIR` prints its address");
    Err(report.wrong("connects", trouble))
}

fn port(url: &str) -> u16 {
    let authority = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = authority.split(['/', '?', '#']).next().unwrap_or_default();
    let given = authority.rsplit_once(':').and_then(|(_, port)| port.parse().ok());
    given.unwrap_or(if url.starts_with("https:") { 443 } else { 80 })
}

/// Checks that the program exists. Only a start shows whether it may run.
fn installed(program: &str, cwd: Option<&Path>, report: &mut Report) -> Result<(), CliError> {
    match find(program, cwd) {
        Some(path) => Ok(report.ok("program", shown(&path.to_string_lossy()).to_string())?),
        None => {
            let message = format!("there is no program {}", shown(program));
            let trouble = CliError::new(Exit::Unreachable, "unreachable", message).next(
                "is it installed, and in a folder of PATH? Hosts have a shorter PATH than shells: name the whole path there",
            );
            Err(report.wrong("program", trouble))
        }
    }
}

/// Finds a program as the system does: a bare name on PATH, a path from the current folder or from `cwd`.
fn find(program: &str, cwd: Option<&Path>) -> Option<PathBuf> {
    let given = Path::new(program);
    if given.components().count() > 1 {
        // Systems differ in which of the two they take. Either one shows that the program exists.
        let places = [Some(given.to_owned()), cwd.map(|cwd| cwd.join(given))];
        return places.into_iter().flatten().find(|path| path.is_file());
    }
    let folders = env::var_os("PATH")?;
    let suffixes: &[&str] = if cfg!(windows) { &[".exe", ".cmd", ".bat", ""] } else { &[""] };
    env::split_paths(&folders)
        .flat_map(|folder| suffixes.iter().map(move |end| folder.join(format!("{program}{end}"))))
        .find(|path| path.is_file())
}

/// Returns the number of lines after which they repeat; the number of all lines if they do not.
fn period(lines: &[String]) -> usize {
    let repeats = |at: &usize| lines.starts_with(&lines[*at..]);
    (1..lines.len()).find(repeats).unwrap_or(lines.len())
}

/// Checks that the server speaks the protocol and accepts the client.
async fn connect(
    server: &Server,
    found: &ResolvedTarget,
    heard: &StderrLines,
    report: &mut Report,
) -> Result<Client, CliError> {
    let trust = server.target.trust(found);
    let mut connect =
        to(&found.target, Some(heard)).named("candor", env!("CARGO_PKG_VERSION")).trust(trust);
    if let Some(time) = server.target.timeout {
        connect = connect.timeout(time);
    }
    let client = match connect.await {
        Ok(client) => client,
        Err(error) => {
            let check = match error {
                Error::Unauthorized { .. } => "authorized",
                _ => "speaks",
            };
            let is_program = matches!(found.target, Target::Program { .. });
            let advice = match &error {
                _ if is_without_tls(&error) => Some(WITHOUT_TLS),
                _ if is_uncertified(&error) => Some(UNCERTIFIED),
                Error::Http { .. } => {
                    Some("is this the address of the MCP endpoint? Often it ends with /mcp")
                }
                Error::TimedOut { .. } => Some(
                    "the server accepts the connection and does not answer; --timeout gives it more time",
                ),
                Error::Lost { .. } | Error::Unreachable { .. } if is_program => {
                    Some("start it by itself: does it run?")
                }
                Error::Lost { .. } | Error::Unreachable { .. } => {
                    Some("the server accepts the connection and closes it: check the server's log")
                }
                _ => None,
            };
            let mut trouble = match knows_nothing(&error) {
                true => not_mcp(error, &found.target),
                false => CliError::from(error),
            };
            if let Some(advice) = advice {
                trouble = trouble.next(advice);
            }
            let mut words = heard.lock().unwrap_or_else(PoisonError::into_inner).clone();
            // The program was started once for each era, and wrote the same lines twice.
            words.truncate(period(&words));
            words.iter_mut().for_each(|line| *line = report.redactor.redact(line));
            let Some((last, before)) = words.split_last() else {
                return Err(report.wrong(check, trouble));
            };
            // In a traceback the last line names the cause.
            let trouble = report.wrong(check, trouble.saying(last));
            let before = if report.out.json { &[] } else { before };
            for line in before {
                let line = safe::marked_with("  stderr before that | ", &safe::line(line));
                report.out.line(&line)?;
            }
            report.out.flush()?;
            return Err(trouble.detail("stderr", words.into()));
        }
    };
    let era = match client.era() {
        Era::Modern => "modern",
        Era::Legacy => "legacy",
    };
    let name = match client.server() {
        Some(server) => named(&server.name, &server.version),
        None => "it reports no name".to_owned(),
    };
    report.ok("speaks", format!("MCP {} ({era}): {name}", client.revision().as_str()))?;
    let authorized = match &found.target {
        Target::Url { headers, .. }
            if headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("authorization")) =>
        {
            "with a token"
        }
        Target::Url { .. } => "without a token",
        Target::Program { .. } => "without a token, because a started program needs none",
    };
    report.ok("authorized", authorized)?;
    let counted = match trust {
        Trust::Trusted => "the hints of its tools count (--trust hints)",
        Trust::Untrusted => "the hints of its tools do not count (--trust none)",
    };
    report.ok("trust", counted)?;
    Ok(client)
}

/// Checks that the client can use what the server offers.
async fn listed(client: &Client, time: Duration, report: &mut Report) -> Result<(), CliError> {
    match client.tools().await {
        Err(Error::Unsupported(_)) => report.note("tools", "it offers none")?,
        Err(error) => return Err(report.wrong("tools", error.into())),
        Ok(tools) if tools.is_empty() && tools.left_out().is_empty() => {
            report.note("tools", "it lists no tools")?;
        }
        Ok(tools) => {
            report.ok("tools", format!("{} listed", tools.len() + tools.left_out().len()))?;
            for left_out in tools.left_out() {
                let (name, reason) = (word(&left_out.name), cut(&left_out.reason, REASON));
                report.note("tools", format!("left out {name}: {reason}"))?;
            }
            schemas(&tools, time, report).await?;
            for tool in tools.iter() {
                if let Some(schemas) = super::tools::unavailable(tool) {
                    let name = word(tool.name());
                    let found = format!(
                        "{name}: its {schemas} schema is unavailable; the server's log has the reason"
                    );
                    report.note("schemas", found)?;
                }
            }
            let silent: Vec<_> =
                tools.iter().filter(|tool| tool.declared().is_unclassified()).collect();
            if tools.is_empty() {
                report.note("hints", "no tool is usable")?;
            } else if silent.is_empty() {
                report.ok("hints", "every tool declares its effect")?;
            } else {
                let mut names: Vec<_> =
                    silent.iter().take(NAMES).map(|tool| word(tool.name())).collect();
                if silent.len() > NAMES {
                    names.push("…".to_owned());
                }
                let found = format!(
                    "{} of {} tools are unclassified (treated as the worst case): {}",
                    silent.len(),
                    tools.len(),
                    names.join(", ")
                );
                report.note("hints", found)?;
            }
        }
    }
    let begun = Instant::now();
    client.ping().await.map_err(|error| report.wrong("ping", error.into()))?;
    report.ok("ping", format!("{:.1} ms", begun.elapsed().as_secs_f64() * 1000.0))?;
    Ok(())
}

/// Checks that the schemas compile. They are untrusted, so another thread compiles them: Ctrl-C still works, and the check does not
/// wait for schemas that take too long.
async fn schemas(tools: &Tools, time: Duration, report: &mut Report) -> io::Result<()> {
    let listed: Vec<(String, String)> = tools
        .iter()
        .flat_map(|tool| {
            let schemas = [Some(tool.input_schema()), tool.output_schema()];
            let named = |schema: &Value| (tool.name().to_owned(), schema.to_string());
            schemas.into_iter().flatten().map(named).collect::<Vec<_>>()
        })
        .collect();
    let names: Vec<_> = listed.iter().map(|(name, _)| shown(name).to_string()).collect();
    let (tell, mut told) = mpsc::unbounded_channel();
    // Not a runtime task: the runtime would wait for it on shutdown.
    thread::spawn(move || {
        for (_, schema) in listed {
            let problem = Schema::compile(&schema).err().map(|error| cut(&error.to_string(), 200));
            if tell.send(problem).is_err() {
                return;
            }
        }
    });
    let until = tokio::time::Instant::now() + time;
    let mut compiled = 0;
    for (at, name) in names.iter().enumerate() {
        match tokio::time::timeout_at(until, told.recv()).await {
            Ok(Some(None)) => compiled += 1,
            Ok(Some(Some(problem))) => report.note("schemas", format!("{name}: {problem}"))?,
            // The thread ended at this schema, so no value can be checked against it.
            Ok(None) => return report.note("schemas", format!("{name}: it cannot be compiled")),
            Err(_) => {
                let left = names.len() - at;
                let why = format!("not compiled within {} s", time.as_secs_f32());
                let found = format!("{name}: {why}; {left} are not checked (--timeout)");
                report.note("schemas", found)?;
                break;
            }
        }
    }
    report.ok("schemas", format!("{compiled} schemas are valid"))
}

#[cfg(test)]
mod tests {
    use super::{period, port};

    #[test]
    fn period_finds_repeated_lines() {
        let of = |lines: &str| period(&lines.chars().map(String::from).collect::<Vec<_>>());
        assert_eq!([of(""), of("a"), of("abab"), of("abcab"), of("abc")], [0, 1, 2, 3, 3]);
    }

    #[test]
    fn port_defaults_to_that_of_the_scheme() {
        assert_eq!(port("http://127.0.0.1:7332/mcp"), 7332);
        assert_eq!(port("http://[::1]/mcp"), 80);
        assert_eq!(port("http://[::1]:81/mcp"), 81);
        assert_eq!(port("https://example.com/a:1"), 443);
    }
}
