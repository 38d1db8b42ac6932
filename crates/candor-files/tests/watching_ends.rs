//! When nobody watches any more, neither does the system. Alone in its process, because threads are counted.
#![cfg(target_os = "linux")]

mod common;

#[allow(dead_code, reason = "one connection for all test files")]
#[path = "watching/ear.rs"]
mod ear;

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, Instant};

use candor_files::Directory;
use candor_server::Server;
use candor_server::protocol::Era;
use common::Scratch;
use ear::Ear;

/// How many watches of this folder the system keeps for this process.
fn system_watches(folder: &Path) -> usize {
    let ino = format!(" ino:{:x} ", fs::metadata(folder).unwrap().ino());
    let infos = fs::read_dir("/proc/self/fdinfo").unwrap().flatten();
    let infos = infos.filter_map(|info| fs::read_to_string(info.path()).ok());
    let is_this = |line: &&str| line.starts_with("inotify ") && line.contains(&ino);
    infos.map(|info| info.lines().filter(is_this).count()).sum()
}

fn threads(name: &str) -> usize {
    let tasks = fs::read_dir("/proc/self/task").unwrap().flatten();
    let names = tasks.filter_map(|task| fs::read_to_string(task.path().join("comm")).ok());
    names.filter(|comm| comm.trim() == name).count()
}

async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < Duration::from_secs(20), "never: {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn unwatched_folders_release_their_system_watches() {
    for era in [Era::Legacy, Era::Modern] {
        let scratch = Scratch::new();
        scratch.file("one/file", "");
        scratch.file("two/file", "");
        let [root, one, two] = ["", "one", "two"].map(|name| scratch.inside(name));
        let directory = Directory::open(&root).unwrap().at("docs:///");
        assert_eq!(threads("candor-watch"), 0, "an open folder is not watched yet");
        let engine = Server::new("files", "1.0.0").resources(directory).build().unwrap();
        assert_eq!(system_watches(&root), 1, "the default list");
        until("a thread watches it", || threads("candor-watch") == 1).await;

        let uris = ["docs:///one", "docs:///one/file", "docs:///two/file"];
        let (mut ear, _) = Ear::listening(&engine, era, &uris).await;
        let (mut other, _) = Ear::listening(&engine, era, &uris[..1]).await;
        assert_eq!((system_watches(&one), system_watches(&two)), (1, 1), "each folder once");
        assert_eq!(threads("candor-watch"), 1);

        ear.unwatch(&uris).await;
        until("the second folder has no watch", || system_watches(&two) == 0).await;
        assert_eq!(system_watches(&one), 1, "a client still watches it");
        other.unwatch(&uris).await;
        until("the first folder has no watch", || system_watches(&one) == 0).await;

        // A disconnect ends the watches, too.
        other.watch(&uris).await;
        assert_eq!(system_watches(&one), 1);
        other.hang_up().await;
        until("no watch is left", || system_watches(&one) == 0).await;
        assert_eq!((system_watches(&root), threads("candor-watch")), (1, 1));

        ear.hang_up().await;
        drop(engine);
        until("the server is gone", || system_watches(&root) == 0).await;
        until("its thread ends", || threads("candor-watch") == 0).await;
        until("and the system's", || threads("notify-rs inoti") == 0).await;
    }
}
