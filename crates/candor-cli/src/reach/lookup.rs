//! A name, looked up in the files of hosts.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use candor::desk::shown::shown;
use candor_schema::nearest;
use serde_json::{Map, Value};

use super::places::{Place, places};
use super::{Entry, Surroundings, file};
use crate::exit::Failure;
use crate::width::{cut, padded};

/// As many names as one looks at.
const MOST: usize = 40;

/// The server of this name that is the person's own, or else nearest, and what a person should know about the choice.
pub(super) fn find(name: &str, here: &Surroundings) -> Result<(Entry, Vec<String>), Failure> {
    let mut files = Files::default();
    // With how many nearer files had been passed over by then.
    let mut found: Option<(Entry, usize)> = None;
    let mut notes = Vec::new();
    let mut known: Vec<(String, PathBuf)> = Vec::new();
    for place in places(here) {
        let Some(servers) = files.servers(&place) else { continue };
        known.extend(servers.keys().map(|name| (name.clone(), place.file.clone())));
        let Some(value) = servers.get(name) else { continue };
        match &found {
            Some((nearest, _)) => notes.push(format!(
                "{} stands in {} as well; {} in {} is used",
                shown(name),
                of(&place.file),
                // No project takes the place of what the person has.
                if nearest.whose == place.whose { "the one" } else { "your own" },
                of(&nearest.file)
            )),
            None => {
                let entry = Entry::read(name, &place, value);
                let entry = entry.map_err(|problem| {
                    Failure::failed(format!("{} in {}: {problem}", shown(name), of(&place.file)))
                })?;
                found = Some((entry, files.problems.len()));
            }
        }
    }
    match found {
        Some((entry, nearer)) => {
            notes.extend(
                files.problems.iter().take(nearer).map(|problem| format!("passed over: {problem}")),
            );
            Ok((entry, notes))
        }
        // Perhaps it stands in the one that could not be read.
        None if !files.problems.is_empty() => Err(Failure::failed(format!(
            "no server {} was found, and not all files could be read:\n  {}",
            shown(name),
            files.problems.join("\n  ")
        ))),
        None => Err(Failure::usage(unknown(name, &known, here))),
    }
}

/// Files that were read already, and what was wrong with them.
#[derive(Default)]
struct Files {
    read: HashMap<PathBuf, Option<Value>>,
    problems: Vec<String>,
}

impl Files {
    fn servers(&mut self, place: &Place) -> Option<Map<String, Value>> {
        if !self.read.contains_key(&place.file) {
            let value = match file::read(&place.file) {
                Ok(value) => value,
                Err(problem) => {
                    self.problem(&place.file, &problem);
                    None
                }
            };
            self.read.insert(place.file.clone(), value);
        }
        let mut value = self.read.get(&place.file)?.as_ref()?;
        for (depth, step) in place.member.iter().enumerate() {
            let Some(members) = value.as_object() else {
                let problem = match depth {
                    0 => "expected an object".to_owned(),
                    _ => format!("expected an object under {}", place.member[..depth].join("/")),
                };
                self.problem(&place.file, &problem);
                return None;
            };
            value = members.get(step)?;
        }
        let servers = value.as_object().cloned();
        if servers.is_none() {
            let problem = format!("expected an object under {}", place.member.join("/"));
            self.problem(&place.file, &problem);
        }
        servers
    }

    fn problem(&mut self, file: &Path, problem: &str) {
        let problem = format!("{}: {}", of(file), shown(problem));
        if !self.problems.contains(&problem) {
            self.problems.push(problem);
        }
    }
}

fn of(path: &Path) -> String {
    shown(&path.to_string_lossy()).to_string()
}

/// That there is no such server, and what there is.
fn unknown(name: &str, known: &[(String, PathBuf)], here: &Surroundings) -> String {
    let given = cut(name, 60);
    let mut message = format!("there is no server {given} in the files of your hosts");
    let meant = nearest(name, known.iter().map(|(name, _)| name.as_str()));
    if let Some(hint) = otherwise(name, here) {
        let _ = write!(message, ". {hint}");
    } else if let Some(meant) = meant {
        let _ = write!(message, ". Did you mean {}?", shown(meant));
    }
    if known.is_empty() {
        message.push_str("\nThere is none at all: .mcp.json, .vscode/mcp.json and .cursor/mcp.json were looked for here and above, and the files of Claude, Cursor, Windsurf and Gemini in your home");
    }
    for (name, file) in known.iter().take(MOST) {
        let _ = write!(message, "\n  {} {}", padded(&cut(name, 40), 20), of(file));
    }
    if known.len() > MOST {
        let _ = write!(message, "\n  … and {} more", known.len() - MOST);
    }
    message.push_str("\nA server is also named by http://HOST:PORT, by :PORT on this machine, or started by -- PROGRAM ARGS…");
    message
}

/// What somebody probably wanted who wrote what is no name.
fn otherwise(name: &str, here: &Surroundings) -> Option<String> {
    let given = cut(name, 60);
    if !name.is_empty() && name.bytes().all(|b| b.is_ascii_digit()) {
        return Some(format!("A port of this machine is written :{given}"));
    }
    if name.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok()) {
        return Some(format!("Write http://{given} or https://{given}"));
    }
    let is_path = name.contains(['/', '\\']) || here.folder.join(name).exists();
    (is_path && !name.is_empty())
        .then(|| format!("To start a program, write it behind two dashes: -- {given}"))
}

#[cfg(test)]
mod tests;
