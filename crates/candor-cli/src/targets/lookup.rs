//! Finds a name in the configuration files of hosts.

use std::fmt::Write as _;
use std::path::Path;

use candor::operator::shown::shown;
use candor_client::config::{ConfigError, HostConfigs, ServerEntry};

use super::CliEnvironment;
use crate::exit::Failure;
use crate::width::{cut, padded};

/// The maximum number of names that a message lists.
const MOST: usize = 40;

/// Returns the server of this name, and notes about the choice for the user. The user's own servers take precedence, then the
/// nearest.
pub(super) fn find(
    name: &str,
    here: &CliEnvironment,
) -> Result<(ServerEntry, Vec<String>), Failure> {
    let configs = HostConfigs::load(here);
    let entry = match configs.find(name) {
        Ok(entry) => entry.clone(),
        // The name may be in a file that could not be read.
        Err(ConfigError::NotFound { unread, .. }) if !unread.is_empty() => {
            let unread: Vec<_> = unread.iter().map(ToString::to_string).collect();
            return Err(Failure::failed(format!(
                "no server {} was found, and not all files could be read:\n  {}",
                shown(name),
                unread.join("\n  ")
            )));
        }
        Err(ConfigError::NotFound { like, .. }) => {
            return Err(Failure::usage(unknown(name, like.as_deref(), &configs, here)));
        }
        Err(invalid) => return Err(Failure::failed(invalid)),
    };
    let shadowed = configs.shadowed(&entry).map(|(file, owner)| {
        format!(
            "{} is in {} as well; {} in {} is used",
            shown(name),
            of(file),
            // A project's server never replaces the user's own.
            if owner == entry.owner() { "the one" } else { "your own" },
            of(entry.file())
        )
    });
    let passed_over = configs.problems_before(&entry).map(|problem| format!("skipped: {problem}"));
    let notes = shadowed.chain(passed_over).collect();
    Ok((entry, notes))
}

fn of(path: &Path) -> String {
    shown(&path.to_string_lossy()).to_string()
}

/// Returns a message that there is no such server, and which servers there are.
fn unknown(name: &str, like: Option<&str>, configs: &HostConfigs, here: &CliEnvironment) -> String {
    let given = cut(name, 60);
    let known: Vec<_> = configs.names().collect();
    let mut message = format!("no configuration file of your hosts has a server {given}");
    if let Some(hint) = otherwise(name, here) {
        let _ = write!(message, ". {hint}");
    } else if let Some(meant) = like {
        let _ = write!(message, ". Did you mean {}?", shown(meant));
    }
    if known.is_empty() {
        message.push_str("\nNo file has a server. Searched: .mcp.json, .vscode/mcp.json and .cursor/mcp.json here and above, and the files of Claude, Cursor, Windsurf and Gemini in your home");
    }
    for (name, file) in known.iter().take(MOST) {
        let _ = write!(message, "\n  {} {}", padded(&cut(name, 40), 20), of(file));
    }
    if known.len() > MOST {
        let _ = write!(message, "\n  … and {} more", known.len() - MOST);
    }
    message.push_str("\nYou can also name a server by http://HOST:PORT or :PORT on this machine, or start one with -- PROGRAM ARGS…");
    message
}

/// Returns a hint for a word that is not a name but looks like something else.
fn otherwise(name: &str, here: &CliEnvironment) -> Option<String> {
    let given = cut(name, 60);
    if !name.is_empty() && name.bytes().all(|b| b.is_ascii_digit()) {
        return Some(format!("A port of this machine is written :{given}"));
    }
    if name.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok()) {
        return Some(format!("Write http://{given} or https://{given}"));
    }
    let is_path = name.contains(['/', '\\']) || here.folder.join(name).exists();
    (is_path && !name.is_empty())
        .then(|| format!("To start a program, write it after two dashes: -- {given}"))
}

#[cfg(test)]
mod tests;
