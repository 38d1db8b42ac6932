//! The server that a command talks to: a URL, or a program to start. This module resolves it and connects to nothing.
//!
//! - `flags`: the flags that every such command has, and which word of a command line is the TARGET.
//! - `url`: words that look like an address.
//! - `lookup`: finds a name in the configuration files of hosts, which `candor_client::config` reads.
//! - `agreement`: asks the user to agree before a project's server is used.
//! - `surroundings`: the current folder and variables, so that tests can replace them.

mod agreement;
mod flags;
mod lookup;
mod surroundings;
mod url;

use std::fmt;
use std::path::PathBuf;

use candor::operator::shown::shown;
use candor_client::config::redact::{self, Redactor};
use candor_client::config::{Owner, ServerEntry, Target};

use crate::exit::Failure;
use crate::shell::quoted;

use agreement::Proposal;

pub(crate) use agreement::UnconfirmedTarget;
pub(crate) use flags::{BEARER, CommandWords, TargetArgs};
pub(crate) use surroundings::CliEnvironment;

/// Where a target was named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Origin {
    CommandLine,
    File { path: PathBuf, name: String, owner: Owner },
}

/// A target, and notes for the user about how it was found. In messages, its name is the target as written.
#[derive(Debug)]
pub(crate) struct ResolvedTarget {
    pub(crate) target: Target,
    /// The target before variables are filled in.
    written: Target,
    /// Redacts secrets in text about the target.
    pub(crate) redactor: Redactor,
    pub(crate) origin: Origin,
    /// For stderr, each a line that is safe to show.
    pub(crate) notes: Vec<String>,
}

impl ResolvedTarget {
    fn typed(target: Target) -> Self {
        let written = target.clone();
        let redactor = Redactor::default();
        Self { target, written, redactor, origin: Origin::CommandLine, notes: Vec::new() }
    }

    /// Builds the redactor. Call this after variables and headers are filled in: from then on, their values are hidden.
    fn redacted(mut self, here: &CliEnvironment) -> Self {
        self.redactor = Redactor::new(&self.written, &self.target, here);
        self
    }
}

/// What a TARGET on the command line means, before variables are filled in.
pub(crate) enum TargetKind {
    Url(String),
    Entry { entry: Box<ServerEntry>, notes: Vec<String> },
}

impl TargetKind {
    /// Reads a TARGET: an address, or a name from the files of hosts.
    pub(crate) fn of(word: &str, here: &CliEnvironment) -> Result<Self, Failure> {
        match url::read(word).map_err(Failure::usage)? {
            Some(url) => Ok(Self::Url(url)),
            None => {
                let (entry, notes) = lookup::find(word, here)?;
                Ok(Self::Entry { entry: Box::new(entry), notes })
            }
        }
    }

    /// Returns the target with all its variables filled in.
    fn sought(self, here: &CliEnvironment) -> Result<UnconfirmedTarget, Failure> {
        match self {
            Self::Url(url) => {
                let found = ResolvedTarget::typed(Target::Url { url, headers: Vec::new() });
                Ok(UnconfirmedTarget { found, proposal: None })
            }
            Self::Entry { entry, notes } => {
                let target = entry.expand(here).map_err(Failure::failed)?;
                let proposal = Proposal::of(&entry, here);
                let origin = Origin::File {
                    path: entry.file().to_owned(),
                    name: entry.name().to_owned(),
                    owner: entry.owner(),
                };
                let written = entry.target().clone();
                let found = ResolvedTarget {
                    target,
                    written,
                    redactor: Redactor::default(),
                    origin,
                    notes,
                };
                Ok(UnconfirmedTarget { found, proposal })
            }
        }
    }
}

/// Returns the name of a server: its address, or the program with its arguments, without secrets.
fn name(target: &Target) -> String {
    match target {
        Target::Url { url, .. } => shown(&redact::url(url)).to_string(),
        Target::Program { program, args, .. } => {
            let mut words = vec![quoted(program)];
            let secrets = redact::secrets_of(args);
            for (arg, secret) in redact::args(args).into_iter().zip(secrets) {
                // A redacted argument is for display, not for a shell.
                words.push(if secret.is_some() { arg } else { quoted(&arg) });
            }
            shown(&words.join(" ")).to_string()
        }
    }
}

/// For messages: the address, or the program with its arguments, without secrets.
impl fmt::Display for ResolvedTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&name(&self.written))
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

#[cfg(test)]
mod tests {
    use super::*;

    fn program(args: &[&str]) -> Target {
        let args = args.iter().map(|arg| (*arg).to_owned()).collect();
        Target::Program { program: "run".to_owned(), args, env: Vec::new(), cwd: None }
    }

    #[test]
    fn target_name_redacts_credentials_in_arguments() {
        for (args, seen) in [
            (&["--token", "s3cret", "./x"][..], "run --token … ./x"),
            (&["--token=s3cret", "-v"], "run --token=… -v"),
            (&["-e", "API_KEY=s3cret"], "run -e API_KEY=…"),
            (&["-e", "API_KEY=${KEY}"], "run -e API_KEY=${KEY}"),
            (&["--api-key", "${KEY:-s3cret}"], "run --api-key ${KEY:-…}"),
            (&["--header", "Authorization: Bearer s3cret"], "run --header Authorization: Bearer …"),
            (&["--header", "Authorization:s3cret"], "run --header Authorization:…"),
            (&["ghp_s3cret"], "run …"),
            (&["Bearer s3cret"], "run Bearer …"),
            (&["https://ann:s3cret@a.example/x?a=1"], "run 'https://…@a.example/x?a=1'"),
            (&["--token-file", "/run/t", "--port", "80"], "run --token-file /run/t --port 80"),
            (&["--token", "--verbose"], "run --token --verbose"),
            (&["https://a.example", "C:\\x", "a=b"], "run https://a.example 'C:\\x' a=b"),
        ] {
            assert_eq!(name(&program(args)), seen, "{args:?}");
        }
    }
}
