//! Configuration files of hosts in a folder of the test's own, and the servers that they lead to: a program and one at a socket. Both
//! know nothing of our extensions.

#![allow(missing_docs)]

mod common;

use std::fs;
use std::future::IntoFuture as _;
use std::path::PathBuf;

use axum::http::StatusCode;
use candor_client::config::{ConfigError, Environment, HostConfigs, Owner};
use serde_json::{Value, json};

use common::scripted::{Asked, Say, scripted, status, tool, tools};
use common::soon;

struct Home(PathBuf);

impl Home {
    fn new(test: &str) -> Self {
        let name = format!("candor-configs-{}-{test}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(path.join("project/deep")).unwrap();
        Self(path.canonicalize().unwrap())
    }

    fn write(&self, file: &str, text: &str) -> PathBuf {
        let path = self.0.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    fn environment(&self) -> Environment {
        let variables = [("SCRIPT", SCRIPT), ("TOKEN", "t0p-s3cret")];
        Environment::new(self.0.join("project/deep")).home(&self.0).variables(variables)
    }

    fn load(&self) -> HostConfigs {
        HostConfigs::load(&self.environment())
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Reports its folder and a variable.
const SCRIPT: &str = r#"
import json, os, sys
for line in sys.stdin:
    m = json.loads(line)
    if m.get("method") == "initialize":
        r = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "b", "version": "1"}}
    elif m.get("method") == "tools/list":
        r = {"tools": [{"name": os.getcwd(), "inputSchema": {"type": "object"}}, {"name": os.environ["KEY"], "inputSchema": {"type": "object"}}]}
    elif "id" not in m:
        continue
    else:
        print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "error": {"code": -32601, "message": "?"}}), flush=True)
        continue
    print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": r}), flush=True)
"#;

/// Lists its tools for the token alone.
fn guarded(asked: &Asked) -> Say {
    let sent = asked.headers.get("authorization").and_then(|value| value.to_str().ok());
    match (sent, asked.method.as_str()) {
        (Some("Bearer t0p-s3cret"), "server/discover") => Say::Result(json!({
            "resultType": "complete", "supportedVersions": ["2026-07-28"],
            "capabilities": {"tools": {}}, "ttlMs": 0, "cacheScope": "private",
        })),
        (Some("Bearer t0p-s3cret"), _) => tools(&json!([tool("charge", &Value::Null)])),
        _ => Say::Whole(status(StatusCode::UNAUTHORIZED, "")),
    }
}

#[tokio::test]
async fn entries_of_host_files_connect() {
    let home = Home::new("connect");
    let program = r#"{"mcpServers": {"notes": {
        // The folder of a project is the folder of its program.
        "command": "python3", "args": ["-c", "${SCRIPT}"], "env": {"KEY": "${MISSING:-of-project}"},
    }}}"#;
    let file = home.write("project/.mcp.json", program);
    let server = scripted(guarded).await;
    let headers = json!({"Authorization": "Bearer ${env:TOKEN}"});
    let mine =
        json!({"servers": {"charges": {"type": "http", "url": server.url, "headers": headers}}});
    home.write(".vscode/mcp.json", &mine.to_string());

    let (configs, environment) = (home.load(), home.environment());
    let names = async |name: &str| {
        let connect = configs.find(name).unwrap().connect(&environment).unwrap();
        let client = soon(connect.into_future()).await.unwrap();
        let tools = soon(client.tools()).await.unwrap();
        let names: Vec<_> = tools.iter().map(|tool| tool.name().to_owned()).collect();
        soon(client.close()).await;
        names
    };
    let folder = home.0.join("project");
    assert_eq!(names("notes").await, [folder.to_str().unwrap(), "of-project"]);
    assert_eq!(names("charges").await, ["charge"]);

    let notes = configs.find("notes").unwrap();
    assert_eq!((notes.file(), notes.pointer()), (&*file, "/mcpServers/notes"));
    assert_eq!((notes.owner(), notes.needs_agreement()), (Owner::Project, true));
    assert_eq!(notes.target().variables(), ["SCRIPT", "MISSING"]);
    let charges = configs.find("charges").unwrap();
    assert_eq!((charges.owner(), charges.needs_agreement()), (Owner::User, false));
    let filled = charges.expand(&environment).unwrap();
    assert!(!format!("{configs:?} {filled:?} {environment:?}").contains("s3cret"));

    // An agreement holds for the entry as it is.
    let digest = notes.digest().to_owned();
    home.write("project/.mcp.json", &format!("{program}\n"));
    assert_eq!(home.load().find("notes").unwrap().digest(), digest);
    home.write("project/.mcp.json", &program.replace("-c", "-ic"));
    assert_ne!(home.load().find("notes").unwrap().digest(), digest);
}

#[test]
fn config_problem_names_its_file_and_pointer() {
    let home = Home::new("problems");
    let file = home
        .write("project/.mcp.json", r#"{"mcpServers": {"a": {"command": "x"}, "b": {"args": 1}}}"#);
    home.write("project/deep/.mcp.json", "{\n  oops");
    home.write("project/.vscode/mcp.json", r#"{"servers": 7}"#);
    home.write(".claude.json", &json!({"mcpServers": {"a": {"url": "${NOPE}/x"}}}).to_string());
    let configs = home.load();
    let problems: Vec<_> = configs.problems().map(ToString::to_string).collect();
    let place = |file: &str| home.0.join(file).display().to_string();
    assert_eq!(problems.len(), 2, "{problems:?}");
    assert!(
        problems[0].starts_with(&place("project/deep/.mcp.json"))
            && problems[0].contains("line 2 column 3"),
        "{problems:?}"
    );
    assert_eq!(
        problems[1],
        format!("{}, at /servers: expected an object", place("project/.vscode/mcp.json"))
    );

    let own = configs.find("a").unwrap();
    assert_eq!(own.owner(), Owner::User, "no project replaces a server of the user");
    let shadowed: Vec<_> = configs.shadowed(own).collect();
    assert_eq!(shadowed, [(&*file, Owner::Project)]);
    assert_eq!(configs.problems_before(own).count(), 0);
    let unset = own.connect(&home.environment()).unwrap_err().to_string();
    assert!(unset.contains("/mcpServers/a: the variable NOPE is not set"), "{unset}");

    let invalid = configs.find("b").unwrap_err();
    assert!(matches!(&invalid, ConfigError::Entry { name, .. } if name == "b"), "{invalid}");
    assert!(invalid.to_string().contains("neither `command` nor `url`"), "{invalid}");
    assert_eq!(configs.entries().filter(Result::is_err).count(), 1);
    let unknown = configs.find("\u{1b}").unwrap_err();
    let ConfigError::NotFound { unread, .. } = &unknown else { panic!("{unknown}") };
    assert_eq!(unread.len(), 2);
    assert!(!unknown.to_string().contains('\u{1b}'), "{unknown}");
}
