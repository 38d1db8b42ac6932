//! What each operation does when all is well, and what it says when not.
#![cfg(unix)]

mod common;

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use candor_files::{FileError, Kind, Overwrite, RootedPath, WriteResult};
use common::{Scratch, is_superuser, place};

fn mode(scratch: &Scratch, path: &str) -> u32 {
    fs::metadata(scratch.inside(path)).unwrap().mode() & 0o7777
}

fn set_mode(scratch: &Scratch, path: &str, mode: u32) {
    fs::set_permissions(scratch.inside(path), fs::Permissions::from_mode(mode)).unwrap();
}

fn code<T: std::fmt::Debug>(result: Result<T, FileError>) -> &'static str {
    result.unwrap_err().code()
}

#[test]
fn read_of_a_special_or_oversized_file_is_refused() {
    let scratch = Scratch::new();
    scratch.file("file", "0123456789");
    scratch.file("bytes", b"\xff\xfe");
    scratch.file("nul", b"a\0b");
    scratch.pipe("pipe");
    let _socket = std::os::unix::net::UnixListener::bind(scratch.inside("socket")).unwrap();
    scratch.link("to-pipe", "pipe");
    scratch.link("to-file", "file");
    let root = scratch.root();
    assert_eq!(root.read(&place("to-file"), 10).unwrap(), b"0123456789");
    let error = root.read(&place("file"), 9).unwrap_err();
    assert_eq!(error, FileError::TooLarge { place: place("file"), size: 10, limit: 9 });
    assert!(error.to_string().contains("10 bytes") && error.to_string().contains('9'));
    assert_eq!(root.head(&place("file"), 4).unwrap(), b"0123");
    assert_eq!(root.head(&place("file"), 40).unwrap().len(), 10);
    assert_eq!(code(root.read_text(&place("bytes"), 10)), "not_text");
    assert_eq!(code(root.read_text(&place("nul"), 10)), "not_text");
    for other in ["pipe", "to-pipe", "socket"] {
        assert_eq!(code(root.read(&place(other), 10)), "not_a_file");
        assert_eq!(code(root.head(&place(other), 10)), "not_a_file");
        assert_eq!(code(root.append(&place(other), b"x")), "not_a_file");
        assert_eq!(code(root.replace(&place(other), b"x")), "not_a_file");
        assert_eq!(code(root.copy(&place(other), &place("new"), Overwrite::No, 10)), "not_a_file");
        assert_eq!(
            code(root.copy(&place("file"), &place(other), Overwrite::Yes, 10)),
            "not_a_file"
        );
    }
    assert_eq!(code(root.read(&place("file/x"), 10)), "not_a_folder");
    assert_eq!(code(root.read(&place("none/x"), 10)), "not_found");
    assert_eq!(root.media_type(&root.entry(&place("pipe")).unwrap(), 512), "inode/fifo");
    assert_eq!(root.media_type(&root.entry(&place("file")).unwrap(), 512), "text/plain");
}

#[test]
fn replace_keeps_mode_and_links() {
    let scratch = Scratch::new();
    let root = scratch.root();
    assert_eq!(root.replace(&place("file"), b"one"), Ok(WriteResult::Created));
    set_mode(&scratch, "file", 0o4751);
    assert_eq!(root.replace(&place("file"), b"two"), Ok(WriteResult::Existed));
    assert_eq!((scratch.text("file"), mode(&scratch, "file")), ("two".to_owned(), 0o751));
    // Through a link, the target is replaced, and the link stays.
    scratch.folder("folder");
    scratch.link("folder/link", "../file");
    scratch.link("to-new", "folder/new");
    assert_eq!(root.replace(&place("folder/link"), b"three"), Ok(WriteResult::Existed));
    assert_eq!(root.replace(&place("to-new"), b"new"), Ok(WriteResult::Created));
    assert_eq!((scratch.text("file"), scratch.text("folder/new")), ("three".into(), "new".into()));
    assert!(fs::symlink_metadata(scratch.inside("folder/link")).unwrap().is_symlink());
    // A read-only file stays.
    set_mode(&scratch, "file", 0o444);
    assert_eq!(code(root.replace(&place("file"), b"x")), "read_only");
    assert_eq!(code(root.append(&place("file"), b"x")), "read_only");
    assert_eq!(
        code(root.rename(&place("folder/new"), &place("file"), Overwrite::Yes)),
        "read_only"
    );
    assert_eq!(
        code(root.copy(&place("folder/new"), &place("file"), Overwrite::Yes, 10)),
        "read_only"
    );
    assert_eq!(code(root.replace(&place("folder"), b"x")), "not_a_file");
    assert_eq!(code(root.replace(&place("none/file"), b"x")), "no_folder");
    assert_eq!(code(root.create(&place(".hidden"), b"x")), "not_found");
    assert_eq!(scratch.names(""), ["file", "folder", "to-new"]);
    assert_eq!(scratch.names("folder"), ["link", "new"]);
}

#[test]
fn create_never_replaces_and_append_loses_nothing() {
    let scratch = Scratch::new();
    scratch.link("dangling", "nothing");
    let root = scratch.root();
    root.create(&place("file"), b"one").unwrap();
    assert_eq!(code(root.create(&place("file"), b"two")), "exists");
    assert_eq!(code(root.create(&place("dangling"), b"two")), "exists");
    assert_eq!(root.append(&place("file"), b", two"), Ok(WriteResult::Existed));
    assert_eq!(root.append(&place("log"), b"first"), Ok(WriteResult::Created));
    assert_eq!((scratch.text("file"), scratch.text("log")), ("one, two".into(), "first".into()));
    assert_eq!(scratch.names(""), ["dangling", "file", "log"]);
    // Many at once: one creates the file, and no append is lost.
    let made: usize = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..8)
            .map(|_| {
                scope.spawn(|| {
                    (root.create(&place("one"), b"").is_ok(), root.append(&place("all"), b"line\n"))
                })
            })
            .collect();
        workers.into_iter().map(|w| usize::from(w.join().unwrap().0)).sum()
    });
    assert_eq!((made, scratch.text("all")), (1, "line\n".repeat(8)));
}

#[test]
fn delete_refuses_a_folder_that_is_not_empty() {
    let scratch = Scratch::new();
    scratch.file("folder/.hidden", "x");
    scratch.folder("empty");
    scratch.link("link", "folder");
    scratch.pipe("pipe");
    let root = scratch.root();
    let error = root.delete(&place("folder")).unwrap_err();
    assert_eq!(error.code(), "not_empty");
    assert!(error.to_string().contains("hidden"));
    for gone in ["empty", "link", "pipe"] {
        root.delete(&place(gone)).unwrap();
        assert_eq!(code(root.delete(&place(gone))), "not_found");
    }
    assert_eq!(scratch.names(""), ["folder"]);
}

#[test]
fn make_folder_creates_all_parents_or_nothing() {
    let scratch = Scratch::new();
    scratch.file("file", "");
    scratch.folder("real");
    scratch.link("link", "real");
    let root = scratch.root();
    assert_eq!(root.make_folder(&place("a/b/c")), Ok(WriteResult::Created));
    assert_eq!(root.make_folder(&place("a/b/c")), Ok(WriteResult::Existed));
    assert_eq!(root.make_folder(&place("a/b")), Ok(WriteResult::Existed));
    assert_eq!(root.make_folder(&place("link/x/y")), Ok(WriteResult::Created));
    assert!(scratch.inside("real/x/y").is_dir());
    assert_eq!(code(root.make_folder(&place("file"))), "not_a_folder");
    assert_eq!(code(root.make_folder(&place("file/x"))), "not_a_folder");
    assert_eq!(code(root.make_folder(&place("new/.hidden"))), "not_found");
    assert!(!scratch.inside("new").exists(), "all or nothing");
}

#[test]
fn rename_replaces_only_files_and_only_if_allowed() {
    let scratch = Scratch::new();
    scratch.file("a/file", "a");
    scratch.file("b", "b");
    scratch.folder("c");
    scratch.link("way", "a");
    let root = scratch.root();
    let moved = |from: &str, to: &str, overwrite| root.rename(&place(from), &place(to), overwrite);
    assert_eq!(code(moved("b", "a/file", Overwrite::No)), "exists");
    assert_eq!(code(moved("b", "c", Overwrite::Yes)), "exists", "no folder is replaced");
    assert_eq!(code(moved("a", "c", Overwrite::Yes)), "exists", "not even by a folder");
    assert_eq!(code(moved("c", "b", Overwrite::Yes)), "not_a_folder");
    assert_eq!(code(moved("a", "a/x", Overwrite::No)), "into_itself");
    assert_eq!(code(moved("a", "way/x", Overwrite::Yes)), "into_itself", "not by a link either");
    assert_eq!(code(moved("none", "x", Overwrite::No)), "not_found");
    assert_eq!(code(moved("b", "none/x", Overwrite::No)), "no_folder");
    assert_eq!(moved("b", "way/file", Overwrite::Yes), Ok(WriteResult::Existed));
    assert_eq!(moved("a", "c/a", Overwrite::No), Ok(WriteResult::Created));
    assert_eq!(scratch.text("c/a/file"), "b");
    assert_eq!(scratch.names(""), ["c", "way"]);
    assert_eq!(root.entry(&place("way")).unwrap().kind, Kind::DanglingLink);
    // Many renames to one name: one succeeds.
    for i in 0..8 {
        scratch.file(&format!("{i}"), "");
    }
    let won = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..8)
            .map(|i| scope.spawn(move || moved(&i.to_string(), "target", Overwrite::No).is_ok()))
            .collect();
        workers.into_iter().map(|w| usize::from(w.join().unwrap())).sum::<usize>()
    });
    assert_eq!((won, scratch.names("").len()), (1, 2 + 7 + 1));
}

#[test]
fn copy_keeps_mode_and_replaces_only_if_allowed() {
    let scratch = Scratch::new();
    scratch.file("file", "0123456789");
    scratch.file("other", "other");
    scratch.folder("folder");
    scratch.link("link", "other");
    set_mode(&scratch, "file", 0o640);
    let root = scratch.root();
    let copied =
        |from: &str, to: &str, overwrite| root.copy(&place(from), &place(to), overwrite, 10);
    assert_eq!(copied("file", "folder/copy", Overwrite::No), Ok(WriteResult::Created));
    assert_eq!(
        (scratch.text("folder/copy"), mode(&scratch, "folder/copy")),
        ("0123456789".into(), 0o640)
    );
    assert_eq!(code(copied("file", "folder/copy", Overwrite::No)), "exists");
    assert_eq!(code(copied("file", "link", Overwrite::No)), "exists");
    assert_eq!(copied("file", "link", Overwrite::Yes), Ok(WriteResult::Existed));
    assert_eq!(scratch.text("other"), "0123456789");
    assert_eq!(code(copied("folder", "x", Overwrite::No)), "not_a_file");
    assert_eq!(code(copied("file", "folder", Overwrite::Yes)), "not_a_file");
    assert_eq!(copied("file", "file", Overwrite::Yes), Ok(WriteResult::Existed));
    assert_eq!(code(root.copy(&place("file"), &place("x"), Overwrite::No, 9)), "too_large");
    assert_eq!(scratch.names(""), ["file", "folder", "link", "other"]);
    assert_eq!(scratch.names("folder"), ["copy"]);
}

#[test]
fn reader_sees_the_old_or_the_new_file() {
    let scratch = Scratch::new();
    let root = scratch.root();
    let content = |i: u8| vec![b'a' + i % 26; 100_000 + usize::from(i)];
    root.replace(&place("file"), &content(0)).unwrap();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut reads = 0;
            while !done.load(Ordering::Relaxed) || reads == 0 {
                let bytes = fs::read(scratch.inside("file")).unwrap();
                let first = bytes[0];
                assert!(bytes.len() >= 100_000 && bytes.iter().all(|b| *b == first));
                assert_eq!(usize::from(first - b'a'), (bytes.len() - 100_000) % 26);
                reads += 1;
            }
        });
        for i in 0..200 {
            root.replace(&place("file"), &content(i)).unwrap();
        }
        done.store(true, Ordering::Relaxed);
        reader.join().unwrap();
    });
    assert_eq!(scratch.names(""), ["file"]);
}

/// The disk is full after 4 KiB: a limit on the size of files does the same. It holds for a process, so this is one of
/// its own.
#[test]
fn failed_write_changes_nothing() {
    let scratch = Scratch::new();
    scratch.file("file", "old");
    scratch.file("large", "x".repeat(100_000));
    let limited = r#"trap "" XFSZ; ulimit -f 4; exec "$0" "$@""#;
    let output = Command::new("sh")
        .args(["-c", limited])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "write_beyond_the_file_size_limit_fails", "--ignored", "--nocapture"])
        .env("CANDOR_FILES_SCRATCH", scratch.inside(""))
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("1 passed"), "{output:?}");
    assert_eq!(scratch.text("file"), "old");
    assert_eq!(scratch.names(""), ["file", "large"], "and no draft");
}

#[test]
#[ignore = "is run by failed_write_changes_nothing"]
fn write_beyond_the_file_size_limit_fails() {
    let path = std::env::var("CANDOR_FILES_SCRATCH").unwrap();
    let root = candor_files::Root::open(&path).unwrap();
    let much = vec![b'x'; 100_000];
    for result in [
        root.replace(&place("file"), &much).map(drop),
        root.create(&place("new"), &much),
        root.copy(&place("large"), &place("file"), Overwrite::Yes, u64::MAX).map(drop),
        root.copy(&place("large"), &place("new"), Overwrite::No, u64::MAX).map(drop),
    ] {
        let error = result.unwrap_err();
        assert_eq!(error.code(), "io");
        assert!(!error.to_string().contains(&path), "{error}");
    }
}

#[test]
fn error_hides_the_path_of_the_root() {
    let scratch = Scratch::new();
    scratch.file("folder/file", "x");
    let root = scratch.root();
    let long = RootedPath::root().join("x".repeat(300)).unwrap();
    for error in [
        root.read(&place("none"), 1).unwrap_err(),
        root.read(&place("folder"), 1).unwrap_err(),
        root.page(&place("folder/file"), None, 1).unwrap_err(),
        root.create(&long, b"").unwrap_err(),
        root.entry(&long).unwrap_err(),
    ] {
        let text = error.to_string();
        assert!(text.contains('`') && !text.contains("os error"), "{text}");
        assert!(!text.contains(scratch.base().to_str().unwrap()), "{text}");
    }
}

#[test]
fn file_that_its_owner_may_not_write_is_not_replaced() {
    if is_superuser() {
        return;
    }
    let scratch = Scratch::new();
    scratch.file("file", "x");
    // Only the group may write, not the owner.
    set_mode(&scratch, "file", 0o420);
    assert_eq!(code(scratch.root().replace(&place("file"), b"new")), "denied");
    assert_eq!(scratch.names(""), ["file"]);
}

/// A preview has the error of the operation, or reports the same lost file.
#[test]
fn preview_result_matches_the_operation() {
    let scratch = || {
        let scratch = Scratch::new();
        scratch.file("file", "0123456789");
        scratch.file("other", "abc");
        scratch.file("folder/inner", "x");
        scratch.file("secret/.hidden", "x");
        fs::create_dir(scratch.inside("empty")).unwrap();
        scratch.file("protected", "p");
        set_mode(&scratch, "protected", 0o444);
        scratch.pipe("pipe");
        scratch.link("link", "file");
        scratch.link("dangling", "gone");
        scratch.link("out", "/etc/hostname");
        scratch
    };
    let names = [
        "",
        "file",
        "other",
        "folder",
        "secret",
        "empty",
        "protected",
        "pipe",
        "link",
        "dangling",
        "out",
        "new",
        "no/new",
        "file/new",
        ".hidden",
        "folder/inner",
        "folder/folder",
    ];
    let told = |error: FileError| (error.code(), error.to_string());
    let mut both = [0; 2];
    let mut count = |is_ok: bool| both[usize::from(is_ok)] += 1;
    // A new folder after each success. A failure changes nothing.
    let mut here = scratch();
    for name in names {
        let at = place(name);
        let (root, doing) = (scratch(), scratch());
        let (root, doing) = (root.root(), doing.root());
        let foreseen = root.would_delete(&at).map(|_| ()).map_err(told);
        assert_eq!(foreseen, doing.delete(&at).map_err(told), "delete {name}");
        count(foreseen.is_ok());

        let replaced = scratch();
        let foreseen = root.would_write(&at).map(|there| there.is_some()).map_err(told);
        let done = replaced.root().replace(&at, b"new");
        let done = done.map(|outcome| outcome == WriteResult::Existed).map_err(told);
        assert_eq!(foreseen, done, "replace {name}");
        count(foreseen.is_ok());
        let appended = scratch();
        let done = appended.root().append(&at, b"new");
        let done = done.map(|outcome| outcome == WriteResult::Existed).map_err(told);
        assert_eq!(foreseen, done, "append {name}");

        for to in names {
            for overwrite in [Overwrite::No, Overwrite::Yes] {
                let (from, to) = (place(name), place(to));
                let outcome = |lost: Option<candor_files::Entry>| match lost {
                    Some(_) => WriteResult::Existed,
                    None => WriteResult::Created,
                };
                let words = format!("{name} to {to}, {overwrite:?}");
                let foreseen = here.root().would_rename(&from, &to, overwrite);
                let foreseen = foreseen.map(|(_, lost)| outcome(lost)).map_err(told);
                let done = here.root().rename(&from, &to, overwrite).map_err(told);
                assert_eq!(foreseen, done, "move {words}");
                count(foreseen.is_ok());
                if foreseen.is_ok() {
                    here = scratch();
                }
                let foreseen = here.root().would_copy(&from, &to, overwrite, 9);
                let foreseen = foreseen.map(|(_, lost)| outcome(lost)).map_err(told);
                let done = here.root().copy(&from, &to, overwrite, 9).map_err(told);
                assert_eq!(foreseen, done, "copy {words}");
                count(foreseen.is_ok());
                if foreseen.is_ok() {
                    here = scratch();
                }
            }
        }
    }
    assert!(both.iter().all(|times| *times > 20), "{both:?}");
}
