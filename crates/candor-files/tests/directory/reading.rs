//! What reading gives: a file as text or bytes, a folder as its small texts and whether that is all.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use candor_files::Directory;
use candor_server::testing::TestClient;
use serde_json::{Value, json};

use crate::common::Scratch;
use crate::{ask, both, docs, uri_of};

/// What stands in the result of reading a folder, and whether something was left out.
async fn folder(client: &TestClient, uri: &str) -> (Vec<String>, bool) {
    let read = ask(client, "resources/read", uri).await;
    let said = &read["_meta"]["dev.candor/resource"]["subset"];
    let subset =
        said.as_bool().unwrap_or_else(|| panic!("does not say whether that is all: {read}"));
    let contents = read["contents"].as_array().unwrap();
    (contents.iter().map(|content| uri_of(content).to_owned()).collect(), subset)
}

#[tokio::test]
async fn folder_read_returns_its_small_text_files() {
    let scratch = Scratch::new();
    scratch.file("all/a.md", "# A");
    scratch.file("all/b", "b");
    scratch.folder("empty");
    scratch.folder("only-hidden");
    scratch.file("only-hidden/.env", "key");
    for client in both(&docs(&scratch)) {
        let read = ask(&client, "resources/read", "docs:///all").await;
        let contents = read["contents"].as_array().unwrap();
        assert_eq!(contents.len(), 2);
        let expected = json!({"uri": "docs:///all/a.md", "name": "a.md", "text": "# A", "size": 3, "mimeType": "text/markdown"});
        for (member, value) in expected.as_object().unwrap() {
            assert_eq!(contents[0][member], *value, "{member}");
        }
        assert!(!folder(&client, "docs:///all").await.1, "nothing is omitted");
        assert_eq!(folder(&client, "docs:///empty").await, (vec![], false));
        // Hidden files do not count as omitted.
        assert_eq!(folder(&client, "docs:///only-hidden").await, (vec![], false));
    }
    let shown = docs(&scratch).hidden(true);
    for client in both(&shown) {
        let hidden = vec!["docs:///only-hidden/.env".to_owned()];
        assert_eq!(folder(&client, "docs:///only-hidden").await, (hidden, false));
    }
}

#[tokio::test]
async fn folder_read_with_omissions_is_marked_as_a_subset() {
    let scratch = Scratch::new();
    type Make<'a> = &'a dyn Fn(&str);
    let left_out: [(&str, Make<'_>); 6] = [
        ("folder", &|path| scratch.folder(path)),
        ("bytes", &|path| scratch.file(path, b"a\0b")),
        ("latin-1", &|path| scratch.file(path, b"Gr\xfc\xdfe")),
        ("pipe", &|path| scratch.pipe(path)),
        ("link", &|path| scratch.link(path, "nowhere")),
        ("large", &|path| scratch.file(path, vec![b'x'; 64 * 1024 + 1])),
    ];
    for (name, make) in left_out {
        scratch.file(&format!("{name}/text"), "text");
        make(&format!("{name}/other"));
    }
    scratch.file("edge/text", vec![b'x'; 64 * 1024]);
    for client in both(&docs(&scratch)) {
        for (name, _) in left_out {
            let text = vec![format!("docs:///{name}/text")];
            assert_eq!(folder(&client, &format!("docs:///{name}")).await, (text, true), "{name}");
        }
        let whole = (vec!["docs:///edge/text".to_owned()], false);
        assert_eq!(folder(&client, "docs:///edge").await, whole, "64 KiB are small");
    }
}

#[tokio::test]
async fn folder_read_stops_at_its_limits() {
    let scratch = Scratch::new();
    for i in 0..51 {
        scratch.file(&format!("many/{i:02}"), "text");
        if i < 50 {
            scratch.file(&format!("enough/{i:02}"), "text");
        }
    }
    // Eight files of 64 KiB are 512 KiB. A ninth is too much, but an empty one still fits.
    for i in 0..9 {
        scratch.file(&format!("heavy/{i}"), vec![b'x'; 64 * 1024]);
    }
    scratch.file("heavy/z-empty", "");
    for i in 0..8 {
        scratch.file(&format!("full/{i}"), vec![b'x'; 64 * 1024]);
    }
    for client in both(&docs(&scratch)) {
        let (read, subset) = folder(&client, "docs:///enough").await;
        assert_eq!((read.len(), subset), (50, false));
        let (read, subset) = folder(&client, "docs:///many").await;
        assert_eq!((read.len(), subset), (50, true));
        let (read, subset) = folder(&client, "docs:///full").await;
        assert_eq!((read.len(), subset), (8, false));
        let (read, subset) = folder(&client, "docs:///heavy").await;
        assert_eq!(
            (read.len(), read.last().unwrap().as_str(), subset),
            (9, "docs:///heavy/z-empty", true)
        );
    }
}

#[tokio::test]
async fn content_decides_between_text_and_blob() {
    let scratch = Scratch::new();
    scratch.file("bytes.txt", b"a\0b");
    scratch.file("text.png", "no picture");
    scratch.file("empty.bin", "");
    for client in both(&docs(&scratch)) {
        for (name, member, value, mime) in [
            ("bytes.txt", "blob", "YQBi", "text/plain"),
            ("text.png", "text", "no picture", "image/png"),
            ("empty.bin", "text", "", "text/plain"),
        ] {
            let read = ask(&client, "resources/read", &format!("docs:///{name}")).await;
            let content = &read["contents"][0];
            assert_eq!((&content[member], &content["mimeType"]), (&json!(value), &json!(mime)));
            let other = if member == "text" { "blob" } else { "text" };
            assert_eq!(content.get(other), None);
        }
    }
}

#[tokio::test]
async fn file_above_the_limit_is_described_but_not_read() {
    let scratch = Scratch::new();
    scratch.file("ten", "0123456789");
    scratch.file("eleven", "0123456789a");
    for client in both(&docs(&scratch).largest(10)) {
        assert_eq!(client.read("docs:///ten").await.len(), 1);
        assert_eq!(crate::metadata(&client, "docs:///eleven").await["size"], 11);
        let error = client.try_read("docs:///eleven").await.unwrap_err();
        assert!(error.message.contains("11 bytes, and 10 are allowed"), "{}", error.message);
        let data: Value = serde_json::from_str(error.data.as_ref().unwrap().get()).unwrap();
        assert_eq!(data["dev.candor/error"]["code"], "too_large");
    }
}

/// A name that is a folder and a file in turn: a read returns one of them or an error, never a mixture.
#[tokio::test(flavor = "multi_thread")]
async fn read_during_a_swap_is_never_a_mixture() {
    let scratch = Scratch::new();
    scratch.file("thing/text", "in the folder");
    scratch.file("other", "in the file");
    let directory = Directory::open(scratch.inside("")).unwrap().at("docs:///");
    let (thing, other) = (scratch.inside("thing"), scratch.inside("other"));
    let parked = scratch.inside("parked");
    let over = Arc::new(AtomicBool::new(false));
    let end = Ended(over.clone());
    let swapping = std::thread::spawn(move || {
        while !over.load(Ordering::Relaxed) {
            fs::rename(&thing, &parked).unwrap();
            fs::rename(&other, &thing).unwrap();
            fs::rename(&thing, &other).unwrap();
            fs::rename(&parked, &thing).unwrap();
            std::thread::sleep(Duration::from_micros(100));
        }
    });
    for client in both(&directory) {
        let mut read = [0, 0];
        for _ in 0..300 {
            match client.request("resources/read", json!({"uri": "docs:///thing"})).await {
                Ok(answer) => match answer["contents"].as_array().unwrap().as_slice() {
                    [] => {}
                    [one] => {
                        let is_file = uri_of(one) == "docs:///thing";
                        let text = if is_file { "in the file" } else { "in the folder" };
                        assert_eq!(one["text"], text);
                        read[usize::from(is_file)] += 1;
                    }
                    more => panic!("a mixture: {more:?}"),
                },
                Err(error) => {
                    let known =
                        ["not found", "not a file", "not a folder", "could not answer for this"];
                    assert!(known.iter().any(|words| error.message.contains(words)), "{error:?}");
                }
            }
        }
        assert!(read[0] > 0, "{read:?}");
    }
    drop(end);
    swapping.join().unwrap();
}

/// Ends the swapping, even if the test fails.
struct Ended(Arc<AtomicBool>);

impl Drop for Ended {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
