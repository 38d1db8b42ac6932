//! No process is left behind, however a command ends.

use std::fs;
use std::time::Duration;

use crate::process::{Program, bounded};
use crate::{SCRIPTED, World};

/// A process that does not want to end for a minute, started by the program before it does what `then` says.
fn with_stubborn(then: &str) -> String {
    let minute = "for n in $(seq 600); do sleep 0.1; done";
    format!("(trap '' INT TERM HUP QUIT; {minute}) & echo $! > stubborn; {then}")
}

/// The number in a file, once it is there.
async fn number(world: &World, file: &str) -> String {
    let there = async {
        loop {
            match fs::read_to_string(world.around.join(file)) {
                Ok(text) if text.ends_with('\n') => return text.trim().to_owned(),
                _ => tokio::time::sleep(Duration::from_millis(5)).await,
            }
        }
    };
    bounded(file, there).await
}

/// Returns true if the process runs; a zombie does not.
fn runs(pid: &str) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    !status.is_empty() && !status.contains("State:\tZ")
}

/// Waits until the process is gone: a kill takes a moment.
async fn gone(pid: &str) {
    let gone = async {
        while runs(pid) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    bounded("nothing is left", gone).await;
}

fn signal(name: &str, id: u32) {
    let id = id.to_string();
    let sent = std::process::Command::new("kill").args([name, &id]).status().unwrap();
    assert!(sent.success());
}

/// Starts a command whose program starts a stubborn process; returns both.
async fn start(world: &World, words: &[&str], then: &str) -> (Program, String) {
    let _ = fs::remove_file(world.around.join("stubborn"));
    let script = with_stubborn(then);
    let words = [words, &["--", "sh", "-c", &script]].concat();
    let program = Program::start(&mut world.candor(&words).into());
    let stubborn = number(world, "stubborn").await;
    assert!(runs(&stubborn));
    (program, stubborn)
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn signals_before_the_connection_end_the_whole_group() {
    let world = World::new("leaving early");
    for (command, name, code) in [
        ("tools", "-INT", 130),
        ("tools", "-TERM", 143),
        ("tools", "-HUP", 129),
        ("tools", "-QUIT", 131),
        ("doctor", "-TERM", 143),
        // Ctrl-C is the normal end of `watch`.
        ("watch", "-INT", 0),
    ] {
        let (program, stubborn) = start(&world, &[command], "wait").await;
        signal(name, program.id());
        assert_eq!(program.ended().await.status.code(), Some(code), "{command} {name}");
        gone(&stubborn).await;
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn failure_before_the_connection_ends_the_whole_group() {
    let world = World::new("leaving failed");
    for then in ["wait", "exit 3"] {
        let (program, stubborn) = start(&world, &["tools", "--timeout", "1s"], then).await;
        assert_ne!(program.ended().await.status.code(), Some(0), "{then}");
        gone(&stubborn).await;
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn every_way_out_of_a_call_ends_the_whole_group() {
    let world = World::new("leaving calls");
    let server = format!("exec python3 {SCRIPTED}");
    let (program, stubborn) = start(&world, &["call", "say"], &server).await;
    assert_eq!(program.ended().await.status.code(), Some(0));
    gone(&stubborn).await;
    for (signals, code) in [
        (&["-INT"][..], 130),
        (&["-INT", "-INT"], 130),
        (&["-TERM"], 143),
        (&["-HUP"], 129),
        (&["-QUIT"], 131),
    ] {
        let _ = fs::remove_file(world.around.join("hanging"));
        let (program, stubborn) = start(&world, &["call", "hangs"], &server).await;
        let hanging = world.hanging().await;
        for name in signals {
            signal(name, program.id());
        }
        assert_eq!(program.ended().await.status.code(), Some(code), "{signals:?}");
        gone(&stubborn).await;
        gone(&hanging).await;
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn watch_ends_at_once_and_starts_nothing_to_unsubscribe() {
    let world = World::new("leaving watch");
    let hostile = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/remote/hostile.py");
    for kind in ["quiet", "changes"] {
        let _ = fs::remove_file(world.around.join("starts"));
        let words = ["watch", "doc://a", "--", "python3", hostile, kind];
        let mut program = Program::start(&mut world.candor(&words).into());
        // Its stdout is not read.
        program.turn_deaf();
        while !program.complaint().await.starts_with("Watching") {}
        if kind == "changes" {
            number(&world, "flood").await;
        }
        crate::interrupt(program.id());
        // A command that misses the signal exits later, with 130.
        assert_eq!(program.ended().await.status.code(), Some(0), "{kind}");
        let starts = fs::read_to_string(world.around.join("starts")).unwrap();
        assert_eq!(starts.lines().count(), 1, "{kind}");
    }
}
