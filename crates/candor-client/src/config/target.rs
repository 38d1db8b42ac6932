//! The target of an entry: what it starts or reaches.

use std::fmt;
use std::path::PathBuf;

use super::{Piece, pieces, redact};
use crate::client::Client;
use crate::connect::{Connect, Program};

/// A server to reach by its URL, or a program to start.
#[derive(Clone, PartialEq, Eq)]
pub enum Target {
    /// A server over HTTP.
    Url {
        /// Its endpoint.
        url: String,
        /// The headers of each request.
        headers: Vec<(String, String)>,
    },
    /// A program that is a server over its stdin and stdout.
    Program {
        /// Its name or path.
        program: String,
        /// Its arguments.
        args: Vec<String>,
        /// Variables in addition to those of this process.
        env: Vec<(String, String)>,
        /// The working directory. `None`: the current folder.
        cwd: Option<PathBuf>,
    },
}

impl Target {
    /// Connects when awaited. The variables must be filled in.
    pub fn connect(&self) -> Connect {
        match self {
            Self::Url { url, headers } => headers
                .iter()
                .fold(Client::connect(url), |connect, (name, value)| connect.header(name, value)),
            Self::Program { program, args, env, cwd } => {
                Client::start(Self::start(program, args, env, cwd.as_ref()))
            }
        }
    }

    /// Returns the program to start, for a host that adds settings to it.
    #[must_use]
    pub fn program(&self) -> Option<Program> {
        match self {
            Self::Url { .. } => None,
            Self::Program { program, args, env, cwd } => {
                Some(Self::start(program, args, env, cwd.as_ref()))
            }
        }
    }

    fn start(
        program: &str,
        args: &[String],
        env: &[(String, String)],
        cwd: Option<&PathBuf>,
    ) -> Program {
        let start = Program::new(program).args(args.iter().cloned());
        let start = env.iter().fold(start, |start, (name, value)| start.env(name, value));
        match cwd {
            Some(folder) => start.folder(folder),
            None => start,
        }
    }

    /// Returns the names of everything that is filled in: variables, and words of the host.
    #[must_use]
    pub fn variables(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for text in self.texts() {
            for piece in pieces(text) {
                let name = match piece {
                    Piece::Text(_) => continue,
                    Piece::Variable { name, .. } => name,
                    Piece::Host(word) => word,
                };
                if !names.contains(&name) {
                    names.push(name);
                }
            }
        }
        names
    }

    /// Returns all texts that may contain variables.
    pub(super) fn texts(&self) -> Vec<&str> {
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

/// Shows the names of headers and variables without their values, and hides what looks like a secret in arguments and URLs.
impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = |pairs: &[(String, String)]| {
            pairs.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>()
        };
        match self {
            Self::Url { url, headers } => f
                .debug_struct("Url")
                .field("url", &redact::url(url))
                .field("headers", &names(headers))
                .finish(),
            Self::Program { program, args, env, cwd } => f
                .debug_struct("Program")
                .field("program", program)
                .field("args", &redact::args(args))
                .field("env", &names(env))
                .field("cwd", cwd)
                .finish(),
        }
    }
}
