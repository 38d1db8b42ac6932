//! What a server says of a call before it is made, to a host that has started it.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::example;
use crate::messages::{call, initialize, modern, request, text};
use crate::process::Program;

const ASK: &str = "tools/annotations";

/// Hints as they are sent: read-only, destructive, idempotent, open world.
fn hints(read_only: bool, destructive: bool, idempotent: bool, open_world: bool) -> Value {
    json!({
        "readOnlyHint": read_only,
        "destructiveHint": destructive,
        "idempotentHint": idempotent,
        "openWorldHint": open_world,
    })
}

/// A server that has been greeted, so that it can be asked in both eras.
async fn greeted(name: &str, flags: &[&str]) -> (Program, Value) {
    let mut server = Program::start(example(name).args(flags).arg("--stdio"));
    let opened = server.ask(&initialize(0)).await;
    (server, opened)
}

/// The same question as it is put in each era.
fn in_both_eras(params: &Value) -> [Value; 2] {
    [request(1, ASK, params), modern(1, ASK, params)]
}

/// A server that evaluates calls declares it. Another server does not have the method.
#[tokio::test]
async fn server_declares_whether_it_evaluates_calls() {
    for (name, tools) in [
        ("file_server", json!({"listChanged": false, "dynamicAnnotations": true})),
        // Its tools change, and later ones may depend on their arguments.
        ("everything", json!({"listChanged": true, "dynamicAnnotations": true})),
        ("hello", json!({"listChanged": false})),
    ] {
        let (mut server, opened) = greeted(name, &[]).await;
        assert_eq!(opened["result"]["capabilities"]["tools"], tools, "{name}");
        let discovered = server.ask(&modern(1, "server/discover", &json!({}))).await;
        assert_eq!(discovered["result"]["capabilities"]["tools"], tools, "{name}");
    }
    let (mut hello, _) = greeted("hello", &[]).await;
    for question in in_both_eras(&json!({"name": "greet", "arguments": {"name": "Ada"}})) {
        let told = hello.ask(&question).await;
        assert_eq!(told["error"]["code"], -32601, "{told}");
    }
}

/// A valid request, and requests that lack a part.
#[tokio::test]
async fn evaluation_needs_a_name_and_arguments() {
    let (mut files, _) = greeted("file_server", &[]).await;
    let fine = json!({"path": "/home/user/notes.txt", "action": "read"});
    for question in in_both_eras(&json!({"name": "manage_files", "arguments": fine})) {
        let told = files.ask(&question).await;
        assert_eq!(told["result"]["annotations"], hints(true, false, true, false), "{told}");
    }
    for (what, params) in [
        ("no name", json!({"arguments": fine})),
        ("a number for a name", json!({"name": 7, "arguments": fine})),
        ("no arguments", json!({"name": "manage_files"})),
        ("null", json!({"name": "manage_files", "arguments": null})),
        ("a list", json!({"name": "manage_files", "arguments": [fine]})),
        ("a string", json!({"name": "manage_files", "arguments": "path"})),
    ] {
        for question in in_both_eras(&params) {
            let told = files.ask(&question).await;
            assert_eq!(told["error"]["code"], -32602, "{what}: {told}");
            let message = told["error"]["message"].as_str().unwrap();
            assert!(message.starts_with("Invalid params"), "{what}: {message}");
        }
    }
}

/// Every row of the example. Each call then does what its hints promise.
#[tokio::test]
async fn evaluated_hints_match_the_effect_of_each_call() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("run-motivation");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    let file = folder.join("notes.txt");
    fs::write(&file, "one\n").unwrap();
    let (mut server, _) = greeted("motivation", &["--root", folder.to_str().unwrap()]).await;

    let look = || fs::read_to_string(&file).ok();
    for (operation, said, left) in [
        ("read", hints(true, false, true, false), Some("one\n")),
        ("append", hints(false, false, false, false), Some("one\nx")),
        ("overwrite", hints(false, true, true, false), Some("x")),
        ("delete", hints(false, true, true, false), None),
    ] {
        let arguments = json!({"operation": operation, "path": "notes.txt", "content": "x"});
        let before = look();
        for question in in_both_eras(&json!({"name": "filesystem", "arguments": arguments})) {
            let told = server.ask(&question).await;
            assert_eq!(told["result"]["annotations"], said, "{operation}: {told}");
        }
        assert_eq!(look(), before, "{operation}: evaluation changes nothing");
        let called = server.ask(&call(2, "filesystem", &arguments)).await;
        assert_ne!(called["result"]["isError"], true, "{called}");
        assert_eq!(look().as_deref(), left, "{operation}");
    }

    let there = json!({"method": "GET", "path": "/repos/octocat/hello"});
    for (method, path, said, left) in [
        (
            "GET",
            "/repos/octocat/hello",
            hints(true, false, true, true),
            "octocat/hello has 0 issues",
        ),
        (
            "POST",
            "/repos/octocat/hello/issues",
            hints(false, false, false, true),
            "octocat/hello has 1 issues",
        ),
        (
            "DELETE",
            "/repos/octocat/hello",
            hints(false, true, false, true),
            "There is nothing at this path. /path: not found.",
        ),
    ] {
        let arguments = json!({"method": method, "path": path, "title": "An issue"});
        for question in in_both_eras(&json!({"name": "github_api", "arguments": arguments})) {
            let told = server.ask(&question).await;
            assert_eq!(told["result"]["annotations"], said, "{method} {path}: {told}");
        }
        let called = server.ask(&call(2, "github_api", &arguments)).await;
        assert_ne!(called["result"]["isError"], true, "{called}");
        let found = server.ask(&call(3, "github_api", &there)).await;
        assert_eq!(text(&found), left, "after {method} {path}");
    }
}
