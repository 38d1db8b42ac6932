//! What a call would do is said before, in a sentence, and nothing is done by saying it.

use serde_json::{Value, json};

use super::{ERAS, Era, Served, arrange, each, manage, manage_with};

/// Calls with what their previews say of them, in a folder that was prepared.
fn said() -> Vec<(&'static str, Value, &'static str)> {
    vec![
        ("manage_files", manage("read", "hello.txt"), "Read hello.txt."),
        (
            "manage_files",
            manage("delete", "hello.txt"),
            "Delete hello.txt (14 bytes, text). It cannot be undone.",
        ),
        (
            "manage_files",
            manage("delete", "bytes.bin"),
            "Delete bytes.bin (3 bytes, binary). It cannot be undone.",
        ),
        ("manage_files", manage("delete", "empty"), "Delete the empty folder empty."),
        ("manage_files", manage("delete", "nowhere"), "Delete nothing: nowhere is not there."),
        (
            "manage_files",
            manage_with("append", "hello.txt", "one\ntwo\nthree"),
            "Append 13 bytes to hello.txt (14 bytes).",
        ),
        (
            "manage_files",
            manage_with("append", "large.log", "x"),
            "Append 1 byte to large.log (1.8 kB).",
        ),
        (
            "manage_files",
            manage_with("append", "sub/new.txt", "new"),
            "Create the file sub/new.txt with 3 bytes.",
        ),
        (
            "manage_files",
            manage_with("replace", "hello.txt", "Hi"),
            "Replace hello.txt (14 bytes) with 2 bytes; its current content is lost.\n\n- Hello, folder!\n+ Hi",
        ),
        (
            "manage_files",
            manage_with("replace", "hello.txt", "Hello, folder!"),
            "Replace hello.txt (14 bytes) with the same 14 bytes: nothing changes.",
        ),
        (
            "manage_files",
            manage_with("replace", "bytes.bin", "a"),
            "Replace bytes.bin (3 bytes) with 1 byte; its current content is lost.\n\nIts current content is not text.\n\n+ a",
        ),
        (
            "manage_files",
            manage_with("replace", "new.txt", "new"),
            "Create the file new.txt with 3 bytes.\n\n+ new",
        ),
        (
            "manage_files",
            manage("delete", "a to b. Nothing is lost. See c"),
            "Delete \"a to b. Nothing is lost. See c\" (4 bytes, text). It cannot be undone.",
        ),
        (
            "move_files",
            arrange("move", "hello.txt", "b. Nothing \"is\" lost"),
            r#"Move hello.txt (14 bytes) to "b. Nothing \"is\" lost"."#,
        ),
        (
            "move_files",
            arrange("copy", "hello.txt", "copy.txt"),
            "Copy hello.txt (14 bytes) to copy.txt.",
        ),
        (
            "move_files",
            arrange("copy_over", "hello.txt", "sub/inner.md"),
            "Copy hello.txt (14 bytes) over sub/inner.md (7 bytes); the current content of sub/inner.md is lost.",
        ),
        (
            "move_files",
            arrange("move", "sub", "moved"),
            "Move the folder sub, with all that is in it, to moved.",
        ),
        (
            "move_files",
            arrange("move_over", "hello.txt", "bytes.bin"),
            "Move hello.txt (14 bytes) over bytes.bin (3 bytes); the current content of bytes.bin is lost.",
        ),
    ]
}

fn prepared(name: &str) -> Served {
    let served = Served::prepared(name);
    served.write("large.log", "x".repeat(1800));
    served.write("a to b. Nothing is lost. See c", "text");
    std::fs::create_dir(served.at("empty")).unwrap();
    served
}

#[tokio::test]
async fn preview_describes_the_call_and_changes_nothing() {
    let served = prepared("previews");
    let before = served.tree();
    for era in ERAS {
        for flags in [&[][..], &["--split"], &["--split=beside"]] {
            let mut host = served.to(era, flags).await;
            for (tool, arguments, words) in said() {
                let preview = format!("preview_{tool}");
                assert_eq!(host.done(&preview, &arguments).await, words, "{arguments}");
            }
            assert_eq!(served.tree(), before);
        }
    }
}

/// A preview and its call refuse the same arguments with the same words.
#[tokio::test]
async fn preview_fails_with_the_same_error_as_the_call() {
    let served = prepared("previews that fail");
    #[cfg(unix)]
    std::os::unix::fs::symlink("nowhere", served.at("dangling")).unwrap();
    let mut host = served.to(Era::Modern, &["--max-file", "1000"]).await;
    let large = "x".repeat(1001);
    let mut failures = 0;
    for (tool, arguments) in [
        ("manage_files", manage("read", "nowhere")),
        ("manage_files", manage("read", "bytes.bin")),
        ("manage_files", manage("read", "large.log")),
        ("manage_files", manage("read", "sub")),
        ("manage_files", manage("read", "dangling")),
        ("manage_files", manage("delete", "sub")),
        ("manage_files", manage("delete", "")),
        ("manage_files", manage("delete", "../outside")),
        ("manage_files", manage("delete", "hello.txt/x")),
        ("manage_files", manage("append", "hello.txt")),
        ("manage_files", manage("replace", "hello.txt")),
        ("manage_files", manage_with("append", "sub", "x")),
        ("manage_files", manage_with("append", "large.log", "x")),
        ("manage_files", manage_with("append", "no/where", "x")),
        ("manage_files", manage_with("replace", "no/where", "x")),
        ("manage_files", manage_with("replace", "hello.txt", &large)),
        ("manage_files", manage_with("replace", ".hidden", "x")),
        ("move_files", arrange("copy", "nowhere", "new")),
        ("move_files", arrange("copy", "hello.txt", "bytes.bin")),
        ("move_files", arrange("copy", "sub", "new")),
        ("move_files", arrange("copy", "large.log", "new")),
        ("move_files", arrange("copy_over", "hello.txt", "sub")),
        ("move_files", arrange("move", "hello.txt", "bytes.bin")),
        ("move_files", arrange("move", "sub", "sub/deeper/sub")),
        ("move_files", arrange("move", "nowhere", "new")),
        ("move_files", arrange("move", "hello.txt", "no/where")),
        ("move_files", arrange("move_over", "hello.txt", "sub")),
        ("move_files", arrange("move_over", "sub", "hello.txt")),
        ("move_files", arrange("move_over", "", "hello.txt")),
    ] {
        let foretold = host.call(&format!("preview_{tool}"), &arguments).await;
        let done = host.call(tool, &arguments).await;
        assert_eq!(done["result"]["isError"], true, "{arguments}: {done}");
        let told = |answer: &Value| {
            let error = &answer["result"]["_meta"]["dev.candor/error"];
            (answer["result"]["content"].clone(), error["code"].clone())
        };
        assert_eq!(told(&foretold), told(&done), "{arguments}");
        failures += 1;
    }
    assert_eq!(failures, 29);
}

#[tokio::test]
async fn previews_are_listed_as_read_only() {
    let served = prepared("previews, listed");
    for flags in [&[][..], &["--split"]] {
        let mut host = served.to(Era::Modern, flags).await;
        let listed = host.result("tools/list", &json!({})).await;
        let tools = listed["tools"].as_array().unwrap();
        for name in ["preview_manage_files", "preview_move_files"] {
            let tool = tools.iter().find(|tool| tool["name"] == name).unwrap();
            assert_eq!(tool["annotations"]["readOnlyHint"], true, "{tool}");
            assert!(tool["inputSchema"]["properties"].get("action").is_some(), "{tool}");
        }
        let told = listed["tools"].to_string();
        assert!(!told.contains("first to review changes"), "a read needs no preview: {told}");
    }
    let mut host = served.to(Era::Modern, &["--read-only"]).await;
    let listed = host.result("tools/list", &json!({})).await;
    assert!(each(&listed["tools"], "name").iter().all(|name| !name.starts_with("preview")));
}

/// Delete and move act on the link itself. A write goes to its target.
#[cfg(unix)]
#[tokio::test]
async fn preview_distinguishes_a_link_from_its_target() {
    let served = prepared("previews of links");
    std::os::unix::fs::symlink("hello.txt", served.at("link")).unwrap();
    let mut host = served.serve().await;
    for (tool, arguments, words) in [
        ("manage_files", manage("delete", "link"), "Delete the link link; its target stays."),
        (
            "manage_files",
            manage_with("append", "link", "!"),
            "Append 1 byte to the file that link leads to (14 bytes).",
        ),
        (
            "move_files",
            arrange("copy", "link", "copy"),
            "Copy the file that link leads to (14 bytes) to copy.",
        ),
        ("move_files", arrange("move", "link", "moved"), "Move the link link to moved."),
        (
            "move_files",
            arrange("move_over", "bytes.bin", "link"),
            "Move bytes.bin (3 bytes) to link; the link of that name is lost.",
        ),
    ] {
        assert_eq!(host.done(&format!("preview_{tool}"), &arguments).await, words);
    }
    // Only the link is gone.
    host.done("manage_files", &manage("delete", "link")).await;
    assert_eq!(served.text("hello.txt"), "Hello, folder!");
}

/// A call with a plan token is refused if the file has changed since the preview.
#[tokio::test]
async fn plan_of_a_deletion_is_stale_once_the_file_changes() {
    let served = prepared("plans");
    let mut host = served.serve().await;
    let token = |answer: Value| answer["result"]["_meta"]["dev.candor/plan"]["token"].clone();
    let delete = manage("delete", "hello.txt");
    let planned = token(host.call("preview_manage_files", &delete).await);
    served.write("hello.txt", "something else, of another length");
    let follow = |planned: &Value, arguments: &Value| json!({"name": "manage_files", "arguments": arguments, "_meta": {"dev.candor/planToken": planned}});
    let refused = host.ask("tools/call", &follow(&planned, &delete)).await;
    let code = &refused["result"]["_meta"]["dev.candor/error"]["code"];
    assert_eq!(code, "plan_stale", "{refused}");
    assert!(served.has("hello.txt"));
    let planned = token(host.call("preview_manage_files", &delete).await);
    host.ask("tools/call", &follow(&planned, &delete)).await;
    assert!(!served.has("hello.txt"));
    // An append loses nothing that was added meanwhile.
    let append = manage_with("append", "large.log", "end");
    let planned = token(host.call("preview_manage_files", &append).await);
    served.write("large.log", "new beginning, ");
    host.ask("tools/call", &follow(&planned, &append)).await;
    assert_eq!(served.text("large.log"), "new beginning, end");
}
