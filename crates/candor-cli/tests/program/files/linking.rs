//! Links are followed inside the folder, and never out of it.

use serde_json::{Value, json};

use super::escaping::{assert_tells_nothing, refused, uses};
use super::{ERAS, Served, arrange, each, manage, manage_with};

/// Links to the outside: to a file, to folders, to each other.
fn with_links(name: &str) -> Served {
    let served = Served::prepared(name);
    let absolute = served.outside("secret.txt");
    for (link, to) in [
        ("out.txt", "../outside/secret.txt"),
        ("absolute.txt", absolute.to_str().unwrap()),
        ("new.txt", "../outside/new.txt"),
        ("around", ".."),
        ("beside", "../outside"),
        ("sub/beside", "../../outside"),
        ("chain", "sub/beside"),
        ("winding", "sub/../sub/beside/deep/.."),
        ("top", "/"),
        ("process", "/proc/self/root"),
    ] {
        std::os::unix::fs::symlink(to, served.at(link)).unwrap();
    }
    served
}

#[tokio::test]
async fn no_tool_follows_a_link_out_of_the_folder() {
    let served = with_links("links");
    let (before, outside) = (served.tree(), served.tree_outside());
    let codes = ["leads_out", "leads_nowhere", "not_a_file", "not_a_folder", "not_found", "exists"];
    for era in ERAS {
        let mut host = served.to(era, &[]).await;
        for folder in ["around/outside", "beside", "sub/beside", "chain", "winding"] {
            for path in ["secret.txt", "deep", "deep/secret.txt", "new.txt", "new/folder"] {
                for (tool, arguments) in uses(&format!("{folder}/{path}")) {
                    refused(&mut host, &served, tool, &arguments, &codes).await;
                }
            }
        }
        for path in ["top/etc", "process/etc/passwd"] {
            for (tool, arguments) in uses(path) {
                refused(&mut host, &served, tool, &arguments, &["leads_out"]).await;
            }
        }
        for link in ["out.txt", "absolute.txt", "new.txt", "beside", "chain", "top", "winding"] {
            // The links themselves may be moved, deleted and replaced.
            let of_target = |arguments: &Value| {
                !["delete", "move", "move_over"]
                    .contains(&arguments["action"].as_str().unwrap_or(""))
            };
            for (tool, arguments) in uses(link).iter().filter(|(_, a)| of_target(a)) {
                if *tool == "search_files" {
                    let found = host.call(tool, arguments).await;
                    assert_tells_nothing(&served, arguments, &found);
                    let matches = &found["result"]["structuredContent"]["matches"];
                    assert!(matches.as_array().is_none_or(Vec::is_empty), "{found}");
                    continue;
                }
                refused(&mut host, &served, tool, arguments, &codes).await;
            }
        }
        let told =
            host.refused("manage_files", &manage("read", "beside/secret.txt"), "leads_out").await;
        assert!(told.contains("leads out of this folder by a link"), "{told}");
        let listed = host.structured("list_files", &json!({})).await;
        for entry in listed["entries"].as_array().unwrap() {
            let is_link = served.at(entry["path"].as_str().unwrap()).is_symlink();
            assert_eq!(entry["kind"] == "dangling_link", is_link, "{entry}");
            assert_eq!(entry["size"].is_null(), entry["kind"] != "file", "{entry}");
        }
        let found = host.structured("search_files", &json!({"text": "nobody"})).await;
        assert_eq!(found["matches"], json!([]));
    }
    assert_eq!(served.tree(), before);
    assert_eq!(served.tree_outside(), outside);
}

#[tokio::test]
async fn move_and_delete_act_on_the_link_itself() {
    let served = with_links("links themselves");
    let outside = served.tree_outside();
    let mut host = served.serve().await;
    host.done("move_files", &arrange("move", "beside", "sub/moved")).await;
    assert!(served.at("sub/moved").is_symlink() && !served.has("beside"));
    for link in ["sub/moved", "out.txt", "around", "top"] {
        host.done("manage_files", &manage("delete", link)).await;
        assert!(!served.has(link));
    }
    host.done("move_files", &arrange("move_over", "hello.txt", "absolute.txt")).await;
    assert!(!served.at("absolute.txt").is_symlink());
    assert_eq!(served.text("absolute.txt"), "Hello, folder!");
    assert_eq!(served.tree_outside(), outside);
}

#[tokio::test]
async fn no_resource_follows_a_link_out_of_the_folder() {
    let served = with_links("linked resources");
    for era in ERAS {
        let mut host = served.to(era, &[]).await;
        let root = host.root().await;
        let listed = host.result("resources/list", &json!({"uri": root})).await;
        assert_tells_nothing(&served, &json!("the list"), &listed);
        assert!(each(&listed["resources"], "name").contains(&"out.txt"));
        for path in ["out.txt", "absolute.txt", "new.txt", "around", "beside", "chain", "top"] {
            let uri = json!({"uri": format!("{root}/{path}")});
            let known = host.result("resources/metadata", &uri).await["resource"].take();
            assert_eq!(
                known["capabilities"],
                json!({"list": false, "subscribe": false}),
                "{known}"
            );
            assert_eq!(known.get("size"), None, "{known}");
            for method in ["resources/read", "resources/list", "resources/directory/read"] {
                let error = host.error(method, &uri).await;
                assert_tells_nothing(&served, &uri, &error);
            }
        }
        for path in
            ["around/outside/secret.txt", "beside/secret.txt", "chain/deep", "top/etc/passwd"]
        {
            let uri = json!({"uri": format!("{root}/{path}")});
            for method in ["read", "metadata", "list", "directory/read"] {
                let error = host.error(&format!("resources/{method}"), &uri).await;
                assert_tells_nothing(&served, &uri, &error);
            }
        }
        let folder = host.result("resources/read", &json!({"uri": root})).await;
        assert_eq!(each(&folder["contents"], "text"), ["Hello, folder!"]);
    }
}

#[tokio::test]
async fn link_inside_the_folder_works_like_its_target() {
    let served = Served::prepared("links inside");
    for (link, to) in [("link.txt", "sub/../hello.txt"), ("sub/deeper/up", "..")] {
        std::os::unix::fs::symlink(to, served.at(link)).unwrap();
    }
    for era in ERAS {
        let mut host = served.to(era, &[]).await;
        let content = format!("written by {era:?}");
        host.done("manage_files", &manage_with("replace", "link.txt", &content)).await;
        assert!(served.at("link.txt").is_symlink());
        assert_eq!(served.text("hello.txt"), content);
        let inner = host.done("manage_files", &manage("read", "sub/deeper/up/inner.md")).await;
        assert_eq!(inner, "# Inner");
        let uri = format!("{}/link.txt", host.root().await);
        let read = host.result("resources/read", &json!({"uri": uri})).await;
        assert_eq!(read["contents"][0]["text"], content);
        // A circular link is searched once.
        let found = host.structured("search_files", &json!({"name": "inner.md"})).await;
        assert_eq!(each(&found["matches"], "path"), ["sub/inner.md"]);
    }
}
