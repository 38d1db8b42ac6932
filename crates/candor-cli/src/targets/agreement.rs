//! Asks the user to agree to a server from a project's file before it is used: what it starts, and what it sends where. Only an
//! entry that sends nothing but requests to a public address needs no agreement.
//!
//! A project is cloned, and its author wrote the file. The user agrees to an entry once, as it is in the file. An unchanged entry
//! in the same file is not asked about again; a changed entry is.

use std::fmt::Write as _;

use candor::operator::shown::shown;
use candor_client::config::{ServerEntry, Target};

use super::{CliEnvironment, ResolvedTarget};
use crate::accepted::AcceptedStore;
use crate::exit::{Exit, Failure};
use crate::shell::quoted;
use crate::terminal::Terminal;

/// A file in the state folder, with a line for each accepted entry.
const FILE: &str = "agreed";

const HOW: &str = "Run the same command once at a terminal and agree there, or name the server yourself: a URL, or a program after two dashes. \
                   (--yes confirms calls, not this.)";

/// A server that was found, and that may need the user's agreement.
pub(crate) struct UnconfirmedTarget {
    pub(super) found: ResolvedTarget,
    pub(super) proposal: Option<Proposal>,
}

impl UnconfirmedTarget {
    /// Returns the server if the user agrees, or if no agreement is needed.
    pub(crate) async fn agreed(self, here: &CliEnvironment) -> Result<ResolvedTarget, Failure> {
        let Self { mut found, proposal } = self;
        let Some(proposal) = proposal.filter(|proposal| !proposal.is_remembered(here)) else {
            return Ok(found);
        };
        let refused = |why: &str| {
            let text = format!("{why}. Nothing was started or sent.\n{}\n{HOW}", proposal.words);
            Failure::new(Exit::Refused, text)
        };
        let Some(mut terminal) = Terminal::open() else {
            return Err(refused(
                "this project's server needs your agreement, and no terminal is available",
            ));
        };
        eprintln!("{}", proposal.words);
        match terminal.agrees("Do you agree, until this changes?").await {
            Ok(true) => {}
            Ok(false) => {
                return Err(Failure::new(
                    Exit::Refused,
                    "You declined. Nothing was started or sent.",
                ));
            }
            Err(error) => return Err(refused(&shown(&error.to_string()).to_string())),
        }
        if let Err(problem) = proposal.remember(here) {
            found.notes.push(format!("Candor will ask this again: {problem}"));
        }
        Ok(found)
    }
}

/// What the user is asked to accept.
pub(super) struct Proposal {
    /// The digest of the file's path, the name, and the entry.
    digest: String,
    /// A description for a user who reads the state file.
    what: String,
    /// The complete text, safe to show: what is left out here could be what matters.
    words: String,
}

impl Proposal {
    /// Returns the proposal; `None` if the entry needs no agreement.
    pub(super) fn of(entry: &ServerEntry, here: &CliEnvironment) -> Option<Self> {
        if !entry.needs_agreement() {
            return None;
        }
        let file = entry.file().to_string_lossy();
        let what = format!("{} in {}", shown(entry.name()), shown(&file));
        let words = summary(entry, &what, here);
        Some(Self { digest: entry.digest().to_owned(), what, words })
    }

    fn is_remembered(&self, here: &CliEnvironment) -> bool {
        let text = AcceptedStore::of(here, FILE).text();
        text.lines().any(|line| line.split(' ').next() == Some(&self.digest))
    }

    fn remember(&self, here: &CliEnvironment) -> Result<(), String> {
        AcceptedStore::of(here, FILE).add(&format!("{} {}", self.digest, self.what))
    }
}

/// Describes the entry without redaction: its author knows the content, and a user who agrees must know it.
fn summary(entry: &ServerEntry, what: &str, here: &CliEnvironment) -> String {
    let mut words = format!("{what}: this file came with a project.");
    let mut line = |text: String| {
        let _ = write!(words, "\n{text}");
    };
    let pair = |name: &str, value: &str, between: &str| {
        format!("  {}{between}{}", shown(name), shown(value))
    };
    match entry.target() {
        Target::Program { program, args, env, cwd } => {
            let folder = entry.project().unwrap_or(&here.folder);
            let folder = cwd.as_ref().map_or(folder.to_owned(), |cwd| folder.join(cwd));
            line(format!(
                "It starts a program, which runs with all your permissions, in {}:",
                shown(&folder.to_string_lossy())
            ));
            let all = std::iter::once(program).chain(args).map(|word| quoted(word));
            line(format!("  {}", shown(&all.collect::<Vec<_>>().join(" "))));
            if !env.is_empty() {
                line("with these variables:".to_owned());
            }
            env.iter().for_each(|(name, value)| line(pair(name, value, "=")));
        }
        Target::Url { url, headers } => {
            line(format!("It sends requests to\n  {}", shown(url)));
            if !headers.is_empty() {
                line("with these headers:".to_owned());
            }
            headers.iter().for_each(|(name, value)| line(pair(name, value, ": ")));
        }
    }
    let variables = entry.target().variables();
    if !variables.is_empty() {
        let names: Vec<_> = variables.iter().map(|name| shown(name).to_string()).collect();
        line(format!("filled in with what is set here as: {}", names.join(", ")));
    }
    words
}
