//! The server that a command talks to: a URL, or a program to start. Here it is found out which, and nothing is reached yet.
//!
//! - `flags`: the flags that every such command has, and which word of a command line is the TARGET.
//! - `url`: what looks like an address.
//! - `places`: the files in which hosts keep their servers; `file` reads one; `lookup` finds a name in all of them.
//! - `entry`: one server as such a file describes it; `expand` fills in its variables.
//! - `surroundings`: where we are and what is set, so that tests can say something else.

mod entry;
mod expand;
mod file;
mod flags;
mod jsonc;
mod lookup;
mod places;
mod surroundings;
mod url;

use std::fmt;
use std::path::PathBuf;

use candor::desk::shown::shown;

use crate::exit::Failure;

pub(crate) use entry::Entry;
pub(crate) use expand::{Piece, pieces};
pub(crate) use flags::{BEARER, Own, Reach};
pub(crate) use surroundings::Surroundings;
pub(crate) use url::host;

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
    File { path: PathBuf, name: String },
}

/// A target, and what a person should know about how it was found.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) target: Target,
    pub(crate) origin: Origin,
    /// For stderr, each a line that is safe to show.
    pub(crate) notes: Vec<String>,
}

impl Found {
    fn typed(target: Target) -> Self {
        Self { target, origin: Origin::CommandLine, notes: Vec::new() }
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
    fn found(self, here: &Surroundings) -> Result<Found, Failure> {
        match self {
            Self::Url(url) => Ok(Found::typed(Target::Url { url, headers: Vec::new() })),
            Self::Entry { entry, notes } => {
                let target = entry.expanded(here).map_err(Failure::failed)?;
                let origin = Origin::File { path: entry.file, name: entry.name };
                Ok(Found { target, origin, notes })
            }
        }
    }
}

/// Names of headers and variables alone: their values are secrets as often as not.
impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = |pairs: &[(String, String)]| {
            pairs.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>()
        };
        match self {
            Self::Url { url, headers } => {
                f.debug_struct("Url").field("url", url).field("headers", &names(headers)).finish()
            }
            Self::Program { program, args, env, cwd } => f
                .debug_struct("Program")
                .field("program", program)
                .field("args", args)
                .field("env", &names(env))
                .field("cwd", cwd)
                .finish(),
        }
    }
}

/// For messages: the address, or the program with its arguments.
impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Url { url, .. } => write!(f, "{}", shown(url)),
            Self::Program { program, args, .. } => {
                write!(f, "{}", shown(&crate::shell::quoted(program)))?;
                args.iter().try_for_each(|arg| write!(f, " {}", shown(&crate::shell::quoted(arg))))
            }
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CommandLine => f.write_str("the command line"),
            Self::File { path, name } => {
                write!(f, "{} in {}", shown(name), shown(&path.to_string_lossy()))
            }
        }
    }
}
