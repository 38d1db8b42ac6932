//! Names and lines, found beneath a place, and not for ever.
#![cfg(unix)]

mod common;

use std::cell::Cell;
use std::time::Instant;

use candor_files::{Bounds, Glob, Query, Root, RootedPath, SearchResult, Stop};
use common::{Scratch, place};

fn tree() -> Scratch {
    let scratch = Scratch::new();
    scratch.file("a.rs", "fn main() {}\nlet needle = 1;\n");
    scratch.file("src/b.rs", "no\nNeedle\nneedle needle\n");
    scratch.file("src/deep/c.txt", "needle");
    scratch.file("src/deep/image", b"needle\0");
    scratch.file("src/deep/large.txt", "needle ".repeat(1000));
    scratch.file(".hidden/d.rs", "needle");
    scratch.link("link.rs", "a.rs");
    scratch.link("src/up", "..");
    scratch
}

fn named(glob: &str) -> Query {
    Query { name: Some(Glob::parse(glob).unwrap()), ..Query::default() }
}

fn with_text(text: &str) -> Query {
    Query { text: Some(text.to_owned()), ..Query::default() }
}

fn search(root: &Root, at: &RootedPath, query: &Query, bounds: &Bounds) -> SearchResult {
    root.search(at, query, bounds, &|| false).unwrap()
}

fn lines(found: &SearchResult) -> Vec<String> {
    let line = |l: Option<u64>| l.map_or_else(String::new, |l| format!(":{l}"));
    found.matches.iter().map(|m| format!("{}{}", m.entry.place, line(m.line))).collect()
}

#[test]
fn search_finds_names_in_order() {
    let scratch = tree();
    let root = scratch.root();
    let all = Bounds::default();
    let found = search(&root, &RootedPath::root(), &named("*.rs"), &all);
    assert_eq!(lines(&found), ["a.rs", "link.rs", "src/b.rs"]);
    assert!(found.complete && found.stopped.is_none());
    assert_eq!(lines(&search(&root, &place("src"), &named("deep/*"), &all)).len(), 3);
    assert_eq!(
        lines(&search(&root, &RootedPath::root(), &named("**/c.txt"), &all)),
        ["src/deep/c.txt"]
    );
    assert_eq!(lines(&search(&root, &place("src/b.rs"), &named("*.rs"), &all)), ["src/b.rs"]);
    let hidden = root.clone().with_hidden(true);
    assert_eq!(
        lines(&search(&hidden, &RootedPath::root(), &named("d.rs"), &all)),
        [".hidden/d.rs"]
    );
    assert_eq!(
        root.search(&place("none"), &named("*"), &all, &|| false).unwrap_err().code(),
        "not_found"
    );
}

#[test]
fn search_finds_lines_in_text_files_only() {
    let scratch = tree();
    let root = scratch.root();
    let bounds = Bounds { file_bytes: 5000, ..Bounds::default() };
    let found = search(&root, &RootedPath::root(), &with_text("needle"), &bounds);
    assert_eq!(lines(&found), ["a.rs:2", "src/b.rs:3", "src/deep/c.txt:1"]);
    assert_eq!(found.matches[0].excerpt.as_deref(), Some("let needle = 1;"));
    assert_eq!((found.complete, found.skipped), (true, 2), "no text, and too large");
    let query = Query { ignore_case: true, ..with_text("NEEDLE") };
    assert_eq!(
        lines(&search(&root, &place("src/b.rs"), &query, &bounds)),
        ["src/b.rs:2", "src/b.rs:3"]
    );
    let query = Query { text: Some("needle".to_owned()), ..named("src/**") };
    assert_eq!(
        lines(&search(&root, &RootedPath::root(), &query, &bounds)),
        ["src/b.rs:3", "src/deep/c.txt:1"]
    );
    // A link that is the start of the search is followed.
    assert_eq!(
        lines(&search(&root, &place("link.rs"), &with_text("needle"), &bounds)),
        ["link.rs:2"]
    );
}

#[test]
fn stopped_search_reports_its_limit() {
    let scratch = tree();
    let root = scratch.root();
    let all = Bounds::default();
    let stopped = |query: &Query, bounds: Bounds| {
        let found = search(&root, &RootedPath::root(), query, &bounds);
        assert_eq!(found.complete, found.stopped.is_none());
        (found.matches.len(), found.stopped)
    };
    let names = stopped(&named("*"), all);
    assert_eq!(names, (9, None));
    assert_eq!(stopped(&named("*"), Bounds { results: 9, ..all }), (9, None), "just enough");
    assert_eq!(stopped(&named("*"), Bounds { results: 8, ..all }), (8, Some(Stop::Results)));
    assert_eq!(stopped(&named("*"), Bounds { files: 4, ..all }), (4, Some(Stop::Files)));
    assert_eq!(stopped(&named("*"), Bounds { depth: 1, ..all }), (3, Some(Stop::Depth)));
    assert_eq!(stopped(&with_text("needle"), Bounds { bytes: 30, ..all }), (1, Some(Stop::Bytes)));
    assert_eq!(
        stopped(&named("*"), Bounds { deadline: Some(Instant::now()), ..all }),
        (0, Some(Stop::Deadline))
    );
    let asked = Cell::new(0);
    let stop = || {
        asked.set(asked.get() + 1);
        asked.get() > 3
    };
    let found = root.search(&RootedPath::root(), &named("*"), &all, &stop).unwrap();
    assert_eq!((found.matches.len(), found.stopped), (3, Some(Stop::Asked)));
}

#[test]
fn search_of_a_wide_folder_is_complete() {
    let scratch = Scratch::new();
    for i in 0..5000 {
        std::fs::File::create(scratch.inside(format!("{i:05}"))).unwrap();
    }
    scratch.file("00010-folder/last", "");
    let bounds = Bounds { results: 10_000, ..Bounds::default() };
    let found = search(&scratch.root(), &RootedPath::root(), &named("*"), &bounds);
    assert!(found.complete);
    assert_eq!(found.matches.len(), 5002);
    assert!(found.matches.is_sorted_by(|a, b| a.entry.place < b.entry.place));
}
