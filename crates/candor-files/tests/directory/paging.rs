//! Folders that are longer than a page, and that change between two pages.

use std::collections::HashMap;
use std::fs;

use candor_server::testing::TestClient;
use serde_json::{Value, json};

use crate::common::{Scratch, is_superuser};
use crate::{both, children, docs, uri_of};

const MANY: usize = 3500;

fn fill(scratch: &Scratch, folder: &str) {
    scratch.folder(folder);
    for i in 0..MANY {
        fs::File::create(scratch.inside(folder).join(format!("{i:04}"))).unwrap();
    }
}

async fn page(client: &TestClient, method: &str, params: &Value) -> (Vec<String>, Value) {
    let mut page = client.request(method, params).await.unwrap();
    let listed = page["resources"].as_array().unwrap().iter();
    (listed.map(|child| uri_of(child).to_owned()).collect(), page["nextCursor"].take())
}

#[tokio::test]
async fn unchanged_names_are_listed_once_while_others_change() {
    let scratch = Scratch::new();
    fill(&scratch, "many");
    for (round, client) in both(&docs(&scratch)).iter().enumerate() {
        let mut times: HashMap<String, usize> = HashMap::new();
        let mut sizes = Vec::new();
        let mut params = json!({"uri": "docs:///many"});
        loop {
            let (listed, next) = page(client, "resources/list", &params).await;
            sizes.push(listed.len());
            listed.into_iter().for_each(|uri| *times.entry(uri).or_default() += 1);
            // In all parts of the list: some are deleted, and others made.
            for i in (100 * round + sizes.len()..MANY).step_by(250) {
                let _ = fs::remove_file(scratch.inside(format!("many/{i:04}")));
                fs::write(scratch.inside(format!("many/{i:04}-{round}{}", sizes.len())), "")
                    .unwrap();
            }
            match next {
                Value::Null => break,
                cursor => params["cursor"] = cursor,
            }
        }
        assert_eq!(sizes.len(), 4, "{sizes:?}");
        assert_eq!(sizes[..3], [1000, 1000, 1000]);
        assert!(times.values().all(|times| *times == 1), "nothing is listed twice");
        let throughout = (0..MANY).map(|i| format!("{i:04}"));
        for name in throughout.filter(|name| scratch.inside(format!("many/{name}")).exists()) {
            assert!(times.contains_key(&format!("docs:///many/{name}")), "{name} was missed");
        }
        let listed = children(client, "docs:///many").await;
        assert_eq!(listed.len(), fs::read_dir(scratch.inside("many")).unwrap().count());
    }
}

#[tokio::test]
async fn cursor_of_another_folder_is_refused() {
    let scratch = Scratch::new();
    fill(&scratch, "one");
    fill(&scratch, "two");
    for client in both(&docs(&scratch)) {
        let cursor_of =
            async |uri: &str| page(&client, "resources/list", &json!({"uri": uri})).await.1;
        let (one, two) = (cursor_of("docs:///one").await, cursor_of("docs:///two").await);
        for (uri, foreign) in [("docs:///one", &two), ("docs:///two", &one), ("docs:///one/", &one)]
        {
            for method in ["resources/list", "resources/directory/read"] {
                let params = json!({"uri": uri, "cursor": foreign});
                let error = client.request(method, params).await.unwrap_err();
                assert_eq!(error.code(), -32602);
                assert!(error.message.starts_with("Invalid cursor"), "{uri}: {}", error.message);
            }
        }
        let error = client.request("resources/list", json!({"cursor": one})).await.unwrap_err();
        assert!(error.message.starts_with("Invalid cursor"), "{}", error.message);
        let params = json!({"uri": "docs:///one", "cursor": one});
        let (listed, _) = page(&client, "resources/directory/read", &params).await;
        assert_eq!(listed[0], "docs:///one/1000", "both methods accept it");
    }
}

#[tokio::test]
async fn default_list_has_the_root_and_its_children() {
    let scratch = Scratch::new();
    fill(&scratch, "");
    scratch.file("sub/deep", "");
    for client in both(&docs(&scratch)) {
        let listed: Vec<String> = client.resources().await.into_iter().map(|r| r.uri).collect();
        let numbers = (0..MANY).map(|i| format!("docs:///{i:04}"));
        let expected: Vec<String> = ["docs:///".to_owned()]
            .into_iter()
            .chain(numbers)
            .chain(["docs:///sub".to_owned()])
            .collect();
        assert_eq!(listed, expected);
        let (first, _) = page(&client, "resources/list", &json!({})).await;
        assert_eq!(first.len(), 1000);
    }
}

/// Names that are not UTF-8 make cursors, too.
#[tokio::test]
async fn page_may_end_with_any_name() {
    use std::os::unix::ffi::OsStringExt;
    let scratch = Scratch::new();
    for i in 0..1200_u32 {
        let mut name = vec![0xff, 0xfe, b'%', b'/' + 1];
        name.extend(i.to_be_bytes().map(|byte| byte | 0x80));
        name.extend(format!("{i}").bytes());
        fs::write(scratch.inside(std::ffi::OsString::from_vec(name)), "").unwrap();
    }
    for client in both(&docs(&scratch)) {
        let listed = children(&client, "docs:///").await;
        let uris: std::collections::HashSet<&str> = listed.iter().map(uri_of).collect();
        assert_eq!((listed.len(), uris.len()), (1200, 1200));
    }
}

#[tokio::test]
async fn unreadable_root_does_not_hide_other_roots() {
    use std::os::unix::fs::PermissionsExt;
    if is_superuser() {
        return; // permissions do not apply
    }
    let (closed, open) = (Scratch::new(), Scratch::new());
    open.file("file", "");
    let closed_docs = docs(&closed).at("closed:///");
    fs::set_permissions(closed.inside(""), fs::Permissions::from_mode(0o000)).unwrap();
    let client = crate::server(closed_docs).resources(docs(&open)).test();
    let listed: Vec<String> = client.resources().await.into_iter().map(|r| r.uri).collect();
    assert_eq!(listed, ["closed:///", "docs:///", "docs:///file"]);
}
