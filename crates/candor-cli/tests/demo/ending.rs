//! What is left of it: nothing, unless somebody wants it.

use std::process::Command as Plain;

use rusqlite::Connection;
use serde_json::json;

use crate::process::Program;
use crate::{Demo, Machine};

#[tokio::test]
async fn demo_removes_its_folder_when_it_ends() {
    let machine = Machine::new("goes");
    let demo = Demo::start(&machine, &["--ask", "never"]).await;
    assert!(demo.world.join("ledger.db").is_file());
    demo.done("update_invoice", json!({"id": "inv_3", "amount_cents": 1})).await;
    let ledger = Connection::open(demo.world.join("ledger.db")).unwrap();
    let rows: i64 = ledger.query_row("SELECT count(*) FROM audit", [], |row| row.get(0)).unwrap();
    assert!(rows > 0, "its calls are in its own ledger");
    drop(ledger);
    machine.is_untouched();
    demo.end().await;
    machine.has_no_world();
    machine.is_untouched();
}

#[tokio::test]
async fn demo_removes_its_folder_on_any_signal() {
    let machine = Machine::new("signals");
    for signal in ["-TERM", "-INT"] {
        // Once it is ready.
        let demo = Demo::start(&machine, &[]).await;
        let pid = demo.program.id().to_string();
        assert!(Plain::new("kill").args([signal, &pid]).status().unwrap().success());
        assert_eq!(demo.program.ended().await.status.code(), Some(0), "{signal}");
        machine.has_no_world();
        // As soon as there is something to leave behind.
        for _ in 0..5 {
            let program = Program::start(&mut machine.demo(&["--http", "127.0.0.1:0"]));
            let pid = program.id().to_string();
            while machine.worlds().is_empty() {
                tokio::task::yield_now().await;
            }
            assert!(Plain::new("kill").args([signal, &pid]).status().unwrap().success());
            assert_eq!(program.ended().await.status.code(), Some(0), "{signal}");
            machine.has_no_world();
        }
    }
    machine.is_untouched();
}

/// The test runner may ignore the signal, so this test sets what the demo inherits.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn demo_ends_on_hangup_unless_the_signal_is_ignored() {
    let machine = Machine::new("closed");
    let demo = |meant: &str| {
        let script = format!(
            "import os, signal, sys; signal.signal(signal.SIGHUP, signal.{meant}); os.execv(sys.argv[1], sys.argv[1:])"
        );
        let demo = machine.demo(&["--http", "127.0.0.1:0"]);
        let demo = demo.as_std();
        let mut command = tokio::process::Command::new("python3");
        command.args(["-c", &script]).arg(demo.get_program()).args(demo.get_args());
        let set = demo.get_envs().filter_map(|(name, value)| Some((name, value?)));
        command.envs(set).current_dir(demo.get_current_dir().unwrap());
        command
    };
    let closes = |demo: &Demo| {
        let pid = demo.program.id().to_string();
        assert!(Plain::new("kill").args(["-HUP", &pid]).status().unwrap().success());
    };
    let stays = Demo::of(&machine, &mut demo("SIG_IGN")).await;
    closes(&stays);
    // A demo that ends could still answer at once, but is gone after this pause.
    tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    stays.ask("tools/list", &json!({})).await;
    stays.end().await;
    machine.has_no_world();
    let goes = Demo::of(&machine, &mut demo("SIG_DFL")).await;
    closes(&goes);
    assert_eq!(goes.program.ended().await.status.code(), Some(0));
    machine.has_no_world();
}

#[tokio::test]
async fn stdio_demo_removes_its_folder_when_its_host_leaves() {
    let machine = Machine::new("host");
    let mut program = Program::start(&mut machine.demo(&["--stdio"]));
    let listed = program.ask(&crate::modern(1, "tools/list", &json!({}))).await;
    assert!(listed["result"]["tools"].is_array(), "{listed}");
    assert_eq!(machine.worlds().len(), 1);
    program.close_stdin();
    assert_eq!(program.ended().await.status.code(), Some(0));
    machine.has_no_world();
    machine.is_untouched();
}

#[tokio::test]
async fn demo_that_cannot_start_removes_its_folder() {
    let machine = Machine::new("fails");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    for (flags, code) in [
        (&["--http", &taken][..], 1),
        (&["--stdio", "--http", "0"], 2),
        (&["--ledger", "nonsense"], 2),
    ] {
        let ended = crate::process::output(&mut machine.demo(flags)).await;
        assert_eq!(ended.status.code(), Some(code), "{flags:?}: {:?}", ended.stderr);
        machine.has_no_world();
    }
}

#[tokio::test]
async fn keep_flag_keeps_the_demo_folder() {
    let machine = Machine::new("keep");
    let demo = Demo::start(&machine, &["--keep"]).await;
    let world = demo.world.clone();
    demo.program.terminate();
    let ended = demo.program.ended().await;
    assert_eq!(ended.status.code(), Some(0), "{:?}", ended.stderr);
    assert_eq!(ended.stderr, [format!("kept: {}", world.display())]);
    let books = Connection::open(world.join("books.db")).unwrap();
    let count = "SELECT count(*) FROM invoices";
    assert_eq!(books.query_row(count, [], |row| row.get::<_, i64>(0)).unwrap(), 5);
    machine.is_untouched();
}

#[tokio::test]
async fn demo_ignores_the_ledger_variable_but_not_the_flag() {
    let machine = Machine::new("ledger");
    let theirs = machine.at("theirs.db");
    let named = format!("sqlite:{}", theirs.display());
    let mut command = machine.demo(&["--http", "127.0.0.1:0"]);
    let demo = Demo::of(&machine, command.env("CANDOR_LEDGER", &named)).await;
    assert_eq!(demo.line("ledger"), format!("SQLite file {}/ledger.db", demo.world.display()));
    assert!(!theirs.exists());
    demo.end().await;

    let demo = Demo::start(&machine, &["--ledger", &named]).await;
    assert_eq!(demo.line("ledger"), format!("SQLite file {}", theirs.display()));
    assert!(theirs.is_file() && !demo.world.join("ledger.db").exists());
    demo.end().await;
}
