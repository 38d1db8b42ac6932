//! What is in one file: read, appended to, replaced, deleted.

use std::fs;

use serde_json::json;

use super::{ERAS, Meanwhile, Served, manage, manage_with};

const TOOL: &str = "manage_files";

#[tokio::test]
async fn file_is_written_read_and_deleted_in_both_eras() {
    for era in ERAS {
        let served = Served::prepared(&format!("written {era:?}"));
        let mut host = served.to(era, &[]).await;
        let new = host.done(TOOL, &manage_with("append", "sub/new.txt", "one\n")).await;
        assert_eq!(new, "Appended 4 bytes to sub/new.txt, which is new");
        let more = host.done(TOOL, &manage_with("append", "sub/new.txt", "zwölf\n")).await;
        assert_eq!(more, "Appended 7 bytes to sub/new.txt");
        assert_eq!(host.done(TOOL, &manage("read", "./sub//new.txt")).await, "one\nzwölf\n");

        let over = host.done(TOOL, &manage_with("replace", "sub/new.txt", "two")).await;
        assert_eq!(over, "Wrote 3 bytes to sub/new.txt");
        assert_eq!(served.text("sub/new.txt"), "two");
        let made = host.done(TOOL, &manage_with("replace", "made.txt", "")).await;
        assert_eq!(made, "Wrote 0 bytes to made.txt, which is new");
        assert_eq!(host.done(TOOL, &manage("read", "made.txt")).await, r#""""#);

        assert_eq!(host.done(TOOL, &manage("delete", "made.txt")).await, "Deleted made.txt");
        assert!(!served.has("made.txt"));
        let again = host.done(TOOL, &manage("delete", "made.txt")).await;
        assert_eq!(again, "made.txt did not exist");
        let nowhere = host.done(TOOL, &manage("delete", "no/such/folder")).await;
        assert_eq!(nowhere, "no/such/folder did not exist");
        let odd = "sub/deeper/100% größer? #1.txt";
        assert_eq!(host.done(TOOL, &manage("read", odd)).await, "deep");
    }
}

#[tokio::test]
async fn missing_content_is_refused_with_advice() {
    let served = Served::prepared("no content");
    let before = served.tree();
    let mut host = served.serve().await;
    for action in ["append", "replace"] {
        let told = host.refused(TOOL, &manage(action, "hello.txt"), "no_content").await;
        assert!(told.starts_with(&format!("To {action}, content is needed")), "{told}");
        assert!(told.contains("/content") && told.contains("an empty string"), "{told}");
    }
    let unknown = host.refused(TOOL, &manage("truncate", "hello.txt"), "invalid_arguments").await;
    assert!(unknown.contains("/action"), "{unknown}");
    assert_eq!(served.tree(), before);
}

#[tokio::test]
async fn impossible_actions_are_refused_with_advice() {
    let served = Served::prepared("refused");
    let before = served.tree();
    let mut host = served.serve().await;
    for (arguments, code, advice) in [
        (manage("read", "nowhere.txt"), "not_found", "list the folder"),
        (manage("read", "sub"), "not_a_file", "name a file in it"),
        (manage("read", ""), "not_a_file", "is a folder"),
        (manage("read", "hello.txt/x"), "not_a_folder", "leads through a file"),
        (manage_with("append", "no/such.txt", "x"), "no_folder", "make it first"),
        (manage_with("replace", "no/such.txt", "x"), "no_folder", "make it first"),
        (manage_with("replace", "sub", "x"), "not_a_file", "is a folder"),
        (manage_with("append", "sub", "x"), "not_a_file", "is a folder"),
        (manage("delete", "sub"), "not_empty", "delete what it holds first"),
        (manage("delete", "."), "is_root", "the root folder itself cannot be deleted"),
        (manage_with("replace", "", "x"), "is_root", "cannot be"),
    ] {
        let told = host.refused(TOOL, &arguments, code).await.to_lowercase();
        assert!(told.contains(&advice.to_lowercase()), "{arguments}: {told}");
    }
    assert_eq!(served.tree(), before, "a refused call changes nothing");

    fs::create_dir(served.at("empty")).unwrap();
    assert_eq!(host.done(TOOL, &manage("delete", "empty")).await, "Deleted empty");
    assert!(!served.has("empty"));
}

#[tokio::test]
async fn binary_file_is_linked_as_a_resource() {
    let served = Served::prepared("bytes");
    for (era, flags, tool, arguments) in [
        (ERAS[0], &[][..], TOOL, manage("read", "bytes.bin")),
        (ERAS[1], &["--read-only"], "read_file", json!({"path": "bytes.bin"})),
    ] {
        let mut host = served.to(era, flags).await;
        let answer = host.call(tool, &arguments).await;
        assert_eq!(answer["result"]["isError"], true, "{answer}");
        assert_eq!(answer["result"]["_meta"]["dev.candor/error"]["code"], "not_text");
        let link = &answer["result"]["content"][1];
        assert_eq!((&link["type"], &link["name"]), (&json!("resource_link"), &json!("bytes.bin")));
        let read = host.result("resources/read", &json!({"uri": link["uri"]})).await;
        assert_eq!(read["contents"][0]["blob"], "/wD+");
    }
}

#[tokio::test]
async fn replace_is_atomic_for_readers() {
    let served = Served::empty("atomic");
    let contents = ["a".repeat(300_000), "b".repeat(200_000)];
    served.write("file.txt", &contents[0]);
    let mut host = served.serve().await;
    let (path, whole) = (served.at("file.txt"), contents.clone());
    let reading = Meanwhile::again_and_again(move || {
        let read = fs::read_to_string(&path).expect("the file exists at all times");
        assert!(whole.contains(&read), "{} bytes", read.len());
    });
    for round in 0..40 {
        let content = &contents[(round + 1) % 2];
        host.done(TOOL, &manage_with("replace", "file.txt", content)).await;
    }
    assert!(reading.end() > 40);
    assert_eq!(served.tree().paths(), ["file.txt"], "no draft is left");
}

#[cfg(unix)]
#[tokio::test]
async fn replace_keeps_permissions_and_respects_write_protection() {
    use std::os::unix::fs::PermissionsExt;
    let served = Served::prepared("permissions");
    let mode = |path: &str| fs::metadata(served.at(path)).unwrap().permissions().mode() & 0o7777;
    fs::set_permissions(served.at("hello.txt"), fs::Permissions::from_mode(0o750)).unwrap();
    let mut host = served.serve().await;
    host.done(TOOL, &manage_with("replace", "hello.txt", "#!/bin/sh")).await;
    assert_eq!((mode("hello.txt"), served.text("hello.txt").as_str()), (0o750, "#!/bin/sh"));

    fs::set_permissions(served.at("hello.txt"), fs::Permissions::from_mode(0o440)).unwrap();
    for action in ["append", "replace"] {
        let told = host.refused(TOOL, &manage_with(action, "hello.txt", "x"), "read_only").await;
        assert!(told.contains("write-protected"), "{told}");
    }
    assert_eq!((mode("hello.txt"), served.text("hello.txt").as_str()), (0o440, "#!/bin/sh"));
}

#[tokio::test]
async fn file_over_the_limit_is_neither_read_nor_written() {
    let served = Served::empty("too large");
    served.write("fits.txt", "x".repeat(100));
    served.write("large.txt", "x".repeat(101));
    let mut host = served.to(ERAS[1], &["--max-file", "100"]).await;
    assert_eq!(host.done(TOOL, &manage("read", "fits.txt")).await, "x".repeat(100));
    let both = "too large: 101 bytes, and 100 are allowed";
    let large = "y".repeat(101);
    for arguments in [
        manage("read", "large.txt"),
        manage_with("replace", "fits.txt", &large),
        manage_with("append", "new.txt", &large),
    ] {
        let told = host.refused(TOOL, &arguments, "too_large").await;
        assert!(told.contains(both), "{arguments}: {told}");
    }
    // The size after the append counts.
    let told = host.refused(TOOL, &manage_with("append", "fits.txt", "y"), "too_large").await;
    assert!(told.contains(both), "{told}");
    let copy = super::arrange("copy", "large.txt", "copy.txt");
    assert!(host.refused("move_files", &copy, "too_large").await.contains(both));
    assert_eq!(served.tree().paths(), ["fits.txt", "large.txt"]);
    assert_eq!(served.text("fits.txt"), "x".repeat(100));
}

#[cfg(unix)]
#[tokio::test]
async fn named_pipe_is_refused_without_blocking() {
    let served = Served::prepared("pipe");
    let made = std::process::Command::new("mkfifo").arg(served.at("pipe")).status().unwrap();
    assert!(made.success());
    let mut host = served.serve().await;
    for arguments in [manage("read", "pipe"), manage_with("append", "pipe", "x")] {
        let told = host.refused(TOOL, &arguments, "not_a_file").await;
        assert!(told.contains("a pipe"), "{told}");
    }
    assert_eq!(host.done(TOOL, &manage("read", "hello.txt")).await, "Hello, folder!");
}
