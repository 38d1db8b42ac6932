//! The configuration files of all hosts, and the search for a name in them.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use candor_schema::nearest;
use serde_json::{Map, Value};

use super::error::pointer;
use super::places::{ServerList, places};
use super::{ConfigError, Environment, Owner, ServerEntry, file};

/// The servers in the configuration files of the user's hosts, in order of precedence. The user's own come before those of
/// projects, and the nearest folder comes first.
#[derive(Debug, Clone, Default)]
pub struct HostConfigs {
    named: Vec<NamedEntry>,
    /// Each problem with the precedence of its list.
    problems: Vec<(usize, ConfigError)>,
}

/// The name of a server in a file, and its entry.
#[derive(Debug, Clone)]
struct NamedEntry {
    name: String,
    file: PathBuf,
    owner: Owner,
    entry: Result<ServerEntry, ConfigError>,
}

impl HostConfigs {
    /// Reads `.mcp.json`, `.vscode/mcp.json` and `.cursor/mcp.json` in the current folder and its parents. Also reads the user's
    /// files of Claude Code, Claude Desktop, Cursor, Windsurf and Gemini. An unreadable file is one of the
    /// [`problems`](Self::problems).
    #[must_use]
    pub fn load(environment: &Environment) -> Self {
        let mut loaded = Self::default();
        let mut files = HashMap::new();
        for (rank, place) in places(environment).into_iter().enumerate() {
            let content = files.entry(place.file.clone()).or_insert_with(|| {
                file::read(&place.file).map_err(|reason| loaded.problem(rank, &place, &[], reason))
            });
            let Ok(Some(content)) = content else { continue };
            match servers(content, &place.member) {
                Ok(None) => {}
                Ok(Some(servers)) => {
                    let named = servers.iter().map(|(name, value)| NamedEntry {
                        name: name.clone(),
                        file: place.file.clone(),
                        owner: place.owner,
                        entry: ServerEntry::read(name, &place, rank, value),
                    });
                    loaded.named.extend(named);
                }
                Err(members) => {
                    loaded.problem(rank, &place, members, "expected an object".to_owned());
                }
            }
        }
        loaded
    }

    /// Returns the server of this name that takes precedence.
    ///
    /// # Errors
    /// Its entry is invalid, or no file has the name. The search does not skip an invalid entry.
    pub fn find(&self, name: &str) -> Result<&ServerEntry, ConfigError> {
        match self.named.iter().find(|named| named.name == name) {
            Some(named) => named.entry.as_ref().map_err(ConfigError::clone),
            None => Err(ConfigError::NotFound {
                name: name.to_owned(),
                like: nearest(name, self.names().map(|(name, _)| name)).map(str::to_owned),
                unread: self.problems().cloned().collect(),
            }),
        }
    }

    /// Returns all servers, including those that another server of the same name overrides, and the problem of each invalid entry.
    pub fn entries(&self) -> impl Iterator<Item = Result<&ServerEntry, &ConfigError>> {
        self.named.iter().map(|named| named.entry.as_ref())
    }

    /// Returns all names, with their files.
    pub fn names(&self) -> impl Iterator<Item = (&str, &Path)> {
        self.named.iter().map(|named| (named.name.as_str(), named.file.as_path()))
    }

    /// Returns the other files that have a server of the same name, and who wrote them.
    pub fn shadowed(&self, entry: &ServerEntry) -> impl Iterator<Item = (&Path, Owner)> {
        let same = self.named.iter().filter(|named| named.name == entry.name());
        same.skip(1).map(|named| (named.file.as_path(), named.owner))
    }

    /// Returns the problems of whole files. Problems of single entries come from [`find`](Self::find) and
    /// [`entries`](Self::entries).
    pub fn problems(&self) -> impl Iterator<Item = &ConfigError> {
        self.problems.iter().map(|(_, problem)| problem)
    }

    /// Returns the problems of files that take precedence over the file of this server: one of them may also have the name.
    pub fn problems_before(&self, entry: &ServerEntry) -> impl Iterator<Item = &ConfigError> {
        let before = self.problems.iter().filter(|(rank, _)| *rank < entry.rank);
        before.map(|(_, problem)| problem)
    }

    fn problem(&mut self, rank: usize, place: &ServerList, members: &[String], reason: String) {
        let pointer = pointer(members.iter().map(String::as_str));
        let problem = ConfigError::File { file: place.file.clone(), pointer, reason };
        // One file can have several lists.
        if !self.problems.iter().any(|(_, known)| *known == problem) {
            self.problems.push((rank, problem));
        }
    }
}

/// Returns the member that contains servers, if it exists. The error is the path of a value that is not an object.
fn servers<'a, 'p>(
    mut value: &'a Value,
    path: &'p [String],
) -> Result<Option<&'a Map<String, Value>>, &'p [String]> {
    for (depth, step) in path.iter().enumerate() {
        match value.as_object().ok_or(&path[..depth])?.get(step) {
            Some(member) => value = member,
            None => return Ok(None),
        }
    }
    value.as_object().map(Some).ok_or(path)
}
