//! `candor config HOST`.

use std::fs;

use serde_json::{Value, json};

use crate::Home;
use crate::messages::initialize;
use crate::process::{Ended, Program, output};

async fn config(home: &Home, args: &[&str]) -> Ended {
    output(home.candor(&[&["config"], args].concat()).env("TOKEN", "s3cret")).await
}

fn value(ended: &Ended) -> Value {
    assert_eq!(ended.status.code(), Some(0), "{:?}", ended.stderr);
    serde_json::from_str(&ended.stdout.join("\n"))
        .unwrap_or_else(|e| panic!("{e}: {:?}", ended.stdout))
}

fn said(ended: &Ended) -> String {
    ended.stderr.join("\n")
}

#[tokio::test]
async fn config_writes_absolute_paths_with_a_note() {
    let home = Home::new("whole");
    fs::create_dir(home.work().join("files")).unwrap();
    fs::create_dir(home.work().join("docs")).unwrap();
    let work = home.work().display().to_string();
    let program = env!("CARGO_BIN_EXE_candor");

    let here = config(&home, &["cursor", "--", "candor", "files", "."]).await;
    let expected = json!({"command": program, "args": ["files", work, "--stdio"]});
    assert_eq!(value(&here), json!({"mcpServers": {"work": expected}}));
    let notes = said(&here);
    assert!(notes.contains(&format!(". is written as {work}")), "{notes}");
    assert!(notes.contains("did not make files absolute"), "{notes}");
    assert!(notes.contains("--stdio is added"), "{notes}");
    assert!(notes.contains(".cursor/mcp.json"), "{notes}");

    let named = config(
        &home,
        &["vscode", "--name", "mine", "--", "candor", "files", "docs", "--hidden", "--stdio"],
    )
    .await;
    let expected = json!({"type": "stdio", "command": program, "args": ["files", format!("{work}/docs"), "--hidden", "--stdio"]});
    assert_eq!(value(&named), json!({"servers": {"mine": expected}}));
    assert!(!said(&named).contains("--stdio is added"));
}

#[tokio::test]
async fn server_of_a_named_instance_has_its_name() {
    let home = Home::new("instance");
    fs::create_dir(home.work().join("fold")).unwrap();
    let words = ["json", "--", "candor", "files", "fold", "--instance", "notes"];
    let written = value(&config(&home, &words).await);
    let args = written["mcpServers"]["notes"]["args"].as_array().expect("the name of the server");
    let mut command =
        home.candor(&args.iter().map(|arg| arg.as_str().unwrap()).collect::<Vec<_>>());
    let mut server = Program::start(&mut command);
    let hello = server.ask(&initialize(1)).await;
    let title = hello["result"]["serverInfo"]["title"].as_str().unwrap();
    assert!(title.contains("notes"), "the title has the name: {hello}");
}

#[tokio::test]
async fn claude_code_gets_a_command_and_codex_gets_toml() {
    let home = Home::new("lines");
    let program = env!("CARGO_BIN_EXE_candor");
    let work = home.work().display().to_string();
    let line = config(&home, &["claude-code", "--", "candor", "files", "."]).await;
    assert_eq!(line.stdout, [format!("claude mcp add work -- {program} files {work} --stdio")]);
    let toml = config(&home, &["codex", "--name", "notes", ":7332"]).await;
    assert_eq!(toml.stdout, ["[mcp_servers.notes]", "url = \"http://127.0.0.1:7332/mcp\""]);
    let url = config(&home, &["json", "https://mcp.notes.example"]).await;
    let expected = json!({"type": "http", "url": "https://mcp.notes.example/mcp"});
    assert_eq!(value(&url), json!({"mcpServers": {"notes": expected}}));
}

#[tokio::test]
async fn server_of_another_host_is_copied_without_its_secrets() {
    let home = Home::new("another");
    home.write(
        "work/.mcp.json",
        r#"{"mcpServers": {"notes": {"command": "./serve", "args": ["--api-key", "s3cret", "-e", "PASSWORD=s3cret", "https://a.example/?token=s3cret"],
            "env": {"A": "${TOKEN}", "API_KEY": "s3cret"}}}}"#,
    );
    let found = config(&home, &["vscode", "notes"]).await;
    let work = home.work().display().to_string();
    let server = &value(&found)["servers"]["notes"];
    assert_eq!(server["env"], json!({"A": "${env:TOKEN}", "API_KEY": "${env:API_KEY}"}));
    assert_eq!(
        server["args"],
        json!([
            "--api-key",
            "${env:API_KEY}",
            "-e",
            "PASSWORD=${env:PASSWORD}",
            "https://a.example/?token=${env:TOKEN}"
        ])
    );
    assert_eq!(server["cwd"], json!(work));
    let notes = said(&found);
    assert!(notes.contains("that file came with a project"), "{notes}");
    assert!(notes.contains("the value of API_KEY is not printed"), "{notes}");
    assert!(notes.contains("the value of api-key is not printed"), "{notes}");
    assert!(!notes.contains("s3cret") && !found.stdout.join("").contains("s3cret"));
    // The user's own entry of the same name wins over the project's.
    home.write(".cursor/mcp.json", r#"{"mcpServers": {"notes": {"command": "other"}}}"#);
    let found = config(&home, &["vscode", "notes"]).await;
    assert_eq!(value(&found)["servers"]["notes"]["command"], "other");
    assert!(said(&found).contains("as well; your own in"), "{}", said(&found));
    // A typed secret is printed as typed, with a warning.
    let typed = config(&home, &["json", "--", "candor", "files", "--token", "s3cret"]).await;
    assert!(typed.stdout.join("").contains("s3cret"));
    assert!(
        said(&typed).contains("this snippet has the secret that you typed"),
        "{}",
        said(&typed)
    );
    assert_eq!(fs::read_dir(home.work()).unwrap().count(), 1, "nothing is written");
}

#[tokio::test]
async fn invalid_config_arguments_are_refused_with_a_correction() {
    let home = Home::new("wrong");
    for (args, code, problem) in [
        (&["cursr", ":1"][..], 2, "a similar value exists: 'cursor'"),
        (
            &["emacs", ":1"],
            2,
            "[possible values: claude-desktop, claude-code, cursor, vscode, windsurf, gemini-cli, codex, json]",
        ),
        (&[], 2, "<HOST>"),
        (&["cursor"], 2, "which server?"),
        (&["cursor", ":1", "--", "candor"], 2, "two servers"),
        (&["cursor", "candor", "files", "."], 2, "-- candor files ."),
        (&["cursor", "nobody"], 2, "has a server nobody"),
        (&["cursor", "--name", "a b", ":1"], 2, "letters, digits"),
        (&["cursor", "--", "no-such-program"], 2, "no such program on PATH"),
        (&["cursor", "--", "./nothing"], 2, "there is no such program"),
        (&["claude-desktop", ":1"], 1, "Connectors"),
    ] {
        let refused = config(&home, args).await;
        assert_eq!(refused.status.code(), Some(code), "{args:?}: {}", said(&refused));
        assert!(said(&refused).contains(problem), "{args:?}: {}", said(&refused));
        assert_eq!(refused.stdout, [""; 0], "{args:?}");
    }
}
