//! `--read-only`: nothing is offered that changes files, and nothing else can be called.

use serde_json::{Value, json};

use super::{ERAS, Era, Host, Served, arrange, each, manage, manage_with};

fn that_change() -> Vec<(&'static str, Value)> {
    let path = json!({"path": "hello.txt"});
    let content = json!({"path": "hello.txt", "content": "x"});
    let to = json!({"from": "hello.txt", "to": "new.txt"});
    vec![
        ("manage_files", manage("read", "hello.txt")),
        ("manage_files", manage("delete", "hello.txt")),
        ("manage_files", manage_with("replace", "hello.txt", "x")),
        ("make_folder", json!({"path": "new"})),
        ("move_files", arrange("move", "hello.txt", "new.txt")),
        ("manage_files_read", path.clone()),
        ("manage_files_delete", path),
        ("manage_files_append", content.clone()),
        ("manage_files_replace", content),
        ("move_files_copy", to.clone()),
        ("move_files_move_over", to),
    ]
}

#[tokio::test]
async fn read_only_flag_offers_only_tools_that_read() {
    let served = Served::prepared("read-only");
    let before = served.tree();
    for era in ERAS {
        for flags in
            [&["--read-only"][..], &["--read-only", "--split"], &["--read-only", "--split=beside"]]
        {
            let mut host = served.to(era, flags).await;
            let listed = host.result("tools/list", &json!({})).await;
            assert_eq!(each(&listed["tools"], "name"), ["read_file", "list_files", "search_files"]);
            for tool in listed["tools"].as_array().unwrap() {
                assert_eq!(tool["annotations"]["readOnlyHint"], true, "{tool}");
                assert_ne!(tool["annotations"]["destructiveHint"], true, "{tool}");
            }
            for (tool, arguments) in that_change() {
                let params = json!({"name": tool, "arguments": arguments});
                let error = host.error("tools/call", &params).await;
                assert_eq!(error["code"], -32602, "{error}");
                assert_eq!(error["message"], format!("Unknown tool: {tool}"));
            }
            assert_reads(&mut host).await;
            assert_eq!(served.tree(), before);
        }
    }
}

#[tokio::test]
async fn read_only_variable_works_like_the_flag() {
    let served = Served::prepared("read-only variable");
    let mut command = served.command(&["--stdio"]);
    let mut host = Host::of(command.env("CANDOR_READ_ONLY", "true"), Era::Modern).await;
    assert_reads(&mut host).await;
    for (tool, arguments) in that_change() {
        let error = host.error("tools/call", &json!({"name": tool, "arguments": arguments})).await;
        assert_eq!(error["data"], json!({"tool": tool}));
    }
    let mut command = served.command(&["--stdio"]);
    let mut host = Host::of(command.env("CANDOR_READ_ONLY", "0"), Era::Modern).await;
    host.done("manage_files", &manage("delete", "hello.txt")).await;
}

#[tokio::test]
async fn read_only_server_needs_no_ledger() {
    let served = Served::prepared("read-only, no ledger");
    let mut command = crate::candor();
    command.arg("files").arg(served.path()).args(["--read-only", "--ledger", "none", "--stdio"]);
    assert_reads(&mut Host::of(&mut command, Era::Modern).await).await;
}

async fn assert_reads(host: &mut Host) {
    assert_eq!(host.done("read_file", &json!({"path": "hello.txt"})).await, "Hello, folder!");
    let listed = host.structured("list_files", &json!({"path": "sub"})).await;
    assert_eq!(each(&listed["entries"], "path"), ["sub/deeper", "sub/inner.md"]);
    let found = host.structured("search_files", &json!({"text": "Inner"})).await;
    assert_eq!(each(&found["matches"], "path"), ["sub/inner.md"]);
    let root = host.root().await;
    let read = host.result("resources/read", &json!({"uri": format!("{root}/sub/inner.md")})).await;
    assert_eq!(read["contents"][0]["text"], "# Inner");
}
