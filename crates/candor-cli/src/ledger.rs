//! The ledger that a command reads. Reading never creates one.

use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;
use std::{env, fs, thread};

use candor_ledger::{LedgerAddress, Options, Store, StoreError, default_path};

use candor::operator::shown::shown;
use candor::store::open_existing;

use crate::exit::Failure;
use crate::shell::quoted;

const VARIABLE: &str = "CANDOR_LEDGER";

/// How long the user waits before a message explains the silence.
const SILENCE: Duration = Duration::from_secs(2);

const OTHERS: &str = "choose another ledger with --ledger or CANDOR_LEDGER";

/// The flags of every command that reads a ledger.
#[derive(Debug, clap::Args)]
pub(crate) struct LedgerArgs {
    /// Which ledger: sqlite:PATH, a path, or postgres://… [default: ledger.db in the state directory]
    #[arg(long, value_name = "URL", env = "CANDOR_LEDGER", hide_env_values = true, global = true)]
    ledger: Option<String>,

    /// One JSON object per line, for programs; a failure is a JSON object on stderr, {"error": {"code", "message"}}
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

impl LedgerArgs {
    pub(crate) fn ledger(&self) -> Result<Ledger, Failure> {
        Ledger::of(self.ledger.as_deref())
    }

    /// Returns the flag that a suggested command needs to use the same ledger. It is empty if the command finds that ledger without
    /// it.
    pub(crate) fn same(&self) -> String {
        let is_set = |url: &&String| env::var(VARIABLE).is_ok_and(|set| set == **url);
        match self.ledger.as_ref().filter(|url| !url.is_empty() && !is_set(url)) {
            Some(url) => format!(" {}", flag(url)),
            None => String::new(),
        }
    }
}

/// Returns the flag that names a ledger, quoted for a shell. The password of a database must not be visible on a screen or in a
/// log. If the variable holds this URL, the flag refers to the variable instead.
pub(crate) fn flag(url: &str) -> String {
    flag_where(env::var(VARIABLE).ok().as_deref(), url)
}

fn flag_where(set: Option<&str>, url: &str) -> String {
    let seen = without_password(url);
    match seen != url && set == Some(url) {
        true => format!("--ledger \"${VARIABLE}\""),
        false => format!("--ledger {}", quoted(&shown(&seen).to_string())),
    }
}

/// Replaces the password of a database with a placeholder. The password is before the host or among the parameters. Unlike the
/// ledger's display name, the result is a URL that the user can complete again.
fn without_password(url: &str) -> String {
    const PARAMETER: &str = "password=";
    let is_server = matches!(LedgerAddress::parse(url), Ok(LedgerAddress::Server(_)));
    let Some((scheme, rest)) = url.split_once("://").filter(|_| is_server) else {
        return url.to_owned();
    };
    // Some passwords contain an `@`, a `/` or a `?`.
    let whole = Some(rest).filter(|rest| !rest.contains(PARAMETER));
    let before = rest.split('?').next().and_then(|before| before.rfind('@'));
    let end = before.or_else(|| whole?.rfind('@')).unwrap_or(0);
    let (who, place) = rest.split_at(end);
    let who = match who.split_once(':') {
        Some((user, _)) => format!("{user}:PASSWORD"),
        None => who.to_owned(),
    };
    let Some((place, parameters)) = place.split_once('?') else {
        return format!("{scheme}://{who}{place}");
    };
    let seen = |parameter: &str| match parameter.starts_with(PARAMETER) {
        true => format!("{PARAMETER}PASSWORD"),
        false => parameter.to_owned(),
    };
    let parameters: Vec<_> = parameters.split('&').map(seen).collect();
    format!("{scheme}://{who}{place}?{}", parameters.join("&"))
}

/// Returns a URL that names the same ledger from any folder.
pub(crate) fn from_anywhere(url: &str) -> String {
    let whole = match LedgerAddress::parse(url) {
        Ok(LedgerAddress::File(path)) if path.is_relative() => std::path::absolute(path).ok(),
        _ => None,
    };
    whole.map_or_else(|| url.to_owned(), |path| format!("sqlite:{}", path.display()))
}

/// A ledger to read.
pub(crate) struct Ledger(LedgerAddress);

impl Ledger {
    /// Returns the ledger that the flag names; without a flag, the file in the state directory.
    pub(crate) fn of(flag: Option<&str>) -> Result<Self, Failure> {
        let Some(flag) = flag.filter(|flag| !flag.is_empty()) else {
            return default_path()
                .map(|path| Self(LedgerAddress::File(path)))
                .ok_or_else(|| Failure::failed(format!("no state directory was found: {OTHERS}")));
        };
        match LedgerAddress::parse(flag) {
            Ok(LedgerAddress::Memory) => Err(Failure::usage(
                "memory: exists only inside the process that uses it; other processes cannot read it. \
                 Start the server with --ledger sqlite:PATH to store a history",
            )),
            Ok(place) => Ok(Self(place)),
            Err(StoreError::UnknownUrl(url)) => Err(Failure::usage(format!(
                "--ledger: there is no ledger `{}`: use `sqlite:PATH`, a path, or `postgres://HOST/DATABASE`",
                shown(&url)
            ))),
            Err(error) => Err(Failure::usage(format!("--ledger: {}", shown(&error.to_string())))),
        }
    }

    /// Opens the ledger. If `aloud`, informs the user when that takes long.
    pub(crate) fn open(&self, aloud: bool) -> Result<Arc<dyn Store>, Failure> {
        if let LedgerAddress::File(path) = &self.0 {
            self.exists(path)?;
        }
        // Another process may hold the ledger, and opening waits for it longer than users like to wait in silence.
        let (opening, opened) = mpsc::channel::<()>();
        let name = self.name();
        thread::spawn(move || {
            if aloud && opened.recv_timeout(SILENCE) == Err(RecvTimeoutError::Timeout) {
                eprintln!("waiting for the ledger {name}; press Ctrl-C to stop");
            }
        });
        let opened = open_existing(&self.0, Options::default());
        drop(opening);
        opened.map_err(|error| match (&self.0, error.to_string()) {
            _ if error == StoreError::Absent => self.absent(),
            (_, text) if matches!(error, StoreError::BadUrl(_)) => {
                Failure::usage(format!("--ledger {}: {}", self.name(), shown(&text)))
            }
            // Some errors already name the file.
            (LedgerAddress::File(path), text) if text.contains(&*path.to_string_lossy()) => {
                let another = matches!(error, StoreError::Unavailable(_));
                let another = if another { format!("; {OTHERS}") } else { String::new() };
                Failure::failed(format!("{}{another}", shown(&text)))
            }
            _ => self.failed(&error),
        })
    }

    /// Returns an error if the path cannot be a ledger: nothing is there, or a folder, or an empty file.
    fn exists(&self, path: &Path) -> Result<(), Failure> {
        match fs::metadata(path) {
            Ok(found) if found.is_dir() => {
                Err(self.problem(&format!("this is a folder, not a ledger; {OTHERS}")))
            }
            Ok(found) if found.len() == 0 => {
                Err(self.problem(&format!("this file is empty, not a ledger; {OTHERS}")))
            }
            Ok(_) => Ok(()),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Err(self.absent()),
            Err(error) => Err(self.problem(&format!("{error}; {OTHERS}"))),
        }
    }

    fn absent(&self) -> Failure {
        self.problem(&format!(
            "no ledger exists here. A server creates it when it starts; {OTHERS}"
        ))
    }

    /// Returns why the ledger cannot be used, and what to do.
    pub(crate) fn failed(&self, error: &StoreError) -> Failure {
        match (&self.0, error) {
            (LedgerAddress::File(_), StoreError::Corrupt(_)) => {
                self.problem(&format!("{error}; restore a backup; {OTHERS}"))
            }
            _ => self.problem(&error.to_string()),
        }
    }

    fn problem(&self, problem: &str) -> Failure {
        Failure::failed(format!("{}: {}", self.name(), shown(problem)))
    }

    /// Returns the name to show to users.
    pub(crate) fn name(&self) -> String {
        shown(&self.0.to_string()).to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ledger_flag_hides_only_the_password() {
        for (url, seen) in [
            ("postgres://ada:s3cret@db:5432/x", "postgres://ada:PASSWORD@db:5432/x"),
            ("postgresql://ada:s3cret@db/x?a=b&c=d", "'postgresql://ada:PASSWORD@db/x?a=b&c=d'"),
            ("postgres://ada:s3/c@ret@db/x", "postgres://ada:PASSWORD@db/x"),
            ("postgres://ada:s3?cret@db/x", "postgres://ada:PASSWORD@db/x"),
            (
                "postgres://db/x?user=ada&password=s3?c@ret",
                "'postgres://db/x?user=ada&password=PASSWORD'",
            ),
            ("postgres://ada@db/x?sslmode=require", "'postgres://ada@db/x?sslmode=require'"),
            ("postgres://db:5432/x", "postgres://db:5432/x"),
            ("sqlite:/a?b@c.db", "'sqlite:/a?b@c.db'"),
        ] {
            assert_eq!(flag_where(None, url), format!("--ledger {seen}"));
            assert_eq!(flag_where(Some("postgres://b:c@other/x"), url), flag_where(None, url));
            let has_password = seen.contains("PASSWORD");
            let named = flag_where(Some(url), url);
            assert_eq!(named == "--ledger \"$CANDOR_LEDGER\"", has_password, "{named}");
        }
    }
}
