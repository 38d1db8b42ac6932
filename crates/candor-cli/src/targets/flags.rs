//! The flags of every command that talks to a server, and which of its words names the server.
//!
//! A command has its words in one list: TARGET first, then its own (TOOL, K=V…). If a program follows `--`, no word is a TARGET. So
//! no word is guessed or dropped.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{env, fmt};

use candor::operator::shown::shown;
use candor::operator::when;
use candor_client::Trust;
use candor_client::config::{Owner, Target, expand, is_local};

use super::{CliEnvironment, Origin, ResolvedTarget, TargetKind, UnconfirmedTarget, url};
use crate::exit::{Exit, Failure};
use crate::width::cut;

/// Flattened last into the arguments of a command, behind its words: what stands behind the dashes is the last of all.
#[derive(Debug, clap::Args)]
#[group(skip)] // flattened into the arguments of several commands
pub(crate) struct TargetArgs {
    /// Send the bearer token in this file, because a secret does not belong on a command line; for a URL on the command line, CANDOR_BEARER works, too
    #[arg(long, value_name = "FILE", value_parser = candor::run::value::file(), help_heading = HEADING)]
    bearer_file: Option<PathBuf>,

    /// Send this header, too; ${VAR} is filled in here, not by the shell; repeatable
    #[arg(long = "header", value_name = "NAME: VALUE", value_parser = Header::read, help_heading = HEADING)]
    headers: Vec<Header>,

    /// How long each step may take, from the connection to the answer and the end: 30s, 5m; a call that reports progress gets more
    /// [default: 60s for an answer, less for other steps]
    #[arg(long, value_name = "TIME", value_parser = when::read_length, help_heading = HEADING)]
    pub(crate) timeout: Option<Duration>,

    /// Whether to trust the hints of the server's tools; every call of an untrusted server needs confirmation [default: hints for
    /// programs and for servers on this machine, unless a project's file has the URL; none for all others]
    #[arg(long, value_name = "WHAT", help_heading = HEADING)]
    trust: Option<TrustFlag>,

    /// Start this program, and talk to it over its stdin and stdout
    #[arg(last = true, value_name = "PROGRAM ARGS")]
    program: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum TrustFlag {
    /// Untrusted: its hints may add caution and never remove any
    #[value(alias = "stranger")]
    None,
    /// Trusted: its hints count
    #[value(alias = "known")]
    Hints,
}

const HEADING: &str = "The server";

/// The variable that holds a token.
pub(crate) const BEARER: &str = "CANDOR_BEARER";

const AUTHORIZATION: &str = "Authorization";

/// The number of bytes that are read of a token file. A token is one line; a larger file was named by mistake.
const LONGEST_TOKEN: u64 = 64 * 1024;

impl TargetArgs {
    /// Returns whether the hints of a server count. A user who starts a program, or runs it on this machine, already allows it more
    /// than any of its tools can do. A URL from a project's file is untrusted, wherever it leads.
    pub(crate) fn trust(&self, found: &ResolvedTarget) -> Trust {
        let of_project = matches!(found.origin, Origin::File { owner: Owner::Project, .. });
        let known = match (self.trust, &found.target) {
            (Some(flag), _) => flag == TrustFlag::Hints,
            (None, Target::Program { .. }) => true,
            (None, Target::Url { url, .. }) => is_local(url) && !of_project,
        };
        if known { Trust::Trusted } else { Trust::Untrusted }
    }

    /// Returns the server that the words name, and the words that are left for the command.
    pub(crate) fn find(
        &self,
        words: Vec<String>,
        own: CommandWords,
        here: &CliEnvironment,
    ) -> Result<(UnconfirmedTarget, Vec<String>), Failure> {
        // clap does not report a `--` with nothing after it, so look at the last word itself.
        let dashes = env::args_os().next_back().is_some_and(|last| last == "--");
        let (meant, rest) = split(words, own, self.program.clone(), dashes)?;
        let UnconfirmedTarget { mut found, proposal } = match meant {
            TargetArg::Word(word) => {
                let named = TargetKind::of(&word, here).map_err(|failure| {
                    match misplaced(&word, &rest, own) {
                        Some(problem) if failure.exit == Exit::Usage => Failure::usage(problem),
                        _ => failure,
                    }
                })?;
                named.sought(here)?
            }
            TargetArg::Program(program, args) => {
                let target = Target::Program { program, args, env: Vec::new(), cwd: None };
                UnconfirmedTarget { found: ResolvedTarget::typed(target), proposal: None }
            }
        };
        self.authorize(&mut found, here)?;
        Ok((UnconfirmedTarget { found: found.redacted(here), proposal }, rest))
    }

    /// Adds headers from the flags and the variable. A flag takes precedence over a file, and a file over the variable.
    fn authorize(&self, found: &mut ResolvedTarget, here: &CliEnvironment) -> Result<(), Failure> {
        let (url, headers) = match &mut found.target {
            Target::Url { url, headers } => (url, headers),
            Target::Program { .. } if self.bearer_file.is_some() || !self.headers.is_empty() => {
                return Err(Failure::usage(
                    "--bearer-file and --header are for servers with a URL; this one is a program, which takes secrets from its environment",
                ));
            }
            Target::Program { .. } => return Ok(()),
        };
        let mut set = |name: &str, value: String| {
            headers.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
            headers.push((name.to_owned(), value));
        };
        for Header { name, value } in &self.headers {
            if self.bearer_file.is_some() && name.eq_ignore_ascii_case(AUTHORIZATION) {
                return Err(Failure::usage(
                    "--bearer-file and --header 'Authorization: …' contradict each other: use one of them",
                ));
            }
            let filled = expand(value, here, None).map_err(|problem| {
                Failure::usage(format!("--header {}: {problem}", shown(name)))
            })?;
            set(name, filled);
        }
        if let Some(path) = &self.bearer_file {
            let token = token_of(path).map_err(|problem| {
                Failure::failed(format!(
                    "--bearer-file {}: {problem}",
                    shown(&path.to_string_lossy())
                ))
            })?;
            set(AUTHORIZATION, format!("Bearer {token}"));
        }
        let authorized = headers.iter().any(|(name, _)| name.eq_ignore_ascii_case(AUTHORIZATION));
        // Do not send the variable's token to a server that a file names: the file's author, such as that of a cloned project, would
        // receive it.
        let named_here = found.origin == Origin::CommandLine;
        if let Some(token) = here.variable(BEARER).filter(|_| !authorized && named_here)
            && !token.is_empty()
        {
            let token = token_in(&token)
                .map_err(|problem| Failure::usage(format!("{BEARER}: {problem}")))?;
            headers.push((AUTHORIZATION.to_owned(), format!("Bearer {token}")));
        }
        let secret = headers.iter().any(|(name, _)| name.eq_ignore_ascii_case(AUTHORIZATION));
        if secret && url.starts_with("http://") && !is_local(url) {
            let note = "http:// is not encrypted; anyone on the network path can read the token";
            found.notes.push(format!("{found}: {note}"));
        }
        Ok(())
    }
}

/// The kind of a command's words after TARGET.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CommandWords {
    /// Names and arguments, which never look like an address.
    Names,
    /// URIs, which may look like an address.
    Uris,
}

/// Returns the problem if the words are in the wrong order, so that the first of them is not a server.
fn misplaced(first: &str, rest: &[String], own: CommandWords) -> Option<String> {
    let scheme = first.split_once("://").map(|(scheme, _)| scheme.to_ascii_lowercase());
    let is_uri = own == CommandWords::Uris
        && scheme.is_some_and(|scheme| scheme != "http" && scheme != "https");
    // If the command takes URIs, another address may be one of them.
    let mut others = rest.iter().filter(|_| own == CommandWords::Names || is_uri);
    let first = cut(first, 60);
    match others.find(|word| matches!(url::read(word), Ok(Some(_)))) {
        Some(server) => Some(format!("the server comes first: {} before {first}", cut(server, 60))),
        None => is_uri.then(|| format!("{first} is a resource; {MISSING}")),
    }
}

/// What a command line names as the server.
#[derive(Debug, PartialEq, Eq)]
enum TargetArg {
    Word(String),
    Program(String, Vec<String>),
}

/// Separates the TARGET from the other words. `dashes`: the command line ends with two dashes.
fn split(
    mut words: Vec<String>,
    own: CommandWords,
    program: Vec<String>,
    dashes: bool,
) -> Result<(TargetArg, Vec<String>), Failure> {
    let mut program = program.into_iter();
    let Some(start) = program.next() else {
        if dashes {
            return Err(Failure::usage("no program follows --: add the program to start"));
        }
        if words.is_empty() {
            return Err(Failure::usage(MISSING));
        }
        let target = words.remove(0);
        return Ok((TargetArg::Word(target), words));
    };
    if start.is_empty() {
        return Err(Failure::usage("the program after -- has no name"));
    }
    // A program and an address: the client would ignore one of them, and the user would not notice.
    if let (CommandWords::Names, Some(word)) = (own, words.first())
        && !matches!(url::read(word), Ok(None))
    {
        return Err(Failure::usage(format!(
            "two servers: {} and the program after --. Leave one of them out",
            cut(word, 60)
        )));
    }
    Ok((TargetArg::Program(start, program.collect()), words))
}

const MISSING: &str = "which server? Name it before anything else:
  http://127.0.0.1:7332   a URL; without a path, /mcp there
  :7332                   a port of this machine
  NAME                    from .mcp.json, .vscode/mcp.json, .cursor/mcp.json, or the configuration files of your hosts
  … -- PROGRAM ARGS       a program to start, after two dashes at the end: -- candor files . --stdio";

/// A header; its value may be a secret.
#[derive(Clone)]
struct Header {
    name: String,
    value: String,
}

impl Header {
    fn read(text: &str) -> Result<Self, &'static str> {
        const RIGHT: &str = "write 'NAME: VALUE', such as 'X-Team: blue'";
        let (name, value) = text.split_once(':').ok_or(RIGHT)?;
        let token = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
        if name.is_empty() || !name.bytes().all(token) || value.contains(char::is_control) {
            return Err(RIGHT);
        }
        Ok(Self { name: name.to_owned(), value: value.trim().to_owned() })
    }
}

impl fmt::Debug for Header {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: …", self.name)
    }
}

fn token_of(path: &Path) -> Result<String, String> {
    let mut text = String::new();
    File::open(path)
        .and_then(|file| file.take(LONGEST_TOKEN + 1).read_to_string(&mut text))
        .map_err(|error| error.to_string())?;
    if text.len() as u64 > LONGEST_TOKEN {
        return Err(format!("it is larger than {} KiB", LONGEST_TOKEN / 1024));
    }
    token_in(&text)
}

/// Returns the token without whitespace around it. Errors do not repeat it.
fn token_in(text: &str) -> Result<String, String> {
    let token = text.trim();
    if token.is_empty() {
        return Err("it has no token".to_owned());
    }
    if !token.bytes().all(|b| b.is_ascii_graphic()) {
        return Err(
            "a token is one line of letters, digits and punctuation, without spaces".to_owned()
        );
    }
    Ok(token.to_owned())
}

#[cfg(test)]
mod tests;
