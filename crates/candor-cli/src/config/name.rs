//! The default name of a server in a host.

use std::net::IpAddr;
use std::path::Path;

use candor::host_name;
use candor_client::config::Target;
use clap::Args as _;

use crate::files::FilesArgs;

/// Programs that run others: the server gets the name of what they run.
const RUNNERS: [&str; 12] = [
    "bash", "bun", "bunx", "cargo", "deno", "docker", "node", "npx", "python", "python3", "sh",
    "uvx",
];

/// Returns the name if hosts accept it.
pub(super) fn check(name: &str) -> Result<String, &'static str> {
    if name.is_empty() || name != host_name(name) {
        return Err("hosts accept up to 64 letters, digits and _, with single - between them");
    }
    Ok(name.to_owned())
}

/// Derives a name from the server's target.
pub(super) fn of(target: &Target) -> String {
    match target {
        Target::Url { url, .. } => of_url(url),
        Target::Program { program, args, .. } => of_program(program, args),
    }
}

fn of_url(url: &str) -> String {
    let host = candor_client::config::host(url);
    let numbers = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>().is_ok();
    if numbers || host == "localhost" {
        return "local".to_owned();
    }
    // The server at mcp.github.com gets the name github.
    let labels: Vec<_> =
        host.split('.').filter(|label| !matches!(*label, "www" | "mcp" | "api")).collect();
    host_name(labels.first().unwrap_or(&"server"))
}

fn of_program(program: &str, args: &[String]) -> String {
    let stem = |path: &str| {
        let stem = Path::new(path).file_stem().map(|stem| stem.to_string_lossy().into_owned());
        stem.unwrap_or_default()
    };
    let own = stem(program);
    let first = args.iter().find(|arg| !arg.starts_with('-'));
    let named = match first {
        Some(first) if own == "candor" && first == "files" => {
            of_files(args.iter().skip_while(|arg| *arg != first).skip(1))
        }
        Some(first) if RUNNERS.contains(&own.as_str()) => Some(stem(first)),
        _ => None,
    };
    host_name(&named.filter(|name| !name.is_empty()).unwrap_or(own))
}

/// Returns the name that `candor files` gives itself: its instance, or else the name of its folder.
fn of_files<'a>(mut args: impl Iterator<Item = &'a String>) -> Option<String> {
    let command = FilesArgs::augment_args(clap::Command::new("files"));
    let takes_value = |flag: &str| {
        let mut all = command.get_arguments();
        all.any(|arg| arg.get_long() == Some(flag) && arg.get_action().takes_values())
    };
    let (mut instance, mut folder) = (None, None);
    while let Some(arg) = args.next() {
        match arg.strip_prefix("--") {
            None if folder.is_none() && !arg.starts_with('-') => folder = Some(arg),
            None => {}
            Some(flag) => {
                let (flag, value) = match flag.split_once('=') {
                    Some((flag, value)) => (flag, Some(value)),
                    None if takes_value(flag) => (flag, args.next().map(String::as_str)),
                    None => (flag, None),
                };
                if flag == "instance" {
                    instance = value.map(str::to_owned);
                }
            }
        }
    }
    let name = |folder: &String| {
        Path::new(folder).file_name().map(|name| name.to_string_lossy().into_owned())
    };
    instance.or_else(|| folder.and_then(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(line: &str) -> String {
        let mut words = line.split(' ').map(str::to_owned);
        let program = words.next().unwrap();
        of(&Target::Program { program, args: words.collect(), env: Vec::new(), cwd: None })
    }

    fn url(url: &str) -> String {
        of(&Target::Url { url: url.to_owned(), headers: Vec::new() })
    }

    #[test]
    fn server_name_comes_from_its_target() {
        assert_eq!(program("/usr/bin/candor files /home/ann/My.notes --stdio"), "My-notes");
        for line in [
            "/usr/bin/candor files fold --instance notes",
            "/usr/bin/candor files --instance notes fold --stdio",
            "/usr/bin/candor files fold --instance=notes",
            "/usr/bin/candor files --max-file 100 --read-only notes",
        ] {
            assert_eq!(program(line), "notes", "{line}");
        }
        assert_eq!(program("/usr/bin/candor files"), "candor");
        assert_eq!(program("/usr/bin/candor files /"), "candor");
        assert_eq!(program("/opt/serve.sh --all"), "serve");
        assert_eq!(program("npx -y @acme/server-mail"), "server-mail");
        assert_eq!(program("python3 /srv/weather.py"), "weather");
        assert_eq!(program("node"), "node");
        assert_eq!(url("http://127.0.0.1:7332/mcp"), "local");
        assert_eq!(url("http://[::1]:7332/mcp"), "local");
        assert_eq!(url("https://mcp.github.example/x"), "github");
    }

    #[test]
    fn name_with_characters_that_hosts_reject_is_refused() {
        assert_eq!(check("my-notes_2"), Ok("my-notes_2".to_owned()));
        for name in ["", "a b", "ü", "a/b", "-a", "a--b"] {
            assert!(check(name).is_err(), "{name}");
        }
    }
}
