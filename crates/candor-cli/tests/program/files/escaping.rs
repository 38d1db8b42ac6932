//! Nothing leads out of the folder, and nothing in it that is hidden is reached.

use serde_json::{Value, json};

use super::{ERAS, Era, Host, SECRET, Served, arrange, manage, manage_with};

/// Every way to use a path, by every tool.
pub(super) fn uses(path: &str) -> Vec<(&'static str, Value)> {
    vec![
        ("manage_files", manage("read", path)),
        ("manage_files", manage_with("append", path, "intruder")),
        ("manage_files", manage_with("replace", path, "intruder")),
        ("manage_files", manage("delete", path)),
        ("list_files", json!({"path": path})),
        ("search_files", json!({"path": path, "text": "nobody"})),
        ("search_files", json!({"path": path, "name": "secret*"})),
        ("make_folder", json!({"path": path})),
        ("move_files", arrange("copy", path, "copied")),
        ("move_files", arrange("copy_over", "hello.txt", path)),
        ("move_files", arrange("move", path, "moved")),
        ("move_files", arrange("move_over", "hello.txt", path)),
    ]
}

/// No answer tells what is outside, or where the folder is.
pub(super) fn assert_tells_nothing(served: &Served, what: &Value, answer: &Value) {
    let answer = answer.to_string();
    assert!(!answer.contains(SECRET), "{what} gave the secret away: {answer}");
    let around = served.around.to_str().unwrap();
    assert!(!answer.contains(around), "{what} says where the folder is: {answer}");
}

/// Calls a tool that must fail, in words that say nothing of what is outside.
pub(super) async fn refused(
    host: &mut Host,
    served: &Served,
    tool: &str,
    arguments: &Value,
    codes: &[&str],
) {
    let answer = host.call(tool, arguments).await;
    assert_eq!(answer["result"]["isError"], true, "{tool} {arguments}: {answer}");
    let code = answer["result"]["_meta"]["dev.candor/error"]["code"].as_str().unwrap();
    assert!(codes.contains(&code), "{tool} {arguments}: {answer}");
    assert_tells_nothing(served, arguments, &answer);
}

#[tokio::test]
async fn every_tool_refuses_parent_and_absolute_paths() {
    let served = Served::prepared("paths");
    let (before, outside) = (served.tree(), served.tree_outside());
    let absolute = [served.outside("secret.txt"), served.at("hello.txt")];
    let absolute = absolute.each_ref().map(|path| path.to_str().unwrap());
    for era in ERAS {
        let mut host = served.to(era, &["--hidden"]).await;
        for path in [
            "..",
            "./..",
            "../outside/secret.txt",
            "sub/../../outside/secret.txt",
            "sub/../hello.txt",
            "/",
            "/etc/passwd",
            "//etc/passwd",
            "hello.txt\0",
            "sub\0/../../outside/secret.txt",
        ]
        .into_iter()
        .chain(absolute)
        {
            for (tool, arguments) in uses(path) {
                refused(&mut host, &served, tool, &arguments, &["bad_path"]).await;
            }
        }
        for (path, part) in [("..", "contains `..`"), ("/x", "is absolute"), ("\0", "NUL")] {
            let told = host.refused("manage_files", &manage("read", path), "bad_path").await;
            assert!(told.contains(part), "{told}");
        }
        host.refused("list_files", &json!({"after": "../x"}), "bad_path").await;
    }
    assert_eq!(served.tree(), before);
    assert_eq!(served.tree_outside(), outside);
}

/// These paths lead out elsewhere. Here they are plain names.
#[cfg(unix)]
#[tokio::test]
async fn path_that_resembles_an_escape_stays_inside() {
    let served = Served::prepared("looks");
    let outside = served.tree_outside();
    let mut host = served.serve().await;
    let paths = [
        "%2e%2e%2foutside%2fsecret.txt",
        "%2e%2e/outside/secret.txt",
        "..\\outside\\secret.txt",
        "C:\\secret.txt",
        "file:///outside/secret.txt",
        "~/secret.txt",
        "... /secret.txt",
    ];
    for path in paths {
        for (tool, arguments) in uses(path) {
            let answer = host.call(tool, &arguments).await;
            assert_tells_nothing(&served, &arguments, &answer);
            // The call may have moved the file away.
            served.write("hello.txt", "Hello, folder!");
        }
        assert_eq!(served.tree_outside(), outside, "{path}");
    }
    let around: Vec<_> = std::fs::read_dir(&served.around).unwrap().flatten().collect();
    assert_eq!(around.len(), 2, "{around:?}");
}

#[tokio::test]
async fn hidden_names_are_unreachable_for_tools_and_resources() {
    let served = Served::prepared("unseen");
    let before = served.tree();
    for era in ERAS {
        let mut host = served.to(era, &[]).await;
        let root = host.root().await;
        for path in [".hidden", ".config", ".config/inner.txt", ".new", "sub/.new/deep"] {
            for (tool, arguments) in uses(path) {
                if arguments["action"] == "delete" {
                    let told = host.done(tool, &arguments).await;
                    assert_eq!(told, format!("{path} did not exist"));
                    continue;
                }
                refused(&mut host, &served, tool, &arguments, &["not_found"]).await;
            }
            for method in ["resources/read", "resources/metadata", "resources/list"] {
                let params = json!({"uri": format!("{root}/{path}")});
                let error = host.error(method, &params).await;
                assert_eq!(error["message"], "Resource not found", "{method} {path}");
            }
        }
        let found = host.structured("search_files", &json!({"text": "hidden"})).await;
        assert_eq!(found["matches"], json!([]));
    }
    assert_eq!(served.tree(), before);
}

#[tokio::test]
async fn no_resource_uri_leads_out_of_the_folder() {
    let served = Served::prepared("uris");
    let before = served.tree();
    for era in ERAS {
        let mut host = served.to(era, &["--hidden"]).await;
        let root = host.root().await;
        let around = root.rsplit_once('/').unwrap().0.to_owned();
        let beneath = [
            "/../outside/secret.txt",
            "/sub/../../outside/secret.txt",
            "/%2e%2e/outside/secret.txt",
            "/%2E%2E%2Foutside%2Fsecret.txt",
            "/..%2foutside%2fsecret.txt",
            "/..%5Coutside%5Csecret.txt",
            "/%252e%252e/outside/secret.txt",
            "//etc/passwd",
            "/%2Fetc%2Fpasswd",
            "/hello.txt%00",
            "/hello.txt?x",
            "/hello.txt#x",
            "/hello.txt%",
            "/./hello.txt",
            "/../",
            "x",
        ];
        let beneath = beneath.map(|path| format!("{root}{path}"));
        let elsewhere = [
            around.clone(),
            format!("{around}/outside"),
            format!("{around}/outside/secret.txt"),
            "file:///".to_owned(),
            "file:///etc/passwd".to_owned(),
            "file://localhost/etc/passwd".to_owned(),
            "http://example.com/".to_owned(),
            "hello.txt".to_owned(),
            String::new(),
        ];
        for uri in beneath.iter().chain(&elsewhere) {
            let methods = ["read", "metadata", "list", "directory/read"];
            for method in methods.map(|method| format!("resources/{method}")) {
                let params = json!({"uri": uri});
                let error = host.error(&method, &params).await;
                let code = error["code"].as_i64().unwrap();
                assert!(code == -32602 || (code == -32002 && era == Era::Legacy), "{uri}: {error}");
                assert_tells_nothing(&served, &params, &error);
            }
        }
    }
    assert_eq!(served.tree(), before);
}
