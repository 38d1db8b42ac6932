//! Every method against every URI that might lead out. Nothing that is outside comes in.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use candor_files::Directory;
use candor_server::protocol::Era;
use candor_server::testing::TestClient;
use serde_json::{Value, json};

use crate::common::{SECRET, Scratch};
use crate::ear::Ear;
use crate::{both, server};

const METHODS: [&str; 4] =
    ["resources/list", "resources/directory/read", "resources/metadata", "resources/read"];

/// Links that lead out, in all the ways that links can; and a neighbor whose name only begins like the root's.
fn with_links() -> Scratch {
    let scratch = Scratch::new();
    scratch.file("plain", "plain");
    scratch.file("folder/deep/plain", "plain");
    for (link, target) in [
        ("relative", "../outside"),
        ("folder/deep/up", "../../../outside"),
        ("chain", "chain2"),
        ("chain2", "folder/deep/up"),
        ("parent", ".."),
        ("winding", "folder/../../outside/folder"),
        ("root", "/"),
        ("proc", "/proc/self/cwd"),
        ("file", "../outside/secret"),
        ("through", "relative/secret"),
        ("round", "../inside/plain"),
    ] {
        scratch.link(link, target);
    }
    scratch.link("absolute", scratch.outside(""));
    scratch.link("file-absolute", scratch.outside("secret"));
    let beside = scratch.base().join("insidex");
    std::fs::create_dir(&beside).unwrap();
    std::fs::write(beside.join("secret"), SECRET).unwrap();
    scratch
}

const LINKS: [&str; 13] = [
    "relative",
    "folder/deep/up",
    "chain",
    "chain2",
    "parent",
    "winding",
    "root",
    "proc",
    "absolute",
    "file",
    "file-absolute",
    "through",
    "round",
];

/// What stands before every path.
fn stem(directory: &Directory) -> String {
    let root = directory.uri();
    if root.ends_with('/') { root.to_owned() } else { format!("{root}/") }
}

/// URIs that name something outside, or try to.
fn ways_out(directory: &Directory, scratch: &Scratch) -> Vec<String> {
    let (root, stem) = (directory.uri(), stem(directory));
    let outside = scratch.outside("secret").to_str().unwrap().to_owned();
    let beneath = [
        "..",
        "../",
        "../outside/secret",
        "%2e%2e/outside/secret",
        "%2E%2e/outside/secret",
        ".%2e/outside/secret",
        "..%2foutside%2Fsecret",
        "%2e%2e%2foutside%2fsecret",
        "..%5coutside%5Csecret",
        "folder/../../outside/secret",
        "folder/%2e%2e/%2e%2e/outside/secret",
        "folder/deep/..%2f..%2f..%2foutside/secret",
        "folder/../plain",
        "./plain",
        "%2e/plain",
        "folder//deep",
        "/plain",
        "/etc/passwd",
        "%2fetc%2fpasswd",
        "%00",
        "plain%00",
        "plain%00.txt",
        "../outside/secret%00",
        "%252e%252e/outside/secret",
        "%252e%252e%252foutside%252fsecret",
        "%25252e%25252e/outside/secret",
        "%c0%ae%c0%ae/outside/secret",
        "%u002e%u002e/outside/secret",
        "\u{ff0e}\u{ff0e}/outside/secret",
        "..;/outside/secret",
        "plain?x",
        "plain#x",
        "plain%",
        "?../outside/secret",
        "#../outside/secret",
        "..\\outside\\secret",
        "plain/../../outside/secret",
        "file:///etc/passwd",
    ];
    let mut ways: Vec<String> = beneath.iter().map(|path| format!("{stem}{path}")).collect();
    ways.extend([
        format!("{root}x"),
        format!("{root}x/secret"),
        format!("{root}?x"),
        format!("{root}#x"),
        format!("{root}%2f..%2foutside%2fsecret"),
        format!("file://{outside}"),
        format!("FILE://{outside}"),
        format!("file:{outside}"),
        format!("file://localhost{outside}"),
        outside,
        "file:///etc/passwd".to_owned(),
        "file:///".to_owned(),
        "docs://etc/passwd".to_owned(),
        "../outside/secret".to_owned(),
        String::new(),
    ]);
    for link in LINKS {
        for rest in ["secret", "folder", "folder/secret", "outside/secret", "inside/plain"] {
            ways.push(format!("{stem}{link}/{rest}"));
        }
    }
    ways
}

/// No answer, and no word of an answer, knows what is outside.
fn tells_nothing(scratch: &Scratch, said: &str, hides: bool) {
    assert!(!said.contains(SECRET) && !said.contains(&BASE64_STANDARD.encode(SECRET)), "{said}");
    assert!(!said.contains("root:x:0"), "{said}");
    let base = scratch.base().to_str().unwrap();
    assert!(!hides || !said.contains(base), "says where the folder is: {said}");
}

async fn refused(client: &TestClient, scratch: &Scratch, method: &str, uri: &str) {
    let error = match client.request(method, json!({"uri": uri})).await {
        Ok(answer) => panic!("{method} {uri} gave {answer}"),
        Err(error) => error,
    };
    let hides = !uri.contains(scratch.base().to_str().unwrap());
    tells_nothing(scratch, &format!("{error:?}"), hides);
    assert!(!error.message.contains("os error"), "{}", error.message);
}

#[tokio::test]
async fn no_method_reaches_outside_the_root_by_uri() {
    let scratch = with_links();
    let before = scratch.outside_now();
    for hidden in [true, false] {
        let by_path = Directory::open(scratch.inside("")).unwrap().hidden(hidden);
        for directory in [by_path.clone(), by_path.clone().at("docs:///"), by_path.at("docs://v2/")]
        {
            for client in both(&directory) {
                for uri in ways_out(&directory, &scratch) {
                    for method in METHODS {
                        refused(&client, &scratch, method, &uri).await;
                    }
                }
                let plain = format!("{}plain", stem(&directory));
                assert_eq!(client.read(&plain).await[0].text.as_deref(), Some("plain"));
            }
        }
    }
    assert_eq!(scratch.outside_now(), before);
}

#[tokio::test]
async fn link_that_leaves_the_root_is_only_described() {
    let scratch = with_links();
    for client in both(&crate::docs(&scratch)) {
        for link in LINKS {
            for uri in [format!("docs:///{link}"), format!("docs:///{link}/")] {
                let described = crate::metadata(&client, &uri).await;
                assert_eq!(described["mimeType"], "inode/symlink", "{uri}");
                assert_eq!(described["size"], Value::Null);
                assert_eq!(described["capabilities"], json!({"list": false, "subscribe": false}));
                for method in ["resources/list", "resources/directory/read", "resources/read"] {
                    refused(&client, &scratch, method, &uri).await;
                }
            }
        }
        // The folder lists the links, and a read of it returns only files inside the root.
        let read = crate::ask(&client, "resources/read", "docs:///").await;
        tells_nothing(&scratch, &read.to_string(), true);
        assert_eq!(read["contents"].as_array().unwrap().len(), 1, "{read}");
        assert_eq!(crate::children(&client, "docs:///").await.len(), LINKS.len() + 1);
    }
}

#[tokio::test]
async fn resources_outside_the_root_cannot_be_watched() {
    let scratch = with_links();
    let directory = Directory::open(scratch.inside("")).unwrap();
    let mut wanted = ways_out(&directory, &scratch);
    wanted.extend(LINKS.map(|link| format!("{}/{link}", directory.uri())));
    let plain = format!("{}/plain", directory.uri());
    wanted.push(plain.clone());
    let wanted: Vec<&str> = wanted.iter().map(String::as_str).collect();
    for era in [Era::Legacy, Era::Modern] {
        let engine = server(directory.clone()).build().unwrap();
        let (mut ear, agreed) = Ear::listening(&engine, era, &wanted).await;
        assert_eq!(agreed, [&*plain]);
        std::fs::write(scratch.outside("secret"), SECRET).unwrap();
        std::fs::write(scratch.base().join("insidex/secret"), SECRET).unwrap();
        std::fs::write(scratch.inside("plain"), "plain").unwrap();
        assert_eq!(ear.next_uri().await, plain);
        assert_eq!(ear.in_silence().await, Vec::<String>::new());
    }
}
