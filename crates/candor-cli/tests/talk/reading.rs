//! `candor resources`, `read` and `watch`.

use std::fs;

use crate::process::Program;
use crate::{World, names};

#[tokio::test]
async fn resources_are_a_tree_in_which_each_stands_once() {
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
    told.complains("without a URI, lists what there is");
    world.scripted(&["resources"]).await.ended(0).says("doc\\u{1b}[2J");
}

#[tokio::test]
async fn what_is_read_arrives_byte_by_byte() {
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
async fn the_form_is_picked_by_its_type() {
    let world = World::new("reading types");
    let words = ["read", "doc://a", "--type", "image/*", "--", "python3", crate::SCRIPTED];
    let output = tokio::process::Command::from(world.candor(&words)).output().await.unwrap();
    assert_eq!(output.stdout, [0, 1, 2]);
    let words = ["read", "doc://a", "--", "python3", crate::SCRIPTED];
    let output = tokio::process::Command::from(world.candor(&words)).output().await.unwrap();
    let raw = String::from_utf8(output.stdout).unwrap();
    assert!(raw.starts_with("plain\u{1b}[2J"), "to a file, as it is");
    let told = world.scripted(&["read", "doc://a", "--type", "text/html"]).await.ended(1);
    told.complains("there is no text/html of it; there is \"text/plain\", \"image/png\"");
}

#[cfg(unix)]
#[tokio::test]
async fn changes_are_told_until_somebody_ends_it() {
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
