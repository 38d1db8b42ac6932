//! A folder and a file that are swapped for links to the outside, thousands of times, while every operation runs.
#![cfg(unix)]

mod common;

use std::fs;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use candor_files::{Bounds, Overwrite, Query, Root, RootedPath};
use common::{SECRET, Scratch, place};

const INSIDE: &str = "what is inside";
const SWAPS: u64 = 10_000;
/// How often each of the outcomes must have been seen.
const ENOUGH: u64 = 500;
const AT_MOST: Duration = Duration::from_secs(20);

/// Everything that exists inside exists outside too, under the same name, with other content; and some of what is
/// made inside must not appear outside.
fn prepare() -> Scratch {
    let scratch = Scratch::new();
    for file in ["folder/secret", "folder/sub/secret", "secret"] {
        scratch.file(file, INSIDE);
    }
    fs::create_dir_all(scratch.outside("sub")).unwrap();
    fs::write(scratch.outside("sub/secret"), SECRET).unwrap();
    fs::write(scratch.outside("only-outside"), SECRET).unwrap();
    scratch.link("folder-link", "../outside");
    scratch.link("absolute-link", scratch.outside(""));
    scratch.link("secret-link", "../outside/secret");
    scratch
}

/// Swaps two names, in one step where the system can.
fn swap(scratch: &Scratch, one: &str, other: &str) {
    let (one, other) = (scratch.inside(one), scratch.inside(other));
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{CWD, RenameFlags, renameat_with};
        // A rename of ours may have taken what is to be swapped; then there is nothing to swap.
        let _ = renameat_with(CWD, &one, CWD, &other, RenameFlags::EXCHANGE);
    }
    #[cfg(not(target_os = "linux"))]
    {
        let parked = scratch.inside("parked");
        let _ = fs::rename(&one, &parked);
        let _ = fs::rename(&other, &one);
        let _ = fs::rename(&parked, &other);
    }
}

/// That both ways were gone often: otherwise nothing has been shown.
#[derive(Debug, Default)]
struct Outcomes {
    read: AtomicU64,
    replaced: AtomicU64,
    refused: AtomicU64,
}

impl Outcomes {
    fn are_enough(&self, swaps: &AtomicU64) -> bool {
        let all = [&self.read, &self.replaced, &self.refused];
        swaps.load(Ordering::Relaxed) >= SWAPS
            && all.iter().all(|count| count.load(Ordering::Relaxed) >= ENOUGH)
    }
}

/// A file that was replaced at the moment when its name was a link's has taken the place of the link.
fn restore(scratch: &Scratch) {
    let link = scratch.inside("secret-link");
    if !fs::symlink_metadata(&link).is_ok_and(|m| m.is_symlink()) {
        let _ = fs::remove_file(&link);
        scratch.link("secret-link", "../outside/secret");
    }
}

/// One round of everything. Any of it may fail; none of it may see or touch what is outside.
fn round(root: &Root, i: u64, outcomes: &Outcomes) {
    let new = |name: &str| place(&format!("folder/{name}-{}", i % 4));
    for at in ["folder/secret", "folder/sub/secret", "secret"].map(place) {
        match root.read_text(&at, 1000) {
            Ok(text) => {
                assert_eq!(text, INSIDE);
                outcomes.read.fetch_add(1, Ordering::Relaxed);
            }
            Err(error) if error.code() == "leads_out" => {
                outcomes.refused.fetch_add(1, Ordering::Relaxed);
            }
            Err(_) => {}
        }
        if let Ok(head) = root.head(&at, 8) {
            assert_eq!(head, &INSIDE.as_bytes()[..8]);
        }
        if let Ok(entry) = root.entry(&at) {
            assert!(entry.size != SECRET.len() as u64);
        }
        if root.replace(&at, INSIDE.as_bytes()).is_ok() {
            outcomes.replaced.fetch_add(1, Ordering::Relaxed);
        }
        let _ = root.append(&at, b"");
    }
    for at in ["folder", "folder/sub"].map(place) {
        for after in [None, Some(&b"a"[..])] {
            if let Ok(page) = root.page(&at, after, 3) {
                let outside = page.entries.iter().find(|e| e.place.name() == Some(b"only-outside"));
                assert!(outside.is_none());
                // Files that are appended to have any size; this one has its own.
                let secret = page.entries.iter().find(|e| e.place.name() == Some(b"secret"));
                assert!(secret.is_none_or(|e| e.size != SECRET.len() as u64));
            }
        }
    }
    let _ = root.create(&new("created"), b"new");
    let _ = root.append(&new("appended"), b"new");
    let _ = root.replace(&new("replaced"), b"new");
    let _ = root.make_folder(&new("made").join("deep").unwrap());
    let _ = root.copy(&place("folder/secret"), &new("copied"), Overwrite::Yes, 1000);
    let _ = root.copy(&place("secret"), &place("copy"), Overwrite::Yes, 1000);
    if let Ok(text) = root.read_text(&place("copy"), 1000) {
        assert_eq!(text, INSIDE);
    }
    let _ = root.rename(&new("created"), &new("renamed"), Overwrite::Yes);
    let _ = root.rename(&new("replaced"), &new("renamed"), Overwrite::No);
    for name in ["created", "appended", "replaced", "renamed", "copied", "made"] {
        let _ = root.delete(&new(name).join("deep").unwrap());
        let _ = root.delete(&new(name));
    }
    let _ = root.delete(&place("folder/only-outside"));
    let query = Query { text: Some("secret outside".to_owned()), ..Query::default() };
    for at in [RootedPath::root(), place("folder")] {
        if let Ok(found) = root.search(&at, &query, &Bounds::default(), &|| false) {
            assert!(found.matches.is_empty());
        }
    }
}

#[test]
fn concurrent_swaps_never_lead_outside_the_root() {
    let scratch = prepare();
    let before = scratch.outside_now();
    let (stop, swaps, rounds) = (AtomicBool::new(false), AtomicU64::new(0), AtomicU64::new(0));
    let outcomes = Outcomes::default();
    let began = Instant::now();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                for link in ["folder-link", "absolute-link"] {
                    swap(&scratch, "folder", link);
                    swap(&scratch, "secret", "secret-link");
                    std::thread::yield_now();
                    swap(&scratch, "folder", link);
                    swap(&scratch, "secret", "secret-link");
                    restore(&scratch);
                    std::thread::yield_now();
                    swaps.fetch_add(4, Ordering::Relaxed);
                }
            }
        });
        let workers: Vec<_> = (0..3)
            .map(|_| {
                scope.spawn(|| {
                    let root = scratch.root().with_hidden(true);
                    while !outcomes.are_enough(&swaps) && began.elapsed() < AT_MOST {
                        round(&root, rounds.fetch_add(1, Ordering::Relaxed), &outcomes);
                    }
                })
            })
            .collect();
        // The swapping ends also if a worker has failed.
        let results: Vec<_> =
            workers.into_iter().map(std::thread::ScopedJoinHandle::join).collect();
        stop.store(true, Ordering::Relaxed);
        results.into_iter().for_each(|r| r.unwrap());
    });
    assert_eq!(scratch.outside_now(), before, "nothing outside has changed");
    for happened in [&outcomes.read, &outcomes.replaced, &outcomes.refused, &swaps] {
        assert!(happened.load(Ordering::Relaxed) > 50, "{outcomes:?}");
    }
    for folder in ["", "folder", "folder/sub"] {
        let left = scratch.names(folder).into_iter().find(|name| name.starts_with(".candor-"));
        assert_eq!(left, None, "a draft in {folder:?}");
    }
}
