//! `candor resources`, `read` and `watch`.

use std::fs;

use serde_json::{Value, json};

use crate::process::Program;
use crate::{World, names};

#[tokio::test]
async fn resource_tree_lists_each_resource_once() {
    let world = World::new("reading tree");
    let told = world.over_stdio(&["resources"]).await.ended(0);
    told.says("NAME ");
    told.says("\nserved/ ");
    told.says("\n  a.txt ");
    assert_eq!(told.stdout.matches("a.txt").count(), 2, "its name and its URI: {told:?}");
    assert!(!told.stdout.contains("b.md"), "too deep: {told:?}");
    let told = world.over_stdio(&["resources", "--depth", "2"]).await.ended(0);
    told.says("\n    b.md ");
    let told = world.over_stdio(&["resources", &world.uri("sub"), "--json"]).await.ended(0);
    let result = told.result();
    assert_eq!(names(&result["resources"]), ["sub", "b.md"]);
    assert_eq!(result["resources"][1]["depth"], 1);
    let told = world.over_stdio(&["resources", &world.uri("nowhere"), "--json"]).await.ended(6);
    assert_eq!(told.error()["code"], "invalid_arguments");
    let told = world.over_stdio(&["resources", "a.txt"]).await.ended(6);
    told.complains("has no scheme");
    told.complains("without a URI");
    world.scripted(&["resources"]).await.ended(0).says("doc\\u{1b}[2J");
}

#[tokio::test]
async fn read_writes_the_exact_bytes() {
    let world = World::new("reading bytes");
    let (_server, target) = world.serve(&[]).await;
    let read = |words: &[&str]| {
        let words = [&["read", &target], words].concat();
        let mut command = tokio::process::Command::from(world.candor(&words));
        async move { command.output().await.unwrap() }
    };
    assert_eq!(read(&[&world.uri("bytes.bin")]).await.stdout, [0xff, 0x00, 0xfe]);
    assert_eq!(read(&[&world.uri("a.txt")]).await.stdout, b"first");
    let told = world.run(&["read", &target, &world.uri("a.txt"), "--json"]).await.ended(0);
    assert_eq!(told.result()["contents"][0]["text"], "first");
    let told = world.run(&["read", &target, &world.uri("a.txt"), "--metadata"]).await.ended(0);
    told.says("type         text/plain\n");
    told.says("size         5\n");
    assert!(!told.stdout.contains("first"));
    world.run(&["read", &target]).await.ended(2).complains("which resource?");
    world
        .run(&["read", &target, &world.uri("nowhere")])
        .await
        .ended(6)
        .complains("candor resources");
}

#[tokio::test]
async fn type_flag_selects_the_content() {
    let world = World::new("reading types");
    let words = ["read", "doc://a", "--type", "image/*", "--", "python3", crate::SCRIPTED];
    let output = tokio::process::Command::from(world.candor(&words)).output().await.unwrap();
    assert_eq!(output.stdout, [0, 1, 2]);
    let words = ["read", "doc://a", "--type", "text/*", "--", "python3", crate::SCRIPTED];
    let output = tokio::process::Command::from(world.candor(&words)).output().await.unwrap();
    let raw = String::from_utf8(output.stdout).unwrap();
    assert!(raw.starts_with("plain\u{1b}[2J"), "unchanged, because stdout is not a terminal");
    let told = world.scripted(&["read", "doc://a"]).await.ended(0);
    told.says("doc://a  text/plain  ");
    told.says("\n  | plain\\u{1b}[2J");
    told.says("\ndoc://a  image/png  3 bytes\n  (binary");
    let told = world.scripted(&["read", "doc://a", "--type", "text/html"]).await.ended(1);
    told.complains("it has no text/html; it has \"text/plain\", \"image/png\"");
}

fn reads(contents: &Value) -> Value {
    let answers = json!({"resources/read": {"result": {"contents": contents}}});
    json!({"capabilities": {"resources": {}}, "answers": answers})
}

#[tokio::test]
async fn read_reports_contents_with_another_uri() {
    let world = World::new("reading others");
    let one = json!([{"uri": "doc://b\u{1b}", "mimeType": "text/plain", "text": "b\n"}]);
    let told = world.canned(&reads(&one), &["read", "doc://a"]).await.ended(0);
    assert_eq!(told.stdout, "b\n", "unchanged, because stdout is not a terminal");
    told.complains("doc://b\\u{1b}  text/plain  2 bytes\n");
    told.complains("1 of 1 contents have another URI than the requested \"doc://a\"");
    let result = world.canned(&reads(&one), &["read", "doc://a", "--json"]).await.ended(0).result();
    assert_eq!(result["requestedUri"], "doc://a");
    assert_eq!(result["otherUris"], json!(["doc://b\u{1b}"]));

    let several = json!([
        {"uri": "doc://a", "text": "own\ndoc://c  text/plain  9 bytes"},
        {"uri": "doc://b", "mimeType": "text/html", "text": "<p>"},
        {"uri": "doc://a", "mimeType": "image/png", "blob": "AAE="},
    ]);
    let told = world.canned(&reads(&several), &["read", "doc://a"]).await.ended(0);
    let shown = "doc://a  (no type)  32 bytes\n  | own\n  | doc://c  text/plain  9 bytes\n\
                 doc://b  text/html  3 bytes\n  | <p>\ndoc://a  image/png  2 bytes\n  (binary";
    assert!(told.stdout.starts_with(shown), "{told:?}");
    told.complains("1 of 3 contents have another URI than the requested");
    let own = json!([{"uri": "doc://a", "mimeType": "text/plain", "text": "a"}]);
    let told = world.canned(&reads(&own), &["read", "doc://a", "--json"]).await.ended(0);
    assert_eq!(told.result()["otherUris"], Value::Null);
    let told = world.canned(&reads(&json!([])), &["read", "doc://a"]).await.ended(1);
    told.complains("the server sent no content");
}

#[tokio::test]
async fn binary_content_of_another_uri_is_read_by_that_uri() {
    let world = World::new("reading binary others");
    let contents = json!([
        {"uri": "doc://a/text", "mimeType": "text/plain", "text": "a"},
        {"uri": "doc://a/picture", "mimeType": "image/png", "blob": "AAE="},
    ]);
    let told = world.canned(&reads(&contents), &["read", "doc://a"]).await.ended(0);
    told.says("doc://a/picture  image/png  2 bytes\n  (binary: `candor read TARGET` with this URI");
    assert!(!told.stdout.contains("--type"), "{told:?}");
    let words = ["read", "doc://a", "--type", "image/*"];
    let told = world.canned(&reads(&contents), &words).await.ended(1);
    told.complains("it has no image/*; it has \"text/plain\"");
    told.complains("--type ignores contents with another URI");
}

#[cfg(unix)]
#[test]
fn binary_content_at_a_terminal_still_reports_another_uri() {
    let world = World::new("reading binary terminal");
    let contents = json!([{"uri": "doc://b", "mimeType": "image/png", "blob": "AAE="}]);
    let mut command = world.candor(&["read", "doc://a"]);
    command.args(world.cans(&reads(&contents)));
    let (code, text) = crate::terminal::Terminal::of(command).ended();
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("2 bytes of image/png, which a terminal cannot show"), "{text}");
    assert!(text.contains("1 of 1 contents have another URI than the requested"), "{text}");
}

#[tokio::test]
async fn metadata_from_a_read_reports_another_uri() {
    let world = World::new("reading metadata others");
    let contents = json!([{"uri": "doc://a/x", "text": "a"}, {"uri": "doc://a/y", "text": "b"}]);
    let words = ["read", "doc://a", "--metadata"];
    let told = world.canned(&reads(&contents), &words).await.ended(0);
    told.says("uri          doc://a\n");
    told.complains("2 of 2 contents have another URI than the requested \"doc://a\"");
    let own = json!([{"uri": "doc://a", "text": "a"}]);
    let told = world.canned(&reads(&own), &words).await.ended(0);
    assert!(!told.stderr.contains("another URI"), "{told:?}");
}

#[tokio::test]
async fn failed_metadata_is_reported_if_a_fallback_is_shown() {
    let world = World::new("reading refused metadata");
    let entry = json!({"uri": "doc://a", "name": "a"});
    let listed = json!({"result": {"resources": [entry]}});
    let refused = json!({"error": {"code": -32603, "message": format!("boom{}", crate::ESCAPE)}});
    let read = json!({"result": {"contents": [{"uri": "doc://b", "name": "b", "text": "b"}]}});
    let answers =
        json!({"resources/list": listed, "resources/metadata": refused, "resources/read": read});
    let canned = json!({"capabilities": {"resources": {}}, "answers": answers});
    for words in [["read", "--metadata", "doc://a"], ["read", "--metadata", "doc://b"]] {
        let told = world.canned(&canned, &words).await.ended(0);
        told.says(&format!("uri          {}\n", words[2]));
        told.complains(&format!("resources/metadata of \"{}\" failed: ", words[2]));
        told.complains("\"boom\\u{1b}[2J\"");
    }
    let told = world.canned(&canned, &["resources", "doc://a"]).await.ended(0);
    told.complains("resources/metadata of \"doc://a\" failed: ");
}

const DOCUMENT4: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../candor-client/tests/common/document4.py");

/// A server that implements document 4 independently of this project.
#[tokio::test]
async fn document_4_server_works_in_both_eras_over_both_transports() {
    for era in ["legacy", "modern"] {
        let world = World::new(&format!("reading document 4 {era}"));
        let asked = world.around.join("asked");
        let asked = format!("ASKED={}", asked.display());
        let mut server = tokio::process::Command::new("env");
        server.args([&asked, "python3", DOCUMENT4, era, "--http"]);
        let mut server = Program::start(&mut server);
        let (_stdin, mut lines) = server.take_pipes();
        let url = lines.recv().await.unwrap();
        let over_http = [url.trim()];
        let over_stdio = ["--", "env", &asked, "python3", DOCUMENT4, era];
        for way in [&over_http[..], &over_stdio] {
            let run = async |command: &str, words: &[&str]| {
                let words = match way {
                    [url] => [&[command, url], words].concat(),
                    program => [&[command], words, program].concat(),
                };
                world.run(&words).await.ended(0)
            };
            let told = run("resources", &["--depth", "3", "--json"]).await.result();
            assert_eq!(names(&told["resources"]), ["src", "a", "loop", "b", "readme"], "{way:?}");
            let told = run("resources", &["doc:///", "--depth", "1", "--json"]).await.result();
            assert_eq!(names(&told["resources"]), ["root", "src", "readme"], "{way:?}");
            let told = run("read", &["doc:///src/a", "--metadata"]).await;
            told.says("name         a\n");
            let told = run("read", &["doc:///src"]).await;
            told.says("doc:///src/a  text/plain  9 bytes\n  | text of a\n");
            told.complains("3 of 3 contents have another URI than the requested \"doc:///src\"");
        }
    }
}

#[tokio::test]
async fn content_that_cannot_be_decoded_does_not_hide_the_others() {
    let world = World::new("reading undecodable");
    let contents = json!([
        {"uri": "doc://a", "mimeType": "text/plain", "text": "first"},
        {"uri": "doc://bad\u{1b}", "mimeType": "image/png", "blob": "%%%"},
        {"uri": "doc://a", "mimeType": "text/html", "text": "last"},
    ]);
    let told = world.canned(&reads(&contents), &["read", "doc://a"]).await.ended(1);
    told.says("  | first\n");
    told.says("  | last\n");
    told.complains("not shown: doc://bad\\u{1b}: ");
    told.complains("1 of 3 contents cannot be read");
    let told = world.canned(&reads(&contents), &["read", "doc://a", "--json"]).await.ended(0);
    assert_eq!(told.result()["contents"][1]["blob"], "%%%");
    let bad = json!([{"uri": "doc://a", "blob": "%%%"}]);
    world.canned(&reads(&bad), &["read", "doc://a"]).await.ended(1).complains("doc://a: ");
}

/// Document 4, section 5: a read of a container may return nothing but its children.
#[tokio::test]
async fn container_without_metadata_is_shown_as_itself() {
    let world = World::new("reading container");
    let asked = format!("ASKED={}", world.around.join("asked").display());
    let program = ["--", "env", &asked, "python3", DOCUMENT4, "modern", "no-metadata"];
    let run = async |words: &[&str]| world.run(&[words, &program].concat()).await.ended(0);
    let told = run(&["read", "--metadata", "doc:///src/loop"]).await;
    told.says("uri          doc:///src/loop\n");
    told.says("can          {\"list\":true}\n");
    let told = run(&["resources", "doc:///src/loop", "--depth", "2", "--json"]).await.result();
    let uris: Vec<_> = told["resources"].as_array().unwrap().iter().map(|r| &r["uri"]).collect();
    assert_eq!(uris, ["doc:///src/loop", "doc:///src", "doc:///src/a", "doc:///src/b"]);
}

#[cfg(unix)]
#[tokio::test]
async fn watch_prints_changes_until_it_is_interrupted() {
    let world = World::new("reading watch");
    let (_server, target) = world.serve(&[]).await;
    let uri = world.uri("a.txt");
    let mut watch = Program::start(&mut world.candor(&["watch", &target, &uri, "--json"]).into());
    assert!(watch.complaint().await.starts_with("Watching 1 resources of \"candor-files"));
    fs::write(world.folder().join("a.txt"), "second").unwrap();
    let line = watch.next().await;
    assert_eq!(line["result"]["change"], "resource", "{line}");
    assert_eq!(line["result"]["uri"], *uri);
    crate::interrupt(watch.id());
    assert_eq!(watch.ended().await.status.code(), Some(0));
    let told = world.scripted(&["watch", "doc://a", "--json"]).await.ended(1);
    assert_eq!(told.error()["code"], "unsupported");
}
