//! `examples/file_server.rs`: what it says of itself, what it says of each call, and what the calls do to real files.

use candor::json;
use candor::testing::TestClient;
use serde_json::Value;

use crate::motivation::example::file_server as example;
use crate::scratch::Scratch;
use crate::{foreseen, hints, published};

fn clients(scratch: &Scratch) -> [TestClient; 2] {
    let server = || example::server(&scratch.root()).unwrap();
    [server().test(), server().test_legacy()]
}

fn call(path: &str, action: &str) -> Value {
    json!({"path": path, "action": action, "content": "three\n"})
}

#[tokio::test]
async fn example_reports_its_name_and_capabilities() {
    let [modern, _] = clients(&Scratch::new());
    let discovered = modern.request("server/discover", ()).await.unwrap();
    let info = &discovered["_meta"]["io.modelcontextprotocol/serverInfo"];
    assert_eq!((&info["name"], &info["version"]), (&json!("file-server"), &json!("1.0.0")));
    let tools = &discovered["capabilities"]["tools"];
    assert_eq!(*tools, json!({"listChanged": false, "dynamicAnnotations": true}));
}

#[tokio::test]
async fn example_lists_one_tool() {
    for client in clients(&Scratch::new()) {
        assert_eq!(client.tools().await.len(), 1);
        let tool = published(&client, "manage_files").await;
        assert_eq!(tool["description"], "Read, append, replace, or delete file contents");
        assert_eq!(tool["annotations"], hints(false, true, false, false));
        assert_eq!(tool["dynamicAnnotations"], true);
        let schema = json!({
            "type": "object",
            "properties": {
                "path": {"type": "string", "description": "File path to operate on"},
                "action": {
                    "type": "string",
                    "enum": ["read", "append", "replace", "delete"],
                    "description": "Operation to perform",
                },
                "content": {"type": "string", "description": "Content for append/replace operations"},
            },
            "required": ["path", "action"],
            "additionalProperties": false,
        });
        assert_eq!(tool["inputSchema"], schema);
    }
}

#[tokio::test]
async fn each_call_has_exactly_its_evaluated_effect() {
    let scratch = Scratch::new();
    for client in clients(&scratch) {
        for (action, said) in [
            ("read", hints(true, false, true, false)),
            ("append", hints(false, false, false, false)),
            ("replace", hints(false, true, true, false)),
            ("delete", hints(false, true, true, false)),
        ] {
            for path in ["notes.txt", "folder/more.txt", "./folder/../notes.txt"] {
                let call = call(path, action);
                assert_eq!(foreseen(&client, "manage_files", call.clone()).await, said, "{call}");
                let (set_up, look) = (|| scratch.set_up(), || scratch.look());
                let observed = client.check_effects("manage_files", [&call], set_up, look).await;
                // Exactly these effects, not just at most these.
                assert_eq!(observed[0].seen, observed[0].foreseen, "{call}");
            }
        }
        // On a file that does not exist yet, too.
        for action in ["append", "replace", "delete"] {
            let calls = [call("new.txt", action)];
            client
                .check_effects("manage_files", calls, || scratch.set_up(), || scratch.look())
                .await;
        }
    }
}

#[tokio::test]
async fn call_without_content_stays_within_its_effect() {
    let scratch = Scratch::new();
    for client in clients(&scratch) {
        for action in ["read", "append", "replace", "delete"] {
            let calls = [json!({"path": "notes.txt", "action": action})];
            client
                .check_effects("manage_files", calls, || scratch.set_up(), || scratch.look())
                .await;
        }
    }
}

#[tokio::test]
async fn append_accumulates_and_replace_is_idempotent() {
    let scratch = Scratch::new();
    for client in clients(&scratch) {
        scratch.set_up();
        for (action, contents) in [
            ("append", "one\nthree\n"),
            ("append", "one\nthree\nthree\n"),
            ("replace", "three\n"),
            ("replace", "three\n"),
            ("read", "three\n"),
        ] {
            let called = client.call("manage_files", call("notes.txt", action)).await;
            assert!(!called.is_error(), "{action}: {}", called.text());
            assert_eq!(scratch.look()["/served/notes.txt"], contents, "{action}");
        }
        let read = client.call("manage_files", call("notes.txt", "read")).await;
        assert_eq!(read.text(), "three\n");
    }
}

#[tokio::test]
async fn second_delete_succeeds() {
    let scratch = Scratch::new();
    for client in clients(&scratch) {
        scratch.set_up();
        for text in ["Deleted", "Already gone"] {
            let deleted = client.call("manage_files", call("notes.txt", "delete")).await;
            assert_eq!((deleted.is_error(), deleted.text()), (false, text));
            assert!(!scratch.look().contains_key("/served/notes.txt"));
        }
    }
}

#[tokio::test]
async fn unknown_tools_actions_and_files_are_refused() {
    let scratch = Scratch::new();
    for client in clients(&scratch) {
        let ask = |params| client.request("tools/annotations", params);
        let unknown = ask(json!({"name": "files", "arguments": {}})).await.unwrap_err();
        assert_eq!((unknown.code(), &*unknown.message), (-32602, "Unknown tool: files"));
        // The evaluation refuses an unknown action, as the call does.
        let arguments = call("notes.txt", "shred");
        let refused = ask(json!({"name": "manage_files", "arguments": arguments})).await;
        assert_eq!(refused.unwrap_err().code(), -32602);
        assert!(client.call("manage_files", arguments).await.is_error());
        for (path, reason) in [("gone.txt", "No such file"), ("folder", "That is a folder")] {
            let read = client.call("manage_files", call(path, "read")).await;
            assert!(read.is_error() && read.text().starts_with(reason), "{path}: {}", read.text());
        }
        for action in ["append", "replace", "delete"] {
            let before = scratch.look();
            let called = client.call("manage_files", call("folder", action)).await;
            assert!(called.is_error(), "{action}: {}", called.text());
            assert!(called.text().starts_with("That is a folder"), "{}", called.text());
            assert_eq!(scratch.look(), before);
        }
    }
}

#[tokio::test]
async fn no_path_leads_out_of_the_folder() {
    let scratch = Scratch::new();
    let absolute = scratch.secret().to_string_lossy().into_owned();
    for client in clients(&scratch) {
        for path in ["../secret.txt", "folder/../../secret.txt", &absolute, "..", "../new.txt"] {
            for action in ["read", "append", "replace", "delete"] {
                let before = scratch.look();
                let called = client.call("manage_files", call(path, action)).await;
                assert!(called.is_error(), "{action} {path}: {}", called.text());
                assert!(
                    called.text().starts_with("Not allowed"),
                    "{action} {path}: {}",
                    called.text()
                );
                assert_eq!(scratch.look(), before, "{action} {path}");
            }
        }
    }
}

#[cfg(unix)]
#[tokio::test]
async fn no_link_leads_out_of_the_folder() {
    let scratch = Scratch::new();
    for client in clients(&scratch) {
        scratch.set_up();
        std::os::unix::fs::symlink(scratch.secret(), scratch.root().join("link")).unwrap();
        std::os::unix::fs::symlink("..", scratch.root().join("up")).unwrap_or_default();
        for (path, action) in
            ["read", "append", "replace"].iter().flat_map(|a| [("link", *a), ("up/secret.txt", *a)])
        {
            let called = client.call("manage_files", call(path, action)).await;
            assert!(called.is_error(), "{action} {path}: {}", called.text());
            assert_eq!(std::fs::read_to_string(scratch.secret()).unwrap(), "secret");
        }
        // The link itself is in the folder. Its target is not.
        client.call("manage_files", call("link", "delete")).await;
        assert_eq!(std::fs::read_to_string(scratch.secret()).unwrap(), "secret");
        std::fs::remove_file(scratch.root().join("up")).unwrap();
    }
}
