//! One server, as the file of a host describes it.

use std::path::PathBuf;

use candor::desk::shown::shown;
use candor_schema::canonical;
use serde_json::{Map, Value};

use super::expand::expand;
use super::places::{Place, Whose};
use super::{Surroundings, Target};
use crate::digest;

/// A server under its name, with its variables as they were written.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) name: String,
    pub(crate) file: PathBuf,
    /// The folder that the file is about; `None`: the file is about a person.
    pub(crate) project: Option<PathBuf>,
    pub(crate) whose: Whose,
    /// What stands under the name, whole: another text is another entry.
    pub(super) digest: String,
    /// Its folder is the folder of its program.
    pub(crate) target: Target,
}

/// Members under which hosts write the URL of a server.
const URLS: [&str; 3] = ["url", "httpUrl", "serverUrl"];

impl Entry {
    /// Reads what stands under a name. Errors say where in the entry, not in which file.
    pub(super) fn read(name: &str, place: &Place, value: &Value) -> Result<Self, String> {
        let members = value.as_object().ok_or("expected an object, with `command` or `url`")?;
        let kind = text(members, "type")?;
        let url = URLS.iter().find(|name| members.contains_key(**name));
        let target = match (url, members.contains_key("command")) {
            (Some(_), true) => return Err("has both a `command` and a URL".to_owned()),
            (None, false) => return Err("has neither `command` nor `url`".to_owned()),
            (Some(url), false) => {
                match kind.as_deref() {
                    None | Some("http" | "streamable-http" | "streamableHttp") => {}
                    Some("sse") => {
                        return Err("`type` is sse, a transport of 2024 that is not spoken here; most servers offer http as well".to_owned());
                    }
                    Some(other) => return Err(unknown(other)),
                }
                let headers = pairs(members, "headers")?;
                Target::Url { url: text(members, url)?.unwrap_or_default(), headers }
            }
            (None, true) => {
                if let Some(other) = kind.filter(|kind| kind != "stdio" && kind != "local") {
                    return Err(unknown(&other));
                }
                Target::Program {
                    program: text(members, "command")?.unwrap_or_default(),
                    args: texts(members, "args")?,
                    env: pairs(members, "env")?,
                    cwd: text(members, "cwd")?.map(PathBuf::from),
                }
            }
        };
        if members.contains_key("envFile") {
            return Err("has an `envFile`, which is not read here: set the variables, and name them in `env`".to_owned());
        }
        Ok(Self {
            name: name.to_owned(),
            file: place.file.clone(),
            project: place.project.clone(),
            whose: place.whose,
            digest: digest::of(&[&canonical(value)]),
            target,
        })
    }

    /// The same for another host, which knows nothing of this one's folders: its variables stay, its paths are whole.
    pub(crate) fn settled(&self, here: &Surroundings) -> Target {
        let folders = [
            ("${workspaceFolder}", self.project.as_deref()),
            ("${userHome}", here.home.as_deref()),
        ];
        let fill = |text: &str| {
            folders.iter().fold(text.to_owned(), |text, (word, folder)| match folder {
                Some(folder) => text.replace(word, &folder.to_string_lossy()),
                None => text,
            })
        };
        let fill_pairs = |pairs: &[(String, String)]| {
            pairs.iter().map(|(name, value)| (name.clone(), fill(value))).collect()
        };
        match &self.target {
            Target::Url { url, headers } => {
                Target::Url { url: fill(url), headers: fill_pairs(headers) }
            }
            Target::Program { program, args, env, cwd } => {
                let program = fill(program);
                let in_project = |path: &str| match &self.project {
                    Some(project) => project.join(path),
                    None => PathBuf::from(path),
                };
                // A bare name is looked for on PATH.
                let is_path = program.contains('/') && !program.starts_with("${");
                Target::Program {
                    program: if is_path {
                        in_project(&program).to_string_lossy().into()
                    } else {
                        program
                    },
                    args: args.iter().map(|arg| fill(arg)).collect(),
                    env: fill_pairs(env),
                    cwd: match cwd {
                        Some(cwd) => Some(in_project(&fill(&cwd.to_string_lossy()))),
                        None => self.project.clone(),
                    },
                }
            }
        }
    }

    /// With all its variables filled in.
    pub(crate) fn expanded(&self, here: &Surroundings) -> Result<Target, String> {
        let fill = |text: &str| expand(text, here, self.project.as_deref());
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
                // Hosts start what a project names in the folder of the project.
                let cwd = match (&self.project, cwd) {
                    (Some(project), Some(cwd)) => Some(project.join(cwd)),
                    (Some(project), None) => Some(project.clone()),
                    (None, cwd) => cwd,
                };
                Ok(Target::Program { program, args, env: fill_pairs(env)?, cwd })
            }),
        };
        filled.map_err(|problem| self.problem(&problem))
    }

    fn problem(&self, problem: &str) -> String {
        format!("{} in {}: {problem}", shown(&self.name), shown(&self.file.to_string_lossy()))
    }
}

fn unknown(kind: &str) -> String {
    format!("`type` is {}, which is not spoken here; stdio and http are", shown(kind))
}

fn text(members: &Map<String, Value>, name: &str) -> Result<Option<String>, String> {
    match members.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(format!("`{name}` is not a string")),
    }
}

fn texts(members: &Map<String, Value>, name: &str) -> Result<Vec<String>, String> {
    let wrong = || format!("`{name}` is not a list of strings");
    match members.get(name) {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Array(items)) => {
            items.iter().map(|item| item.as_str().map(str::to_owned).ok_or_else(wrong)).collect()
        }
        Some(_) => Err(wrong()),
    }
}

fn pairs(members: &Map<String, Value>, name: &str) -> Result<Vec<(String, String)>, String> {
    match members.get(name) {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Object(pairs)) => pairs
            .iter()
            .map(|(key, value)| match value.as_str() {
                Some(value) => Ok((key.clone(), value.to_owned())),
                None => Err(format!("`{name}`: {} is not a string", shown(key))),
            })
            .collect(),
        Some(_) => Err(format!("`{name}` is not an object")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(project: Option<&str>, value: &Value) -> Result<Entry, String> {
        let place = Place {
            file: "/w/.mcp.json".into(),
            member: Vec::new(),
            project: project.map(PathBuf::from),
            whose: Whose::Persons,
        };
        Entry::read("notes", &place, value)
    }

    fn expanded(project: Option<&str>, value: &Value) -> Result<Target, String> {
        let set = [("TOKEN", "t0p"), ("AT", "sub")];
        let here = Surroundings::of_test("/w/deep".into(), "/home/ann".into(), &set);
        read(project, value)?.expanded(&here)
    }

    #[test]
    fn a_program_runs_where_its_project_is() {
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
    fn a_url_stands_under_the_names_that_hosts_use() {
        for name in URLS {
            let value = json!({name: "https://a.example/x", "headers": {"Authorization": "Bearer ${TOKEN}"}});
            let Ok(Target::Url { url, headers }) = expanded(None, &value) else { panic!("{name}") };
            assert_eq!(url, "https://a.example/x");
            assert_eq!(headers, [("Authorization".to_owned(), "Bearer t0p".to_owned())]);
        }
    }

    #[test]
    fn for_another_host_paths_are_whole_and_variables_stay() {
        let value = json!({"command": "./serve", "args": ["${workspaceFolder}/a", "${AT}"], "env": {"K": "${TOKEN}"}});
        let here = Surroundings::of_test("/w/deep".into(), "/home/ann".into(), &[("TOKEN", "t0p")]);
        let settled = |project| read(project, &value).unwrap().settled(&here);
        let Target::Program { program, args, env, cwd } = settled(Some("/w")) else { panic!() };
        assert_eq!((program.as_str(), cwd), ("/w/./serve", Some(PathBuf::from("/w"))));
        assert_eq!(args, ["/w/a", "${AT}"]);
        assert_eq!(env, [("K".to_owned(), "${TOKEN}".to_owned())]);
        let Target::Program { program, cwd, .. } = settled(None) else { panic!() };
        assert_eq!((program.as_str(), cwd), ("./serve", None));
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (value, problem) in [
            (json!(1), "expected an object"),
            (json!({}), "neither"),
            (json!({"command": "a", "url": "b"}), "both"),
            (json!({"command": 1}), "`command` is not a string"),
            (json!({"command": "a", "args": "b"}), "`args` is not a list"),
            (json!({"command": "a", "args": [1]}), "`args` is not a list"),
            (json!({"command": "a", "env": []}), "`env` is not an object"),
            (json!({"command": "a", "env": {"P\u{1b}": 1}}), r"P\u{1b} is not a string"),
            (json!({"command": "a", "type": "http"}), "`type` is http"),
            (json!({"command": "a", "envFile": ".env"}), "envFile"),
            (json!({"url": "http://a", "type": "sse"}), "sse"),
            (json!({"url": "http://a", "type": "ws"}), "`type` is ws"),
        ] {
            let found = read(None, &value).map(|_| ()).unwrap_err();
            assert!(found.contains(problem), "{value}: {found}");
        }
        let unset = expanded(None, &json!({"command": "a", "env": {"K": "${NOPE}"}})).unwrap_err();
        assert_eq!(
            unset,
            "notes in /w/.mcp.json: the variable NOPE is not set, and has no default"
        );
        let odd = expanded(None, &json!({"url": "ws://a"})).unwrap_err();
        assert!(odd.contains("http://"), "{odd}");
    }
}
