//! One server, as each host wants it written.

use candor::desk::shown::{json_shown, shown};
use serde_json::{Map, Value, json};

use super::host::Host;
use crate::exit::Failure;
use crate::reach::{Piece, Target, pieces};
use crate::shell::quoted;
use crate::toml;

type Pairs = [(String, String)];

/// Words in the names of variables and headers whose values nobody else should see.
const SECRET: [&str; 8] = ["auth", "cookie", "credential", "key", "pass", "pwd", "secret", "token"];

const BEARER: &str = "Bearer ";

/// The same server with variables in the place of values that look like secrets: what is printed ends up in logs and chats.
pub(super) fn without_secrets(target: &Target, notes: &mut Vec<String>) -> Target {
    let mut hide = |pairs: &Pairs| -> Vec<(String, String)> {
        let hidden = pairs.iter().map(|(name, value)| {
            let lower = name.to_lowercase();
            let in_the_open = pieces(value).iter().all(|piece| matches!(piece, Piece::Text(_)));
            if !in_the_open || value.is_empty() || !SECRET.iter().any(|word| lower.contains(word)) {
                return (name.clone(), value.clone());
            }
            let letter =
                |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' };
            let variable: String = name.chars().map(letter).collect();
            // What kind of secret it is may be seen, and codex wants to know.
            let kind = if value.starts_with(BEARER) { BEARER } else { "" };
            let what = if kind.is_empty() { "it" } else { "the token" };
            notes.push(format!(
                "the value of {} is not printed: where the host starts, set the variable {variable} to {what}",
                shown(name)
            ));
            (name.clone(), format!("{kind}${{{variable}}}"))
        });
        hidden.collect()
    };
    match target {
        Target::Url { url, headers } => Target::Url { url: url.clone(), headers: hide(headers) },
        Target::Program { program, args, env, cwd } => Target::Program {
            program: program.clone(),
            args: args.clone(),
            env: hide(env),
            cwd: cwd.clone(),
        },
    }
}

/// The snippet.
pub(super) fn write(
    host: Host,
    name: &str,
    target: &Target,
    notes: &mut Vec<String>,
) -> Result<String, Failure> {
    if host == Host::ClaudeDesktop && matches!(target, Target::Url { .. }) {
        return Err(Failure::failed(
            "the file of Claude Desktop knows programs only. Add a URL there under Settings, Connectors",
        ));
    }
    if host == Host::Codex {
        return codex(name, target, notes);
    }
    let target = translated(host, target, notes);
    if let (false, Target::Program { cwd: Some(cwd), .. }) = (host.takes_folder(), &target) {
        notes.push(format!(
            "it is to run in {}, which {} cannot say: see that its paths are whole",
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

/// The object under the name.
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

/// The line that adds it. The name goes first: the flags for variables and headers take everything that follows them.
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

/// Codex fills nothing in, but takes variables by their names.
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
        notes.push("codex fills in no variables: replace what stands as ${…} yourself".to_owned());
    }
    Ok(text)
}

/// Variables as the host writes them.
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
            "{} does not fill in every ${{…}} that stands here: replace it yourself",
            host.name()
        ));
    }
    translated
}

#[cfg(test)]
mod tests;
