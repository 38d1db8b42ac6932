//! A folder of a hundred thousand names, listed with a window that holds a sixth of them.
#![cfg(unix)]

mod common;

use std::collections::HashMap;
use std::fs;

use candor_files::{Root, RootedPath, WINDOW};
use common::{Scratch, list};

const MANY: usize = 100_000;

fn fill(scratch: &Scratch) {
    for i in 0..MANY {
        // The order of the numbers is not that of the names.
        fs::File::create(scratch.inside(format!("{}", i * 7919))).unwrap();
    }
}

fn check_memory(root: &Root) {
    let (names, windows) = root.names_held();
    assert!(names <= WINDOW && windows <= 1, "{names} names in {windows} windows");
}

#[test]
fn names_of_a_large_folder_are_listed_once_during_changes() {
    let scratch = Scratch::new();
    fill(&scratch);
    let root = scratch.root();

    let mut after: Option<Vec<u8>> = None;
    let mut last: Option<RootedPath> = None;
    let mut count = 0;
    loop {
        let page = root.page(&RootedPath::root(), after.as_deref(), 1000).unwrap();
        for entry in page.entries {
            assert!(last.as_ref() < Some(&entry.place), "in order, so once");
            last = Some(entry.place);
            count += 1;
        }
        check_memory(&root);
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    assert_eq!(count, MANY);

    // Again, while others delete and create files, and list the folder in other pages.
    let mut seen: HashMap<Vec<u8>, u32> = HashMap::new();
    let mut after: Option<Vec<u8>> = None;
    let mut round = 0;
    loop {
        let page = root.page(&RootedPath::root(), after.as_deref(), 3000).unwrap();
        for entry in &page.entries {
            *seen.entry(entry.place.name().unwrap().to_vec()).or_default() += 1;
        }
        for i in (0..MANY).skip(round).step_by(997) {
            let _ = fs::remove_file(scratch.inside(format!("{}", i * 7919)));
            fs::File::create(scratch.inside(format!("{}-new", i * 7919))).unwrap();
        }
        if round % 5 == 0 {
            root.page(&RootedPath::root(), None, 10).unwrap();
        }
        assert!(root.names_held().0 <= 8 * WINDOW);
        round += 1;
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    for i in 0..MANY {
        let name = format!("{}", i * 7919);
        let times = seen.get(name.as_bytes()).copied().unwrap_or(0);
        let stayed = scratch.inside(&name).exists();
        assert!(times == 1 || (times == 0 && !stayed), "{name} was listed {times} times");
    }
}

#[test]
fn listing_includes_files_that_exist_at_its_start() {
    let scratch = Scratch::new();
    for i in 0..50 {
        scratch.file(&format!("{i:02}"), "");
    }
    let root = scratch.root();
    // A client reads a page, and the server stores the rest.
    let page = root.page(&RootedPath::root(), None, 10).unwrap();
    assert_eq!(root.names_held(), (50, 1));
    // A file is added, and then another client starts.
    scratch.file("15-new", "");
    assert_eq!(list(&root, &RootedPath::root(), 10).len(), 51);
    // The first client continues. It may miss the new file, but no older one.
    let rest = list_after(&root, page.next);
    assert!(rest == 40 || rest == 41);
    // A page that holds everything leaves nothing to store.
    let other = scratch.root();
    other.page(&RootedPath::root(), None, 100).unwrap();
    assert_eq!(other.names_held(), (0, 0));
}

fn list_after(root: &Root, mut after: Option<Vec<u8>>) -> usize {
    let mut count = 0;
    while after.is_some() {
        let page = root.page(&RootedPath::root(), after.as_deref(), 10).unwrap();
        count += page.entries.len();
        after = page.next;
    }
    count
}

#[test]
fn number_of_stored_windows_is_limited() {
    let scratch = Scratch::new();
    for folder in 0..20 {
        for i in 0..30 {
            scratch.file(&format!("{folder}/{i}"), "");
        }
    }
    let root = scratch.root();
    for folder in 0..20 {
        root.page(&common::place(&folder.to_string()), None, 10).unwrap();
    }
    assert_eq!(root.names_held(), (8 * 30, 8));
    for folder in 0..20 {
        assert_eq!(list(&root, &common::place(&folder.to_string()), 7).len(), 30);
    }
}

#[test]
fn cursor_may_be_any_name() {
    let scratch = Scratch::new();
    for name in ["a", "b", "c"] {
        scratch.file(name, "");
    }
    let root = scratch.root();
    let names = |after: &[u8]| {
        let page = root.page(&RootedPath::root(), Some(after), 10).unwrap();
        page.entries.iter().map(|e| e.place.to_string()).collect::<Vec<_>>().concat()
    };
    assert_eq!(names(b""), "abc");
    assert_eq!(names(b"a"), "bc");
    assert_eq!(names(b"aa/../\0"), "bc");
    assert_eq!(names(b"\xff"), "");
    assert_eq!(
        root.page(&RootedPath::root(), None, 0).unwrap().entries.len(),
        1,
        "a page moves on"
    );
}
