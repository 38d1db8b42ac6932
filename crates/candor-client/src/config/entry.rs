//! One server, as the configuration file of a host describes it.

use std::fmt;
use std::path::{Path, PathBuf};

use candor_schema::canonical;
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

use super::error::pointer;
use super::places::ServerList;
use super::{ConfigError, Environment, Owner, Target, expand, is_public};
use crate::connect::Connect;

/// A server in a configuration file, with its variables as written.
#[derive(Clone, PartialEq, Eq)]
pub struct ServerEntry {
    name: String,
    file: PathBuf,
    pointer: String,
    project: Option<PathBuf>,
    owner: Owner,
    digest: String,
    target: Target,
    pub(super) rank: usize,
}

/// The members in which hosts write the URL of a server.
const URLS: [&str; 3] = ["url", "httpUrl", "serverUrl"];

impl ServerEntry {
    /// Reads the entry of a server. `rank` is its precedence among the lists of all files.
    pub(super) fn read(
        name: &str,
        place: &ServerList,
        rank: usize,
        value: &Value,
    ) -> Result<Self, ConfigError> {
        let members = place.member.iter().map(String::as_str);
        let pointer = pointer(members.chain([name]));
        let target = target(value).map_err(|Problem(at, reason)| ConfigError::Entry {
            name: name.to_owned(),
            file: place.file.clone(),
            pointer: format!("{pointer}{at}"),
            reason,
        })?;
        Ok(Self {
            name: name.to_owned(),
            file: place.file.clone(),
            pointer,
            project: place.project.clone(),
            owner: place.owner,
            digest: digest(&[&place.file.to_string_lossy(), name, &digest(&[&canonical(value)])]),
            target,
            rank,
        })
    }

    /// Returns the name of the server.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the file that the entry is in.
    #[must_use]
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Returns the position of the entry in its file, as a JSON Pointer.
    #[must_use]
    pub fn pointer(&self) -> &str {
        &self.pointer
    }

    /// Returns the project folder of the server, if it has one. Its program runs there.
    #[must_use]
    pub fn project(&self) -> Option<&Path> {
        self.project.as_deref()
    }

    /// Returns who wrote the file.
    #[must_use]
    pub fn owner(&self) -> Owner {
        self.owner
    }

    /// Returns what the entry starts or reaches, with its variables as written.
    #[must_use]
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// Returns a SHA-256 digest of the file's path, the name and the whole entry. The user's agreement covers one digest. After any
    /// change, ask again.
    #[must_use]
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// Returns true if the user must agree before the entry is used. That is the case if a project's file starts a program, reaches
    /// this machine or its network, or sends headers or variables of the user.
    #[must_use]
    pub fn needs_agreement(&self) -> bool {
        let is_harmless = match &self.target {
            Target::Program { .. } => false,
            Target::Url { url, headers } => {
                headers.is_empty() && self.target.variables().is_empty() && is_public(url)
            }
        };
        self.owner == Owner::Project && !is_harmless
    }

    /// Connects when awaited. The server is untrusted unless [`Connect::trust`] says otherwise.
    ///
    /// # Errors
    /// A variable has no value, or the URL is not an HTTP URL.
    pub fn connect(&self, environment: &Environment) -> Result<Connect, ConfigError> {
        Ok(self.expand(environment)?.connect())
    }

    /// Fills in the variables.
    ///
    /// # Errors
    /// A variable has no value, or the URL is not an HTTP URL.
    pub fn expand(&self, environment: &Environment) -> Result<Target, ConfigError> {
        let fill = |text: &str| expand(text, environment, self.project.as_deref());
        let fill_pairs = |pairs: &[(String, String)]| {
            let fill_one = |(name, value): &(String, String)| Ok((name.clone(), fill(value)?));
            pairs.iter().map(fill_one).collect::<Result<Vec<_>, String>>()
        };
        let filled = match &self.target {
            Target::Url { url, headers } => fill(url).and_then(|url| {
                let scheme = url.split_once("://").map(|(scheme, _)| scheme.to_ascii_lowercase());
                if !matches!(scheme.as_deref(), Some("http" | "https")) {
                    return Err("its URL does not begin with http:// or https://".to_owned());
                }
                Ok(Target::Url { url, headers: fill_pairs(headers)? })
            }),
            Target::Program { program, args, env, cwd } => fill(program).and_then(|program| {
                let args = args.iter().map(|arg| fill(arg)).collect::<Result<_, _>>()?;
                let cwd = match cwd {
                    None => None,
                    Some(cwd) => Some(PathBuf::from(fill(&cwd.to_string_lossy())?)),
                };
                // Hosts start a project's program in the folder of the project.
                let cwd = match (&self.project, cwd) {
                    (Some(project), Some(cwd)) => Some(project.join(cwd)),
                    (Some(project), None) => Some(project.clone()),
                    (None, cwd) => cwd,
                };
                Ok(Target::Program { program, args, env: fill_pairs(env)?, cwd })
            }),
        };
        filled.map_err(|reason| ConfigError::Entry {
            name: self.name.clone(),
            file: self.file.clone(),
            pointer: self.pointer.clone(),
            reason,
        })
    }
}

/// Omits values that may be secrets.
impl fmt::Debug for ServerEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerEntry")
            .field("name", &self.name)
            .field("file", &self.file)
            .field("pointer", &self.pointer)
            .field("owner", &self.owner)
            .field("target", &self.target)
            .finish_non_exhaustive()
    }
}

/// Returns the SHA-256 of several texts, in hexadecimal digits. Length prefixes keep the texts apart.
fn digest(parts: &[&str]) -> String {
    let mut digest = Sha256::new();
    for part in parts {
        digest.update((part.len() as u64).to_be_bytes());
        digest.update(part);
    }
    digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A problem in an entry: its position, and what is wrong.
#[derive(Debug)]
struct Problem(String, String);

impl Problem {
    fn of(members: &[&str], reason: impl Into<String>) -> Self {
        Self(pointer(members.iter().copied()), reason.into())
    }
}

fn target(value: &Value) -> Result<Target, Problem> {
    let whole = |reason: &str| Problem::of(&[], reason);
    let members =
        value.as_object().ok_or_else(|| whole("expected an object, with `command` or `url`"))?;
    if members.contains_key("envFile") {
        return Err(Problem::of(
            &["envFile"],
            "an `envFile` is not supported. Set the variables, and name them in `env`",
        ));
    }
    let kind = text(members, "type")?;
    let kind = kind.as_deref();
    let url = URLS.iter().find(|name| members.contains_key(**name));
    match (url, members.contains_key("command")) {
        (Some(_), true) => Err(whole("has both a `command` and a URL")),
        (None, false) => Err(whole("has neither `command` nor `url`")),
        (Some(url), false) => {
            if !matches!(kind, None | Some("http" | "streamable-http" | "streamableHttp")) {
                return Err(unknown(kind));
            }
            let headers = pairs(members, "headers")?;
            Ok(Target::Url { url: text(members, url)?.unwrap_or_default(), headers })
        }
        (None, true) => {
            if !matches!(kind, None | Some("stdio" | "local")) {
                return Err(unknown(kind));
            }
            Ok(Target::Program {
                program: text(members, "command")?.unwrap_or_default(),
                args: texts(members, "args")?,
                env: pairs(members, "env")?,
                cwd: text(members, "cwd")?.map(PathBuf::from),
            })
        }
    }
}

fn unknown(kind: Option<&str>) -> Problem {
    let reason = match kind.unwrap_or_default() {
        "sse" => {
            "`type` is sse, a transport of 2024 that is not supported. Most servers offer http as well".to_owned()
        }
        other => format!("`type` is {other}, which is not supported. stdio and http are"),
    };
    Problem::of(&["type"], reason)
}

fn text(members: &Map<String, Value>, name: &str) -> Result<Option<String>, Problem> {
    match members.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(Problem::of(&[name], format!("`{name}` is not a string"))),
    }
}

fn texts(members: &Map<String, Value>, name: &str) -> Result<Vec<String>, Problem> {
    let wrong = format!("`{name}` is not a list of strings");
    match members.get(name) {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Array(items)) => {
            let items = items.iter().enumerate().map(|(at, item)| match item.as_str() {
                Some(item) => Ok(item.to_owned()),
                None => Err(Problem::of(&[name, &at.to_string()], wrong.as_str())),
            });
            items.collect()
        }
        Some(_) => Err(Problem::of(&[name], wrong)),
    }
}

fn pairs(members: &Map<String, Value>, name: &str) -> Result<Vec<(String, String)>, Problem> {
    match members.get(name) {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Object(pairs)) => {
            let pairs = pairs.iter().map(|(key, value)| match value.as_str() {
                Some(value) => Ok((key.clone(), value.to_owned())),
                None => Err(Problem::of(&[name, key], format!("{key} is not a string"))),
            });
            pairs.collect()
        }
        Some(_) => Err(Problem::of(&[name], format!("`{name}` is not an object"))),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(project: Option<&str>, value: &Value) -> Result<ServerEntry, ConfigError> {
        let place = ServerList {
            file: "/w/.mcp.json".into(),
            member: vec!["mcpServers".to_owned()],
            project: project.map(PathBuf::from),
            owner: Owner::User,
        };
        ServerEntry::read("notes", &place, 0, value)
    }

    fn expanded(project: Option<&str>, value: &Value) -> Result<Target, ConfigError> {
        let set = [("TOKEN", "t0p"), ("AT", "sub")];
        let environment = Environment::new("/w/deep").home("/home/ann").variables(set);
        read(project, value)?.expand(&environment)
    }

    #[test]
    fn program_runs_in_its_project_folder() {
        let value = json!({"type": "stdio", "command": "./serve", "args": ["--at", "${AT}"], "env": {"KEY": "${TOKEN}"}});
        let expected = |cwd: Option<&str>| Target::Program {
            program: "./serve".to_owned(),
            args: vec!["--at".to_owned(), "sub".to_owned()],
            env: vec![("KEY".to_owned(), "t0p".to_owned())],
            cwd: cwd.map(PathBuf::from),
        };
        assert_eq!(expanded(Some("/w"), &value), Ok(expected(Some("/w"))));
        assert_eq!(expanded(None, &value), Ok(expected(None)));
        for (cwd, at) in [("${AT}", "/w/sub"), ("/abs", "/abs"), ("${workspaceFolder}/x", "/w/x")] {
            let mut value = value.clone();
            value["cwd"] = json!(cwd);
            assert_eq!(expanded(Some("/w"), &value), Ok(expected(Some(at))), "{cwd}");
        }
    }

    #[test]
    fn url_is_read_under_every_name_that_hosts_use() {
        for name in URLS {
            let value = json!({name: "https://a.example/x", "headers": {"Authorization": "Bearer ${TOKEN}"}});
            let Ok(Target::Url { url, headers }) = expanded(None, &value) else { panic!("{name}") };
            assert_eq!(url, "https://a.example/x");
            assert_eq!(headers, [("Authorization".to_owned(), "Bearer t0p".to_owned())]);
        }
    }

    #[test]
    fn invalid_entry_error_names_its_pointer_and_problem() {
        for (value, at, problem) in [
            (json!(1), "", "expected an object"),
            (json!({}), "", "neither"),
            (json!({"command": "a", "url": "b"}), "", "both"),
            (json!({"command": 1}), "/command", "`command` is not a string"),
            (json!({"command": "a", "args": "b"}), "/args", "`args` is not a list"),
            (json!({"command": "a", "args": ["b", 1]}), "/args/1", "`args` is not a list"),
            (json!({"command": "a", "env": []}), "/env", "`env` is not an object"),
            (json!({"command": "a", "env": {"P/\u{1b}": 1}}), r"/env/P~1\u{1b}", "is not a string"),
            (json!({"command": "a", "type": "http"}), "/type", "`type` is http"),
            (json!({"command": "a", "type": 1}), "/type", "`type` is not a string"),
            (json!({"command": "a", "envFile": ".env"}), "/envFile", "envFile"),
            (json!({"url": "http://a", "type": "sse"}), "/type", "sse"),
            (json!({"url": "http://a", "type": "ws"}), "/type", "`type` is ws"),
        ] {
            let found = read(None, &value).unwrap_err().to_string();
            let place = format!("notes in /w/.mcp.json, at /mcpServers/notes{at}: ");
            assert!(found.starts_with(&place) && found.contains(problem), "{value}: {found}");
        }
        let unset = expanded(None, &json!({"command": "a", "env": {"K": "${NOPE}"}})).unwrap_err();
        assert_eq!(
            unset.to_string(),
            "notes in /w/.mcp.json, at /mcpServers/notes: the variable NOPE is not set, and has no default"
        );
        let odd = expanded(None, &json!({"url": "ws://a"})).unwrap_err().to_string();
        assert!(odd.contains("http://"), "{odd}");
    }

    #[test]
    fn debug_output_hides_secrets() {
        for value in [
            json!({"url": "https://ann:s3cret@a.example/?key=s3cret", "headers": {"X": "s3cret"}}),
            json!({"command": "run", "args": ["--token", "s3cret"], "env": {"K": "s3cret"}}),
        ] {
            let entry = read(None, &value).unwrap();
            let debug = format!("{entry:?}");
            assert!(debug.contains("notes") && !debug.contains("s3cret"), "{debug}");
        }
    }

    #[test]
    fn project_entry_needs_agreement_except_for_a_plain_public_url() {
        let of = |owner, value: &Value| {
            let mut entry = read(Some("/w"), value).unwrap();
            entry.owner = owner;
            entry.needs_agreement()
        };
        let public = json!({"url": "https://a.example/mcp"});
        assert!(!of(Owner::Project, &public));
        for value in [
            json!({"command": "a"}),
            json!({"url": "http://a.example/mcp"}),
            json!({"url": "https://127.0.0.1/mcp"}),
            json!({"url": "https://a.example/${HOME}"}),
            json!({"url": "https://a.example/mcp", "headers": {"X": "y"}}),
        ] {
            assert!(of(Owner::Project, &value), "{value}");
            assert!(!of(Owner::User, &value), "{value}");
        }
    }
}
