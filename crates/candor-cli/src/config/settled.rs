//! A server from the configuration file of one host, for another host.

use std::path::{Path, PathBuf};

use candor_client::config::{Environment, ServerEntry, Target};

/// Returns the server for another host, which does not know the folders of this entry. Variables stay, and paths become absolute.
pub(super) fn settled(entry: &ServerEntry, environment: &Environment) -> Target {
    let project = entry.project();
    let folders = [("${workspaceFolder}", project), ("${userHome}", environment.home.as_deref())];
    let fill = |text: &str| {
        folders.iter().fold(text.to_owned(), |text, (word, folder)| match folder {
            Some(folder) => text.replace(word, &folder.to_string_lossy()),
            None => text,
        })
    };
    let fill_pairs = |pairs: &[(String, String)]| {
        pairs.iter().map(|(name, value)| (name.clone(), fill(value))).collect()
    };
    match entry.target() {
        Target::Url { url, headers } => {
            Target::Url { url: fill(url), headers: fill_pairs(headers) }
        }
        Target::Program { program, args, env, cwd } => {
            let program = fill(program);
            let in_project = |path: &str| match project {
                Some(project) => project.join(path),
                None => PathBuf::from(path),
            };
            // A bare name is looked up on PATH.
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
                    None => project.map(Path::to_owned),
                },
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use candor_client::config::HostConfigs;
    use serde_json::json;

    use super::*;

    #[test]
    fn project_entry_gets_absolute_paths_and_keeps_its_variables() {
        let value = json!({"command": "./serve", "args": ["${workspaceFolder}/a", "${AT}"], "env": {"K": "${TOKEN}"}});
        let home = std::env::temp_dir().join(format!("candor-settled-{}", std::process::id()));
        let project = home.join("w");
        std::fs::create_dir_all(&project).unwrap();
        let settled = |file: &str| {
            let file = home.join(file);
            std::fs::write(&file, json!({"mcpServers": {"notes": value}}).to_string()).unwrap();
            let environment = Environment::new(&project).home(&home).variables([("TOKEN", "t0p")]);
            let settled =
                settled(HostConfigs::load(&environment).find("notes").unwrap(), &environment);
            std::fs::remove_file(file).unwrap();
            settled
        };
        let Target::Program { program, args, env, cwd } = settled("w/.mcp.json") else { panic!() };
        assert_eq!(Path::new(&program), project.join("./serve"));
        assert_eq!(cwd.as_ref(), Some(&project));
        assert_eq!(args, [project.join("a").to_str().unwrap(), "${AT}"]);
        assert_eq!(env, [("K".to_owned(), "${TOKEN}".to_owned())]);
        let Target::Program { program, cwd, .. } = settled(".claude.json") else { panic!() };
        assert_eq!((program.as_str(), cwd), ("./serve", None));
        std::fs::remove_dir_all(&home).unwrap();
    }
}
