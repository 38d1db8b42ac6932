//! What a server is called in a host, when nobody says so.

use std::net::IpAddr;
use std::path::Path;

use candor::host_name;

use candor_client::config::Target;

/// Programs that run others: the name is that of what they run.
const RUNNERS: [&str; 12] = [
    "bash", "bun", "bunx", "cargo", "deno", "docker", "node", "npx", "python", "python3", "sh",
    "uvx",
];

/// A name that hosts take.
pub(super) fn check(name: &str) -> Result<String, &'static str> {
    if name.is_empty() || name != host_name(name) {
        return Err("hosts accept only letters, digits, - and _");
    }
    Ok(name.to_owned())
}

/// The name of a server by what it is.
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
    // mcp.github.com is known as github.
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
        // The server calls itself so: its instance, or else the folder.
        Some(first) if own == "candor" && first == "files" => {
            let rest: Vec<_> = args.iter().skip_while(|arg| *arg != first).skip(1).collect();
            let flag = "--instance";
            let after = rest.iter().skip_while(|arg| **arg != flag).nth(1);
            let joined = rest.iter().find_map(|arg| arg.strip_prefix(flag)?.strip_prefix('='));
            let folder = rest.iter().find(|arg| !arg.starts_with('-'));
            let folder = folder.map(|folder| Path::new(folder).file_name().unwrap_or_default());
            let instance = joined.or(after.map(|name| name.as_str())).map(str::to_owned);
            instance.or_else(|| folder.map(|name| name.to_string_lossy().into_owned()))
        }
        Some(first) if RUNNERS.contains(&own.as_str()) => Some(stem(first)),
        _ => None,
    };
    host_name(&named.filter(|name| !name.is_empty()).unwrap_or(own))
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
    fn a_server_is_called_what_it_is() {
        assert_eq!(program("/usr/bin/candor files /home/ann/My.notes --stdio"), "My-notes");
        for line in [
            "/usr/bin/candor files fold --instance notes",
            "/usr/bin/candor files --instance notes fold --stdio",
            "/usr/bin/candor files fold --instance=notes",
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
    fn names_that_hosts_do_not_take_are_refused() {
        assert_eq!(check("my-notes_2"), Ok("my-notes_2".to_owned()));
        for name in ["", "a b", "ü", "a/b", "-a", "a--b"] {
            assert!(check(name).is_err(), "{name}");
        }
    }
}
