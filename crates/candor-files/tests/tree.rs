//! What is listed and looked at is what is there: a random tree with everything that a disk can hold, compared with
//! what `std` sees, and, for links, with what cap-std says of them.
#![cfg(unix)]

mod common;

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use candor_files::{Entry, FileId, Kind, Root, RootedPath};
use cap_std::ambient_authority;
use cap_std::fs::Dir;
use common::{Scratch, is_superuser, list, odd_names, path_of, place};
use proptest::prelude::*;

#[derive(Clone, Debug)]
enum Thing {
    File(usize),
    Folder,
    Link(Vec<u8>),
    Pipe,
    Socket,
}

fn target() -> impl Strategy<Value = Vec<u8>> {
    let odd = odd_names();
    let name = prop_oneof![
        4 => (0..odd.len()).prop_map(move |i| odd[i].clone()),
        2 => Just(b"..".to_vec()),
        1 => Just(b".".to_vec()),
        1 => Just(b"outside".to_vec()),
        1 => Just(b"inside".to_vec()),
    ];
    let relative = prop::collection::vec(name, 1..5).prop_map(|names| names.join(&b'/'));
    prop_oneof![8 => relative, 1 => Just(b"/".to_vec()), 1 => Just(b"/etc/passwd".to_vec())]
}

fn thing() -> impl Strategy<Value = Thing> {
    prop_oneof![
        4 => (0..5000_usize).prop_map(Thing::File),
        4 => Just(Thing::Folder),
        5 => target().prop_map(Thing::Link),
        1 => Just(Thing::Pipe),
        1 => Just(Thing::Socket),
    ]
}

/// Things, each with a number that says in which of the folders so far it is, and which name it has.
fn build(scratch: &Scratch, things: &[(usize, usize, Thing)]) {
    let names = odd_names();
    let mut folders = vec![PathBuf::new()];
    for (folder, name, thing) in things {
        let path =
            folders[folder % folders.len()].join(OsStr::from_bytes(&names[name % names.len()]));
        let full = scratch.inside(&path);
        // A name that is taken is taken.
        match thing {
            _ if fs::symlink_metadata(&full).is_ok() => {}
            Thing::File(size) => fs::write(full, vec![b'x'; *size]).unwrap(),
            Thing::Folder => {
                if fs::create_dir(&full).is_ok() {
                    folders.push(path);
                }
            }
            Thing::Link(target) => {
                std::os::unix::fs::symlink(OsStr::from_bytes(target), full).unwrap();
            }
            Thing::Pipe => scratch.pipe(path),
            // A socket's path must be short.
            Thing::Socket => drop(std::os::unix::net::UnixListener::bind(full)),
        }
    }
}

fn expected(root: &Path, dir: &Dir, at: &RootedPath) -> Entry {
    let path = path_of(at);
    let metadata = fs::symlink_metadata(root.join(&path)).unwrap();
    let kind = |t: fs::FileType| match t {
        t if t.is_dir() => Kind::Folder,
        t if t.is_fifo() => Kind::Pipe,
        t if t.is_socket() => Kind::Socket,
        _ => Kind::File,
    };
    let link = metadata.is_symlink();
    if !link {
        let kind = kind(metadata.file_type());
        let size = if kind == Kind::File { metadata.len() } else { 0 };
        let (modified, id) = (metadata.modified().ok(), id_of(&metadata));
        return Entry { place: at.clone(), kind, size, modified, link, id };
    }
    // Whether it leads anywhere is for cap-std to say; what is there then for std.
    if dir.metadata(&path).is_err() {
        let kind = Kind::DanglingLink;
        return Entry {
            place: at.clone(),
            kind,
            size: 0,
            modified: metadata.modified().ok(),
            link,
            id: id_of(&metadata),
        };
    }
    let metadata = fs::metadata(root.join(&path)).unwrap();
    let kind = kind(metadata.file_type());
    let size = if kind == Kind::File { metadata.len() } else { 0 };
    let (modified, id) = (metadata.modified().ok(), id_of(&metadata));
    Entry { place: at.clone(), kind, size, modified, link, id }
}

fn id_of(metadata: &fs::Metadata) -> Option<FileId> {
    let changed = (metadata.ctime(), metadata.ctime_nsec().try_into().unwrap());
    Some(FileId { device: metadata.dev(), inode: metadata.ino(), changed })
}

/// Lists everything, folders that are no links entered, and compares.
fn compare(scratch: &Scratch, root: &Root, limit: usize) -> usize {
    let path = scratch.inside("");
    let dir = Dir::open_ambient_dir(&path, ambient_authority()).unwrap();
    let mut folders = vec![RootedPath::root()];
    let mut seen = 0;
    while let Some(folder) = folders.pop() {
        let listed = list(root, &folder, limit);
        let mut names: Vec<Vec<u8>> = fs::read_dir(path.join(path_of(&folder)))
            .unwrap()
            .map(|e| e.unwrap().file_name().as_bytes().to_vec())
            .filter(|name| root.shows_hidden() || name[0] != b'.')
            .collect();
        names.sort();
        let wanted: Vec<RootedPath> = names.iter().map(|n| folder.join(n).unwrap()).collect();
        let got: Vec<RootedPath> = listed.iter().map(|e| e.place.clone()).collect();
        assert_eq!(got, wanted);
        for entry in listed {
            seen += 1;
            if root.shows_hidden() {
                assert_eq!(entry, expected(&path, &dir, &entry.place));
            }
            assert_eq!(
                root.entry(&entry.place).as_ref(),
                Ok(&entry),
                "one look sees what a list sees"
            );
            assert_eq!(
                RootedPath::from_uri_path(&entry.place.to_uri_path()).as_ref(),
                Ok(&entry.place)
            );
            assert!(root.shows_hidden() || !entry.place.is_hidden());
            match root.read(&entry.place, 10_000) {
                Ok(bytes) => {
                    assert_eq!(entry.kind, Kind::File);
                    assert_eq!(bytes, fs::read(path.join(path_of(&entry.place))).unwrap());
                }
                Err(error) => assert_ne!(entry.kind, Kind::File, "{error}"),
            }
            match (entry.kind, entry.link) {
                (Kind::Folder, false) => folders.push(entry.place),
                (Kind::Folder, true) => {
                    list(root, &entry.place, limit);
                }
                (Kind::DanglingLink, _) => {
                    assert!(root.page(&entry.place, None, 10).is_err());
                }
                _ => assert_eq!(
                    root.page(&entry.place, None, 10).unwrap_err().code(),
                    "not_a_folder"
                ),
            }
        }
    }
    seen
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn random_tree_matches_the_file_system(
        things in prop::collection::vec((0..1000_usize, 0..1000_usize, thing()), 0..80),
        limit in 1..8_usize,
    ) {
        let scratch = Scratch::new();
        build(&scratch, &things);
        let before = scratch.outside_now();
        compare(&scratch, &scratch.root().with_hidden(true), limit);
        compare(&scratch, &scratch.root(), limit);
        assert_eq!(scratch.outside_now(), before);
    }
}

#[test]
fn link_cycles_end() {
    let scratch = Scratch::new();
    scratch.file("a/b/file", "text");
    for (name, target) in [
        ("self", "self"),
        ("a/up", ".."),
        ("a/here", "."),
        ("a/b/top", "../.."),
        ("ping", "pong"),
        ("pong", "ping"),
    ] {
        scratch.link(name, target);
    }
    let root = scratch.root();
    compare(&scratch, &root.clone().with_hidden(true), 3);
    for lost in ["self", "ping", "pong"] {
        let entry = root.entry(&place(lost)).unwrap();
        assert_eq!((entry.kind, entry.link), (Kind::DanglingLink, true));
        assert_eq!(root.read(&place(lost), 10).unwrap_err().code(), "leads_nowhere");
    }
    let round =
        place(&"a/up/".repeat(20)).join("a").unwrap().join("b").unwrap().join("file").unwrap();
    assert_eq!(root.read_text(&round, 10).unwrap(), "text");
    let too_often = place(&"a/up/".repeat(50));
    assert_eq!(root.entry(&too_often).unwrap_err().code(), "leads_nowhere");
    let found = root
        .search(&RootedPath::root(), &candor_files::Query::default(), &Default::default(), &|| {
            false
        })
        .unwrap();
    assert!(found.complete);
    assert_eq!(found.matches.len(), 9, "every name once");
}

#[test]
fn hidden_files_are_unreachable_by_any_path() {
    let scratch = Scratch::new();
    scratch.file(".env", "key");
    scratch.file(".git/config", "key");
    scratch.link("env", ".env");
    scratch.link("config", ".git/config");
    scratch.link("git", ".git");
    let root = scratch.root();
    for hidden in [".env", ".git", ".git/config", "git/config"] {
        let error = root.entry(&place(hidden)).unwrap_err();
        assert!(matches!(error.code(), "not_found" | "leads_nowhere"), "{error}");
    }
    for link in ["env", "config", "git"] {
        assert_eq!(root.entry(&place(link)).unwrap().kind, Kind::DanglingLink);
        assert!(root.read(&place(link), 10).is_err());
        assert!(root.replace(&place(link), b"new").is_err());
    }
    assert_eq!(list(&root, &RootedPath::root(), 10).len(), 3);
    let all = root.with_hidden(true);
    assert_eq!(all.read_text(&place("git/config"), 10).unwrap(), "key");
    assert_eq!(list(&all, &RootedPath::root(), 10).len(), 5);
}

#[test]
fn unreadable_entries_are_still_listed() {
    if is_superuser() {
        return; // permissions do not apply
    }
    let scratch = Scratch::new();
    scratch.file("closed/file", "text");
    scratch.file("seen/file", "text");
    scratch.folder("seen/folder");
    scratch.file("unreadable", "text");
    let forbid = |path: &str, mode| {
        fs::set_permissions(scratch.inside(path), fs::Permissions::from_mode(mode)).unwrap();
    };
    forbid("closed", 0o000);
    forbid("seen", 0o400);
    forbid("unreadable", 0o000);
    let root = scratch.root();
    let top = list(&root, &RootedPath::root(), 2);
    assert_eq!(
        top.iter().map(|e| e.kind).collect::<Vec<_>>(),
        [Kind::Folder, Kind::Folder, Kind::File]
    );
    assert_eq!(root.page(&place("closed"), None, 10).unwrap_err().code(), "denied");
    let seen = list(&root, &place("seen"), 1);
    assert_eq!(
        seen.iter().map(|e| (e.kind, e.size)).collect::<Vec<_>>(),
        [(Kind::File, 0), (Kind::Folder, 0)]
    );
    assert_eq!(root.entry(&place("seen/file")).unwrap_err().code(), "denied");
    assert_eq!(root.read(&place("unreadable"), 10).unwrap_err().code(), "denied");
    assert_eq!(root.create(&place("seen/new"), b"").unwrap_err().code(), "denied");
    forbid("seen", 0o500);
    assert_eq!(root.replace(&place("seen/file"), b"new").unwrap_err().code(), "denied");
    assert_eq!(scratch.text("seen/file"), "text");
}
