//! Snippets, word by word.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::*;

fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

fn program(env: &[(&str, &str)]) -> Target {
    Target::Program {
        program: "/bin/serve".to_owned(),
        args: vec!["--all".to_owned(), "a b".to_owned()],
        env: pairs(env),
        cwd: None,
    }
}

fn url(headers: &[(&str, &str)]) -> Target {
    Target::Url { url: "https://a.example/mcp".to_owned(), headers: pairs(headers) }
}

fn written(host: Host, target: &Target) -> (String, Vec<String>) {
    let mut notes = Vec::new();
    let text = write(host, "notes", target, &mut notes).unwrap();
    (text, notes)
}

fn value(host: Host, target: &Target) -> Value {
    serde_json::from_str(&written(host, target).0).unwrap()
}

#[test]
fn each_host_gets_its_own_config_format() {
    let started = json!({"command": "/bin/serve", "args": ["--all", "a b"]});
    for host in [Host::ClaudeDesktop, Host::Cursor, Host::Windsurf, Host::GeminiCli] {
        assert_eq!(value(host, &program(&[])), json!({"mcpServers": {"notes": started}}));
    }
    let typed = json!({"type": "stdio", "command": "/bin/serve", "args": ["--all", "a b"]});
    assert_eq!(value(Host::Vscode, &program(&[])), json!({"servers": {"notes": typed}}));
    assert_eq!(value(Host::Json, &program(&[])), json!({"mcpServers": {"notes": typed}}));

    let at = |host, key: &str| value(host, &url(&[])).pointer(key).cloned();
    let there = Some(json!("https://a.example/mcp"));
    assert_eq!(at(Host::Cursor, "/mcpServers/notes/url"), there);
    assert_eq!(at(Host::Windsurf, "/mcpServers/notes/serverUrl"), there);
    assert_eq!(at(Host::GeminiCli, "/mcpServers/notes/httpUrl"), there);
    assert_eq!(at(Host::Vscode, "/servers/notes/url"), there);
    assert_eq!(at(Host::Vscode, "/servers/notes/type"), Some(json!("http")));

    let refused = write(Host::ClaudeDesktop, "notes", &url(&[]), &mut Vec::new()).unwrap_err();
    assert!(refused.to_string().contains("Connectors"), "{refused}");
}

#[test]
fn claude_code_gets_a_shell_command() {
    let line = |target: &Target| written(Host::ClaudeCode, target).0;
    assert_eq!(line(&program(&[])), "claude mcp add notes -- /bin/serve --all 'a b'");
    assert_eq!(
        line(&program(&[("KEY", "${KEY:-x}")])),
        "claude mcp add notes --env 'KEY=${KEY:-x}' -- /bin/serve --all 'a b'"
    );
    assert_eq!(
        line(&url(&[("X-Key", "${KEY}")])),
        "claude mcp add --transport http notes https://a.example/mcp --header 'X-Key: ${KEY}'"
    );
}

#[test]
fn codex_gets_toml_with_variable_names() {
    let (text, notes) =
        written(Host::Codex, &program(&[("KEY", "${KEY}"), ("MODE", "a\"b"), ("URL", "x${Y}")]));
    assert_eq!(
        text,
        "[mcp_servers.notes]\ncommand = \"/bin/serve\"\nargs = [\"--all\", \"a b\"]\nenv_vars = [\"KEY\"]\n\
         env = { MODE = \"a\\\"b\", URL = \"x${Y}\" }"
    );
    assert!(notes[0].contains("does not fill in variables"), "{notes:?}");
    let headers = [("Authorization", "Bearer ${TOKEN}"), ("X-Key", "${KEY}"), ("X-Team", "blue")];
    let (text, notes) = written(Host::Codex, &url(&headers));
    assert_eq!(
        text,
        "[mcp_servers.notes]\nurl = \"https://a.example/mcp\"\nbearer_token_env_var = \"TOKEN\"\n\
         http_headers = { X-Team = \"blue\" }\nenv_http_headers = { X-Key = \"KEY\" }"
    );
    assert_eq!(notes, [""; 0]);
}

#[test]
fn variables_use_the_syntax_of_the_host() {
    let env = |host| {
        let (text, notes) = written(host, &program(&[("KEY", "${KEY}")]));
        let value: Value = serde_json::from_str(&text).unwrap();
        let written =
            value.pointer("/mcpServers/notes/env/KEY").or(value.pointer("/servers/notes/env/KEY"));
        (written.and_then(Value::as_str).unwrap().to_owned(), notes.len())
    };
    for host in [Host::Cursor, Host::Vscode, Host::Windsurf] {
        assert_eq!(env(host), ("${env:KEY}".to_owned(), 0));
    }
    assert_eq!(env(Host::GeminiCli), ("${KEY}".to_owned(), 0));
    assert_eq!(env(Host::Json), ("${KEY}".to_owned(), 0));
    assert_eq!(
        env(Host::ClaudeDesktop),
        ("${KEY}".to_owned(), 1),
        "a note reports that the host does not fill in variables"
    );
}

#[test]
fn secrets_of_a_config_file_become_variables() {
    let mut notes = Vec::new();
    let target =
        program(&[("API_KEY", "s3cret"), ("MODE", "fast"), ("TOKEN", "${MINE}"), ("PASSWORD", "")]);
    let Target::Program { env, .. } = without_secrets(&target, &mut notes) else { panic!() };
    assert_eq!(
        env,
        pairs(&[
            ("API_KEY", "${API_KEY}"),
            ("MODE", "fast"),
            ("TOKEN", "${MINE}"),
            ("PASSWORD", "")
        ])
    );
    assert_eq!(notes.len(), 1);
    assert!(notes[0].contains("API_KEY") && !notes[0].contains("s3cret"), "{notes:?}");

    let target = url(&[("Authorization", "Bearer s3cret"), ("X-Api-Key", "s3cret")]);
    let Target::Url { headers, .. } = without_secrets(&target, &mut notes) else { panic!() };
    assert_eq!(
        headers,
        pairs(&[("Authorization", "Bearer ${AUTHORIZATION}"), ("X-Api-Key", "${X_API_KEY}")])
    );
}

#[test]
fn note_names_unsupported_settings_of_a_host() {
    let Target::Program { program, args, env, .. } = program(&[]) else { panic!() };
    let target = Target::Program { program, args, env, cwd: Some(PathBuf::from("/w")) };
    assert_eq!(value(Host::Cursor, &target)["mcpServers"]["notes"]["cwd"], "/w");
    let (line, notes) = written(Host::ClaudeCode, &target);
    assert!(!line.contains("/w") && notes[0].contains("/w"), "{line} {notes:?}");
    let host_word = Target::Url { url: "https://${input:host}/".to_owned(), headers: Vec::new() };
    assert!(written(Host::Cursor, &host_word).1[0].contains("replace it yourself"));
}
