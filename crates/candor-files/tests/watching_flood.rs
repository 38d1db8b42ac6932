//! Ten thousand writes a second: nothing that matters is lost, and memory holds. Alone in its process, because memory is
//! counted.
#![cfg(unix)]

mod common;

#[allow(dead_code, reason = "one connection for all test files")]
#[path = "watching/ear.rs"]
mod ear;

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use candor_files::Directory;
use candor_server::Server;
use candor_server::protocol::Era;
use common::Scratch;
use ear::Ear;

const FILES: usize = 200;
const WRITES: usize = 10_000;
/// Writes between two rests: fifty every ten milliseconds, from each of two threads.
const BURST: usize = 50;
const REST: Duration = Duration::from_millis(10);
/// A flood that was kept would be ten times this.
const MOST_GROWTH: usize = 8 * 1024 * 1024;

fn paths(scratch: &Scratch) -> Vec<PathBuf> {
    (0..FILES).map(|i| scratch.inside(format!("folder{}/{i}", i % 3))).collect()
}

/// Writes to all files in turn. One thread keeps them open, the other replaces what they hold.
fn flood(paths: Vec<PathBuf>, keeps_open: bool) -> JoinHandle<()> {
    std::thread::spawn(move || {
        let files: Vec<fs::File> = paths
            .iter()
            .map(|path| fs::OpenOptions::new().write(true).open(path).unwrap())
            .collect();
        let begun = Instant::now();
        for step in 0..WRITES {
            let number = step * 7 % FILES;
            let text = format!("{step:08}");
            match keeps_open {
                true => files[number].write_all_at(text.as_bytes(), 0).unwrap(),
                false => fs::write(&paths[number], text).unwrap(),
            }
            if step % BURST == BURST - 1 {
                let due = begun + REST * u32::try_from(step / BURST + 1).unwrap();
                std::thread::sleep(due.saturating_duration_since(Instant::now()));
            }
        }
    })
}

/// Hears everything out; gives for each file what it held when it was last told of.
async fn hear_out(
    mut ear: Ear,
    paths: Vec<PathBuf>,
    pause: Duration,
    over: impl Fn() -> bool,
) -> Vec<String> {
    let mut held = vec![String::new(); FILES];
    loop {
        let is_over = over();
        match ear.next_uri_within(Duration::from_secs(4)).await {
            Some(uri) => {
                let number: usize = uri.rsplit('/').next().unwrap().parse().unwrap();
                held[number] = fs::read_to_string(&paths[number]).unwrap();
                tokio::time::sleep(pause).await;
            }
            None if is_over => return held,
            None => {}
        }
    }
}

/// How many bytes of memory this process has; nothing where the system does not say.
fn memory() -> usize {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<usize>().ok());
    kilobytes.unwrap_or(0) * 1024
}

#[tokio::test(flavor = "multi_thread")]
async fn flood_of_changes_loses_no_last_change() {
    for era in [Era::Modern, Era::Legacy] {
        let scratch = Scratch::new();
        let paths = paths(&scratch);
        for i in 0..FILES {
            scratch.file(&format!("folder{}/{i}", i % 3), "");
        }
        let directory = Directory::open(scratch.inside("")).unwrap().at("docs:///");
        let engine = Server::new("files", "1.0.0").resources(directory).build().unwrap();
        let uris: Vec<String> =
            (0..FILES).map(|i| format!("docs:///folder{}/{i}", i % 3)).collect();
        let uris: Vec<&str> = uris.iter().map(String::as_str).collect();
        let mut quick = Ear::new(&engine, era).await;
        let mut slow = Ear::through(&engine, era, 512).await;
        assert_eq!(quick.watch(&uris).await.len(), FILES);
        assert_eq!(slow.watch(&uris).await.len(), FILES);

        let before = memory();
        let halves = [paths.clone(), paths.iter().rev().cloned().collect()];
        let flooding = halves.into_iter().zip([true, false]);
        let flooding: Vec<_> = flooding.map(|(half, keeps_open)| flood(half, keeps_open)).collect();
        let over = || flooding.iter().all(JoinHandle::is_finished);
        let heard = [
            hear_out(quick, paths.clone(), Duration::ZERO, over),
            hear_out(slow, paths.clone(), Duration::from_millis(3), over),
        ];
        let [quick, slow] = heard;
        let (quick, slow) = tokio::join!(quick, slow);
        let grown = memory().saturating_sub(before);
        for (who, held) in [("quick", quick), ("slow", slow)] {
            let now = paths.iter().map(|path| fs::read_to_string(path).unwrap());
            let missed = now.zip(&held).filter(|(now, held)| now != *held).count();
            assert_eq!(missed, 0, "files whose last change the {who} client missed");
        }
        assert!(grown < MOST_GROWTH, "{grown} bytes more than before");
    }
}
