//! The server that a command talks to: a URL, or a program to start. Here it is found out which, and nothing is reached yet.
//!
//! - `flags`: the flags that every such command has, and which word of a command line is the TARGET.
//! - `url`: what looks like an address.
//! - `places`: the files in which hosts keep their servers; `file` reads one; `lookup` finds a name in all of them.
//! - `entry`: one server as such a file describes it; `expand` fills in its variables.
//! - `agreement`: what a project's file names is used once the person has agreed.
//! - `veil`: secrets are not printed.
//! - `surroundings`: where we are and what is set, so that tests can say something else.

mod agreement;
mod entry;
mod expand;
mod file;
mod flags;
mod jsonc;
mod lookup;
mod places;
mod surroundings;
mod url;
mod veil;

use std::fmt;
use std::path::PathBuf;

use candor::desk::shown::shown;

use crate::exit::Failure;

use agreement::Proposal;

pub(crate) use agreement::Sought;
pub(crate) use entry::Entry;
pub(crate) use expand::{Piece, pieces};
pub(crate) use flags::{BEARER, Own, Reach};
pub(crate) use places::Whose;
pub(crate) use surroundings::Surroundings;
pub(crate) use url::host;
pub(crate) use veil::{Veil, is_secret, secrets_of, url_with};

/// What is talked to.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Target {
    /// A server that runs, over HTTP.
    Url { url: String, headers: Vec<(String, String)> },
    /// A program that is started, over stdio.
    Program {
        program: String,
        args: Vec<String>,
        /// Set besides what is set here already.
        env: Vec<(String, String)>,
        /// Where it runs; here, if nothing is said.
        cwd: Option<PathBuf>,
    },
}

/// Where a target was named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Origin {
    CommandLine,
    File { path: PathBuf, name: String, whose: Whose },
}

/// A target, and what a person should know about how it was found. Its name, for messages, is that of what was written.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) target: Target,
    /// Before variables were filled in.
    written: Target,
    /// For what others say about it.
    pub(crate) veil: Veil,
    pub(crate) origin: Origin,
    /// For stderr, each a line that is safe to show.
    pub(crate) notes: Vec<String>,
}

impl Found {
    fn typed(target: Target) -> Self {
        let written = target.clone();
        let veil = Veil::default();
        Self { target, written, veil, origin: Origin::CommandLine, notes: Vec::new() }
    }

    /// The variables are filled in and the headers are there: from now on nobody gets to see them.
    fn veiled(mut self, here: &Surroundings) -> Self {
        self.veil = Veil::of(&self.written, &self.target, here);
        self
    }
}

/// What a TARGET on the command line means, before variables are filled in.
pub(crate) enum Named {
    Url(String),
    Entry { entry: Entry, notes: Vec<String> },
}

impl Named {
    /// Reads a TARGET: an address, or a name from the files of hosts.
    pub(crate) fn of(word: &str, here: &Surroundings) -> Result<Self, Failure> {
        match url::read(word).map_err(Failure::usage)? {
            Some(url) => Ok(Self::Url(url)),
            None => {
                let (entry, notes) = lookup::find(word, here)?;
                Ok(Self::Entry { entry, notes })
            }
        }
    }

    /// The same with all its variables filled in.
    fn sought(self, here: &Surroundings) -> Result<Sought, Failure> {
        match self {
            Self::Url(url) => {
                let found = Found::typed(Target::Url { url, headers: Vec::new() });
                Ok(Sought { found, proposal: None })
            }
            Self::Entry { entry, notes } => {
                let target = entry.expanded(here).map_err(Failure::failed)?;
                let proposal = Proposal::of(&entry, here);
                let origin =
                    Origin::File { path: entry.file, name: entry.name, whose: entry.whose };
                let written = entry.target;
                let found = Found { target, written, veil: Veil::default(), origin, notes };
                Ok(Sought { found, proposal })
            }
        }
    }
}

impl Target {
    /// All in it that may name variables.
    fn texts(&self) -> Vec<&str> {
        match self {
            Self::Url { url, headers } => {
                let values = headers.iter().map(|(_, value)| value.as_str());
                std::iter::once(url.as_str()).chain(values).collect()
            }
            Self::Program { program, args, env, cwd } => std::iter::once(program.as_str())
                .chain(args.iter().map(String::as_str))
                .chain(env.iter().map(|(_, value)| value.as_str()))
                .chain(cwd.iter().filter_map(|cwd| cwd.to_str()))
                .collect(),
        }
    }
}

/// Names of headers and variables alone: their values are secrets as often as not.
impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = |pairs: &[(String, String)]| {
            pairs.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>()
        };
        let mut target = f.debug_struct("Target");
        target.field("name", &veil::name(self));
        match self {
            Self::Url { headers, .. } => target.field("headers", &names(headers)),
            Self::Program { env, cwd, .. } => target.field("env", &names(env)).field("cwd", cwd),
        };
        target.finish()
    }
}

/// For messages: the address, or the program with its arguments, without secrets.
impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&veil::name(&self.written))
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CommandLine => f.write_str("the command line"),
            Self::File { path, name, .. } => {
                write!(f, "{} in {}", shown(name), shown(&path.to_string_lossy()))
            }
        }
    }
}
