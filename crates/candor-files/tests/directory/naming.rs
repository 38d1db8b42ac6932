//! What the root is called, and how a path is completed.

use candor_files::Directory;
use candor_server::testing::TestClient;
use serde_json::{Value, json};

use crate::common::{Scratch, odd_names};
use crate::{both, children, docs, metadata, uri_of};

async fn root_of(client: &TestClient) -> (String, String, String) {
    let root = client.resources().await.swap_remove(0);
    let template = client.templates().await.swap_remove(0);
    assert_eq!(template.name, root.name);
    (root.uri, root.name, template.uri_template)
}

#[tokio::test]
async fn root_is_named_after_the_end_of_its_uri() {
    let scratch = Scratch::new();
    scratch.file("a b/c", "text");
    for (at, uri, name, child) in [
        ("file:///", "file:///", "/", "file:///a%20b/c"),
        ("docs:///", "docs:///", "/", "docs:///a%20b/c"),
        ("docs://v2/", "docs://v2", "v2", "docs://v2/a%20b/c"),
        ("docs://v2", "docs://v2", "v2", "docs://v2/a%20b/c"),
        ("docs:///my%20notes/", "docs:///my%20notes", "my notes", "docs:///my%20notes/a%20b/c"),
        ("docs:///12:30", "docs:///12:30", "12:30", "docs:///12:30/a%20b/c"),
        ("docs:v2", "docs:v2", "v2", "docs:v2/a%20b/c"),
    ] {
        let directory = Directory::open(scratch.inside("")).unwrap().at(at);
        assert_eq!(directory.uri(), uri);
        for client in both(&directory) {
            let stem = child.strip_suffix("a%20b/c").unwrap();
            let expected = (uri.to_owned(), name.to_owned(), format!("{stem}{{+path}}"));
            assert_eq!(root_of(&client).await, expected);
            assert_eq!(client.read(child).await[0].text.as_deref(), Some("text"), "{child}");
            assert_eq!(uri_of(&children(&client, uri).await[0]), format!("{stem}a%20b"));
            let root = metadata(&client, uri).await;
            assert_eq!(
                (&root["name"], &root["mimeType"]),
                (&json!(name), &json!("inode/directory"))
            );
            assert_eq!(root["capabilities"], json!({"list": true, "subscribe": true}));
        }
    }
}

#[tokio::test]
async fn root_without_a_uri_gets_the_uri_of_its_path() {
    let scratch = Scratch::new();
    for (folder, encoded) in [("my notes", "my%20notes"), ("\u{fc}", "%C3%BC"), ("12:30", "12:30")]
    {
        scratch.file(&format!("{folder}/file"), "text");
        let path = scratch.inside(folder);
        let directory = Directory::open(&path).unwrap();
        let uri = format!("file://{}/inside/{encoded}", scratch.base().to_str().unwrap());
        assert_eq!(directory.uri(), uri);
        for client in both(&directory) {
            let (root, name, template) = root_of(&client).await;
            assert_eq!(
                (root, name, template),
                (uri.clone(), folder.to_owned(), format!("{uri}/{{+path}}"))
            );
            assert_eq!(client.read(&format!("{uri}/file")).await.len(), 1);
        }
    }
}

async fn proposals(client: &TestClient, typed: &str) -> (Vec<String>, Value) {
    let reference = json!({"type": "ref/resource", "uri": "docs:///{+path}"});
    let params = json!({"ref": reference, "argument": {"name": "path", "value": typed}});
    let completed = client.request("completion/complete", params).await.unwrap();
    let values = completed["completion"]["values"].as_array().unwrap().iter();
    let values = values.map(|value| value.as_str().unwrap().to_owned()).collect();
    (values, completed["completion"]["hasMore"].clone())
}

#[tokio::test]
async fn path_is_completed_one_name_at_a_time() {
    let scratch = Scratch::new();
    for file in ["src/main.rs", "src/lib.rs", "src/bin/a b.rs", "script", "other", ".hidden"] {
        scratch.file(file, "");
    }
    scratch.link("source", "src");
    scratch.link("out", "../outside");
    for client in both(&docs(&scratch)) {
        for (typed, expected) in [
            ("", &["other", "out", "script", "source/", "src/"][..]),
            ("s", &["script", "source/", "src/"]),
            ("src", &["src/"]),
            ("script", &["script"]),
            ("src/", &["src/bin/", "src/lib.rs", "src/main.rs"]),
            ("src/l", &["src/lib.rs"]),
            ("source/m", &["source/main.rs"]),
            ("src/bin/a%20", &["src/bin/a%20b.rs"]),
            ("src/bin/a ", &["src/bin/a%20b.rs"]),
            (".h", &[]),
            ("out/", &[]),
            ("missing/", &[]),
            ("../outside/", &[]),
            ("%2e%2e/outside/s", &[]),
            ("/etc/", &[]),
            ("src/../", &[]),
        ] {
            assert_eq!(proposals(&client, typed).await.0, expected, "{typed:?}");
        }
        // Another variable has no completions.
        let reference = json!({"type": "ref/resource", "uri": "docs:///{+path}"});
        let params = json!({"ref": reference, "argument": {"name": "other", "value": ""}});
        let none = client.request("completion/complete", params).await;
        assert!(none.is_err() || none.unwrap()["completion"]["values"] == json!([]));
    }
}

#[tokio::test]
async fn completed_path_leads_to_an_existing_file() {
    let scratch = Scratch::new();
    for name in odd_names() {
        use std::os::unix::ffi::OsStringExt;
        std::fs::write(scratch.inside(std::ffi::OsString::from_vec(name)), "text").unwrap();
    }
    for client in both(&docs(&scratch)) {
        let (proposed, _) = proposals(&client, "").await;
        assert_eq!(proposed.len(), children(&client, "docs:///").await.len());
        for path in proposed {
            assert_eq!(
                client.read(&format!("docs:///{path}")).await[0].text.as_deref(),
                Some("text")
            );
            assert!(proposals(&client, &path).await.0.contains(&path), "{path}");
        }
    }
}

#[tokio::test]
async fn completion_finds_the_last_names_of_a_large_folder() {
    let scratch = Scratch::new();
    for i in 0..3500 {
        std::fs::write(scratch.inside(format!("{i:04}")), "").unwrap();
    }
    for client in both(&docs(&scratch)) {
        let (proposed, more) = proposals(&client, "").await;
        assert_eq!((proposed.len(), more), (100, json!(true)), "a hundred in one answer");
        let (proposed, more) = proposals(&client, "349").await;
        let expected: Vec<String> = (3490..3500).map(|i| i.to_string()).collect();
        assert_eq!((proposed, more), (expected, json!(false)));
    }
}
