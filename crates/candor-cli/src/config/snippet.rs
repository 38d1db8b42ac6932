//! One server, in the format of each host.

use candor::operator::shown::{json_shown, shown};
use serde_json::{Map, Value, json};

use super::host::Host;
use crate::exit::Failure;
use crate::shell::quoted;
use crate::toml;
use candor_client::config::redact::{is_secret, secrets_of, url_with};
use candor_client::config::{Piece, Target, pieces};

type Pairs = [(String, String)];

const BEARER: &str = "Bearer ";

/// Replaces values that look like secrets with variables: printed text ends up in logs and chats.
pub(super) fn without_secrets(target: &Target, notes: &mut Vec<String>) -> Target {
    match target {
        Target::Url { url, headers } => Target::Url {
            url: url_with(url, |name, value| variable_for(name, value, notes)),
            headers: hidden(headers, notes),
        },
        Target::Program { program, args, env, cwd } => {
            let secrets = secrets_of(args);
            let mut before = "";
            let args = args.iter().zip(secrets).map(|(arg, secret)| {
                let flag = std::mem::replace(&mut before, arg);
                match secret {
                    // The variable is named after the flag before the value, or after the text before it in the same word.
                    Some(at) => {
                        let (seen, value) = arg.split_at(at);
                        let name = if seen.is_empty() { flag } else { seen };
                        format!("{seen}{}", variable_for(name, value, notes))
                    }
                    None if arg.contains("://") => {
                        url_with(arg, |name, value| variable_for(name, value, notes))
                    }
                    None => arg.clone(),
                }
            });
            Target::Program {
                program: program.clone(),
                args: args.collect(),
                env: hidden(env, notes),
                cwd: cwd.clone(),
            }
        }
    }
}

fn hidden(pairs: &Pairs, notes: &mut Vec<String>) -> Vec<(String, String)> {
    let hide = |(name, value): &(String, String)| {
        let value = if is_secret(name) && !value.is_empty() {
            variable_for(name, value, notes)
        } else {
            value.clone()
        };
        (name.clone(), value)
    };
    pairs.iter().map(hide).collect()
}

/// Returns a variable that replaces the secret of this name, and adds a note. A value that already contains variables stays.
fn variable_for(name: &str, value: &str, notes: &mut Vec<String>) -> String {
    if pieces(value).iter().any(|piece| !matches!(piece, Piece::Text(_))) {
        return value.to_owned();
    }
    let letter = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' };
    let variable: String = name.chars().map(letter).collect();
    let variable = match variable.trim_matches('_') {
        "" => "TOKEN",
        variable => variable,
    };
    // The kind of a secret is not secret, and Codex needs it.
    let kind = if value.starts_with(BEARER) { BEARER } else { "" };
    let what = if kind.is_empty() { "it" } else { "the token" };
    let name = match name.trim_matches(['-', '=', ':', ' ']) {
        "" => "an argument",
        name => name,
    };
    notes.push(format!(
        "the value of {} is not printed: where the host starts, set the variable {variable} to {what}",
        shown(name)
    ));
    format!("{kind}${{{variable}}}")
}

/// Warns of secrets that the user typed. They are printed as typed, but do not belong in a snippet.
pub(super) fn warn_of_secrets(target: &Target, notes: &mut Vec<String>) {
    let mut hidden = Vec::new();
    without_secrets(target, &mut hidden);
    if !hidden.is_empty() {
        notes.push(
            "this snippet has the secret that you typed: let the program read it from a variable or a file instead".to_owned(),
        );
    }
}

/// Returns the snippet.
pub(super) fn write(
    host: Host,
    name: &str,
    target: &Target,
    notes: &mut Vec<String>,
) -> Result<String, Failure> {
    if host == Host::ClaudeDesktop && matches!(target, Target::Url { .. }) {
        return Err(Failure::failed(
            "Claude Desktop's file supports only programs. Add a URL there under Settings, Connectors",
        ));
    }
    if host == Host::Codex {
        return codex(name, target, notes);
    }
    let target = translated(host, target, notes);
    if let (false, Target::Program { cwd: Some(cwd), .. }) = (host.takes_folder(), &target) {
        notes.push(format!(
            "it must run in {}, which {} cannot set: use absolute paths",
            shown(&cwd.to_string_lossy()),
            host.name()
        ));
    }
    Ok(match host {
        Host::ClaudeCode => claude_code(name, &target),
        Host::Vscode => list("servers", name, &described(host, &target)),
        _ => list("mcpServers", name, &described(host, &target)),
    })
}

fn list(key: &str, name: &str, server: &Map<String, Value>) -> String {
    let value = json!({key: {name: server}});
    json_shown(&serde_json::to_string_pretty(&value).unwrap_or_default())
}

/// Returns the object under the server's name.
fn described(host: Host, target: &Target) -> Map<String, Value> {
    let mut server = Map::new();
    let mut set = |key: &str, value: Value| server.insert(key.to_owned(), value);
    let object = |pairs: &Pairs| {
        Value::Object(pairs.iter().map(|(k, v)| (k.clone(), v.clone().into())).collect())
    };
    let has_type = matches!(host, Host::Vscode | Host::Json);
    match target {
        Target::Url { url, headers } => {
            if has_type {
                set("type", "http".into());
            }
            let key = match host {
                Host::Windsurf => "serverUrl",
                Host::GeminiCli => "httpUrl",
                _ => "url",
            };
            set(key, url.as_str().into());
            if !headers.is_empty() {
                set("headers", object(headers));
            }
        }
        Target::Program { program, args, env, cwd } => {
            if has_type {
                set("type", "stdio".into());
            }
            set("command", program.as_str().into());
            set("args", args.as_slice().into());
            if !env.is_empty() {
                set("env", object(env));
            }
            if let Some(cwd) = cwd.as_ref().filter(|_| host.takes_folder()) {
                set("cwd", cwd.to_string_lossy().into());
            }
        }
    }
    server
}

/// Returns the command that adds the server. The name comes first, because the flags for variables and headers take all words after
/// them.
fn claude_code(name: &str, target: &Target) -> String {
    let mut words = vec!["claude".to_owned(), "mcp".to_owned(), "add".to_owned()];
    match target {
        Target::Url { url, headers } => {
            words.extend(["--transport", "http", name, url].map(str::to_owned));
            for (name, value) in headers {
                words.extend(["--header".to_owned(), format!("{name}: {value}")]);
            }
        }
        Target::Program { program, args, env, .. } => {
            words.push(name.to_owned());
            for (name, value) in env {
                words.extend(["--env".to_owned(), format!("{name}={value}")]);
            }
            words.extend(["--".to_owned(), program.clone()]);
            words.extend(args.iter().cloned());
        }
    }
    let line: Vec<_> = words.iter().map(|word| quoted(word)).collect();
    shown(&line.join(" ")).to_string()
}

/// Returns the snippet for Codex, which does not fill in variables but reads them by name.
fn codex(name: &str, target: &Target, notes: &mut Vec<String>) -> Result<String, Failure> {
    let head = format!("[mcp_servers.{}]", toml::key(name));
    let mut lines = vec![head];
    let mut tables = Vec::new();
    let mut table = |name: &str, pairs: &[(String, String)]| {
        if !pairs.is_empty() {
            let pairs: Vec<_> = pairs
                .iter()
                .map(|(k, v)| format!("{} = {}", toml::key(k), toml::string(v)))
                .collect();
            tables.push(format!("{name} = {{ {} }}", pairs.join(", ")));
        }
    };
    match target {
        Target::Url { url, headers } => {
            lines.push(format!("url = {}", toml::string(url)));
            let mut plain = Vec::new();
            let mut named = Vec::new();
            for (header, value) in headers {
                match pieces(value).as_slice() {
                    [Piece::Variable { name, .. }] => {
                        named.push((header.clone(), (*name).to_owned()));
                    }
                    [Piece::Text(BEARER), Piece::Variable { name, .. }]
                        if header.eq_ignore_ascii_case("authorization") =>
                    {
                        lines.push(format!("bearer_token_env_var = {}", toml::string(name)));
                    }
                    _ => plain.push((header.clone(), value.clone())),
                }
            }
            table("http_headers", &plain);
            table("env_http_headers", &named);
        }
        Target::Program { program, args, env, cwd } => {
            lines.push(format!("command = {}", toml::string(program)));
            lines.push(format!("args = {}", toml::strings(args)));
            if let Some(cwd) = cwd {
                lines.push(format!("cwd = {}", toml::string(&cwd.to_string_lossy())));
            }
            let passed_on = |(name, value): &&(String, String)| matches!(pieces(value).as_slice(), [Piece::Variable { name: of, .. }] if of == name);
            let (named, plain): (Vec<_>, Vec<_>) = env.iter().partition(passed_on);
            let named: Vec<_> = named.into_iter().map(|(name, _)| name.clone()).collect();
            if !named.is_empty() {
                lines.push(format!("env_vars = {}", toml::strings(&named)));
            }
            table("env", &plain.into_iter().cloned().collect::<Vec<_>>());
        }
    }
    lines.extend(tables);
    let text = lines.join("\n");
    if text.contains("${") {
        notes.push("codex does not fill in variables: replace each ${…} yourself".to_owned());
    }
    Ok(text)
}

/// Rewrites variables in the host's syntax.
fn translated(host: Host, target: &Target, notes: &mut Vec<String>) -> Target {
    let mut lost = false;
    let mut text = |text: &str| {
        let piece = |piece: Piece<'_>| match piece {
            Piece::Text(text) => text.to_owned(),
            Piece::Variable { name, default } => {
                let written = host.variable(name, default);
                lost |= written.is_none();
                written.unwrap_or_else(|| format!("${{{name}}}"))
            }
            Piece::Host(word) => {
                lost = true;
                format!("${{{word}}}")
            }
        };
        pieces(text).into_iter().map(piece).collect::<String>()
    };
    let mut pairs_of = |pairs: &Pairs| -> Vec<(String, String)> {
        pairs.iter().map(|(name, value)| (name.clone(), text(value))).collect()
    };
    let translated = match target {
        Target::Url { url, headers } => {
            let headers = pairs_of(headers);
            Target::Url { url: text(url), headers }
        }
        Target::Program { program, args, env, cwd } => {
            let env = pairs_of(env);
            Target::Program {
                program: text(program),
                args: args.iter().map(|arg| text(arg)).collect(),
                env,
                cwd: cwd.as_ref().map(|cwd| text(&cwd.to_string_lossy()).into()),
            }
        }
    };
    if lost {
        notes.push(format!(
            "{} does not fill in every ${{…}} here: replace it yourself",
            host.name()
        ));
    }
    translated
}

#[cfg(test)]
mod tests;
