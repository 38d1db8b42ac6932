//! Every operation against every way out. What is outside is neither read nor listed nor changed nor made.
#![cfg(unix)]

mod common;

use candor_files::{Bounds, FileError, Kind, Overwrite, Query, Root, RootedPath, WriteResult};
use common::{SECRET, Scratch, place};

/// Links that lead out, in all the ways that links can.
fn with_links() -> Scratch {
    let scratch = Scratch::new();
    scratch.file("plain", "plain");
    scratch.folder("folder/deep");
    scratch.link("absolute", scratch.outside(""));
    scratch.link("relative", "../outside");
    scratch.link("folder/deep/up", "../../../outside");
    scratch.link("chain", "chain2");
    scratch.link("chain2", "folder/deep/up");
    scratch.link("parent", "..");
    scratch.link("winding", "folder/../../outside/folder");
    scratch.link("file", "../outside/secret");
    scratch.link("file-absolute", scratch.outside("secret"));
    scratch.link("new", "../outside/new");
    scratch.link("through", "relative/secret");
    // Back in again, but by way of outside.
    scratch.link("round", "../inside/plain");
    scratch.link("root", "/");
    scratch.link("proc", "/proc/self/cwd");
    scratch
}

const ENDS: &[&str] = &["file", "file-absolute", "new", "through", "round"];
const FOLDERS: &[&str] = &[
    "absolute",
    "relative",
    "folder/deep/up",
    "chain",
    "chain2",
    "parent",
    "winding",
    "root",
    "proc",
];

fn ways_out() -> Vec<RootedPath> {
    let beneath = FOLDERS.iter().flat_map(|f| {
        ["", "/secret", "/folder", "/folder/secret", "/outside/secret", "/new", "/inside/plain"]
            .map(|rest| place(&format!("{f}{rest}")))
    });
    beneath.chain(ENDS.iter().map(|e| place(e))).collect()
}

fn refused<T: std::fmt::Debug>(
    scratch: &Scratch,
    result: Result<T, FileError>,
    what: &str,
    at: &RootedPath,
) {
    let error = result.expect_err(&format!("{what} of {at} must fail"));
    let expected =
        ["leads_out", "leads_nowhere", "exists", "not_a_folder", "not_found", "not_a_file"];
    assert!(expected.contains(&error.code()), "{what} {at}: {error:?}");
    let text = error.to_string();
    assert!(!text.contains(scratch.base().to_str().unwrap()), "{text}");
    assert!(!text.contains(SECRET) && !text.contains("os error"), "{text}");
}

#[test]
fn no_operation_follows_a_link_out_of_the_root() {
    let scratch = with_links();
    let before = scratch.outside_now();
    let root = scratch.root().with_hidden(true);
    let plain = place("plain");
    for out in ways_out() {
        let no = |what: &str, result: Result<(), FileError>| refused(&scratch, result, what, &out);
        if let Ok(entry) = root.entry(&out) {
            assert_eq!(entry.kind, Kind::DanglingLink, "{out}");
            assert_eq!(entry.size, 0);
        }
        no("page", root.page(&out, None, 10).map(drop));
        no("page after", root.page(&out, Some(b"a"), 10).map(drop));
        no("read", root.read(&out, 1000).map(drop));
        no("read_text", root.read_text(&out, 1000).map(drop));
        no("head", root.head(&out, 1000).map(drop));
        no("replace", root.replace(&out, b"bad").map(drop));
        no("create", root.create(&out, b"bad"));
        no("append", root.append(&out, b"bad").map(drop));
        no("make_folder", root.make_folder(&out).map(drop));
        for overwrite in [Overwrite::No, Overwrite::Yes] {
            no("copy from", root.copy(&out, &place("copied"), overwrite, 1000).map(drop));
            no("copy to", root.copy(&plain, &out, overwrite, 1000).map(drop));
        }
        no("rename to", root.rename(&plain, &out, Overwrite::No).map(drop));
        if out.names().count() > 1 && !out.to_string().ends_with("deep/up") {
            no("delete", root.delete(&out));
            no("rename from", root.rename(&out, &place("moved"), Overwrite::No).map(drop));
            no("rename to", root.rename(&plain, &out, Overwrite::Yes).map(drop));
        }
        let query = Query { text: Some("secret".to_owned()), ..Query::default() };
        if let Ok(found) = root.search(&out, &query, &Bounds::default(), &|| false) {
            assert!(found.matches.is_empty());
        }
    }
    let query = Query { text: Some("secret".to_owned()), ..Query::default() };
    let found = root.search(&RootedPath::root(), &query, &Bounds::default(), &|| false).unwrap();
    assert!(found.complete && found.matches.is_empty());
    assert_eq!(scratch.text("plain"), "plain");
    assert_eq!(scratch.outside_now(), before);
}

#[test]
fn link_itself_can_be_moved_and_deleted() {
    let scratch = with_links();
    let before = scratch.outside_now();
    let root = scratch.root();
    for link in ENDS.iter().chain(FOLDERS) {
        let moved = place("moved");
        assert_eq!(root.rename(&place(link), &moved, Overwrite::No), Ok(WriteResult::Created));
        assert_eq!(root.entry(&moved).unwrap().kind, Kind::DanglingLink);
        root.delete(&moved).unwrap();
    }
    // A rename replaces the link, not its target.
    scratch.link("link", "../outside/secret");
    assert_eq!(
        root.rename(&place("plain"), &place("link"), Overwrite::Yes),
        Ok(WriteResult::Existed)
    );
    assert_eq!(scratch.text("link"), "plain");
    assert_eq!(scratch.names(""), ["folder", "link"]);
    assert_eq!(scratch.outside_now(), before);
}

#[test]
fn link_with_too_many_steps_leads_nowhere() {
    let scratch = Scratch::new();
    let deep = vec!["a"; 100].join("/");
    scratch.folder(&deep);
    let winding = |times: usize| "../a/".repeat(times);
    scratch.link(&format!("{deep}/short"), winding(100));
    scratch.link(&format!("{deep}/long"), winding(400));
    let root = scratch.root();
    let at = |name: &str| place(&format!("{deep}/{name}"));
    assert_eq!(root.entry(&at("short")).unwrap().kind, Kind::Folder);
    assert_eq!(root.page(&at("long"), None, 10).unwrap_err().code(), "leads_nowhere");
    assert_eq!(root.entry(&at("long")).unwrap().kind, Kind::DanglingLink);
}

#[test]
fn path_that_leaves_the_root_does_not_parse() {
    for text in
        ["..", "../outside/secret", "a/../../outside", "/etc/passwd", "a/..", "a\0/../b", "./../x"]
    {
        assert!(RootedPath::parse(text).is_err(), "{text:?}");
    }
    for text in [
        "..%2foutside",
        "%2e%2e/outside",
        "%2E%2e",
        "a/%2e%2e/b",
        "%2fetc%2fpasswd",
        "a%00b",
        "a%5c../%2e.",
    ] {
        assert!(RootedPath::from_uri_path(text).is_err(), "{text:?}");
    }
    // A path that is encoded twice is a name that does not exist.
    let scratch = Scratch::new();
    let twice = RootedPath::from_uri_path("%252e%252e/outside/secret").unwrap();
    assert_eq!(scratch.root().read(&twice, 1000).unwrap_err().code(), "not_found");
}

#[test]
fn root_itself_cannot_be_changed() {
    let scratch = Scratch::new();
    scratch.file("file", "text");
    scratch.folder("folder");
    scratch.link("folder/top", "..");
    let root = scratch.root();
    let is_root = |result: Result<(), FileError>| assert_eq!(result, Err(FileError::IsRoot));
    is_root(root.delete(&RootedPath::root()));
    is_root(root.replace(&RootedPath::root(), b"").map(drop));
    is_root(root.create(&RootedPath::root(), b""));
    is_root(root.append(&RootedPath::root(), b"").map(drop));
    is_root(root.rename(&RootedPath::root(), &place("x"), Overwrite::Yes).map(drop));
    is_root(root.rename(&place("file"), &RootedPath::root(), Overwrite::Yes).map(drop));
    is_root(root.copy(&place("file"), &RootedPath::root(), Overwrite::Yes, 100).map(drop));
    is_root(root.replace(&place("folder/top"), b"").map(drop));
    assert_eq!(
        root.copy(&RootedPath::root(), &place("x"), Overwrite::No, 100).unwrap_err().code(),
        "not_a_file"
    );
    assert_eq!(root.read(&RootedPath::root(), 10).unwrap_err().code(), "not_a_file");
    assert_eq!(root.make_folder(&RootedPath::root()), Ok(WriteResult::Existed));
    assert_eq!(root.entry(&RootedPath::root()).unwrap().kind, Kind::Folder);
    assert_eq!(scratch.names(""), ["file", "folder"]);
}

#[test]
fn root_stays_the_folder_that_was_opened() {
    let scratch = Scratch::new();
    scratch.file("file", "text");
    std::os::unix::fs::symlink(scratch.inside(""), scratch.base().join("way")).unwrap();
    let root = Root::open(scratch.base().join("way")).unwrap();
    assert_eq!(root.path(), scratch.inside("").canonicalize().unwrap());
    // The link that led to it now leads elsewhere.
    std::fs::remove_file(scratch.base().join("way")).unwrap();
    std::os::unix::fs::symlink(scratch.outside(""), scratch.base().join("way")).unwrap();
    assert_eq!(root.read_text(&place("file"), 10).unwrap(), "text");
    assert!(root.read(&place("secret"), 1000).is_err());
    assert!(Root::open(scratch.inside("file")).is_err(), "a file is no root");
    assert!(Root::open(scratch.inside("missing")).is_err());
}
