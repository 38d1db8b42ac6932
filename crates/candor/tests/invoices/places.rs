//! Where calls are remembered, and what an operator is told of it.

use std::fs;

use serde_json::json;
use tokio::process::Command;

use crate::desk::{Desk, Told};
use crate::example;
use crate::messages::{call, text};
use crate::process::{Program, output};
use crate::shop::Shop;

/// What a server says that does not start: with 1, or with 2 if it is for another command line to mend.
async fn refused(command: &mut Command, code: i32) -> String {
    let ended = output(command).await;
    let complaint = ended.stderr.join("\n");
    assert_eq!(ended.status.code(), Some(code), "{complaint}");
    assert_eq!(ended.stdout, [""; 0]);
    complaint
}

#[cfg(unix)]
#[tokio::test]
async fn ledger_and_secret_files_are_private_to_their_owner() {
    use std::os::unix::fs::PermissionsExt as _;
    let shop = Shop::new("modes");
    let (_server, desk) = shop.stdio(&[]);
    desk.settle("k").await.unwrap();
    for name in ["ledger.db", "ledger.db-wal", "ledger.db-shm", "ledger.db.secret"] {
        let mode = fs::metadata(shop.file(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
}

#[tokio::test]
async fn http_server_prints_its_ledger() {
    let shop = Shop::new("says");
    let mut server = Program::start(shop.command().args(["--http", "127.0.0.1:0"]));
    let mut told = Vec::new();
    while !told.last().is_some_and(|line: &String| line.starts_with("listening")) {
        told.push(server.complaint().await);
    }
    let place = shop.file("ledger.db");
    assert!(
        told.iter().any(|line| line.contains("ledger") && line.contains(place.to_str().unwrap())),
        "{told:?}"
    );
}

#[tokio::test]
async fn default_ledger_is_in_the_state_folder() {
    let shop = Shop::new("state");
    let state = shop.file("state");
    let mut server =
        Program::start(shop.bare().arg("--stdio").env("XDG_STATE_HOME", state.as_os_str()));
    let desk = Desk::stdio(&mut server);
    desk.settle("k").await.unwrap();
    if cfg!(target_os = "linux") {
        assert!(state.join("candor/ledger.db").is_file());
        assert!(state.join("candor/ledger.db.secret").is_file());
    }
}

#[tokio::test]
async fn memory_ledger_warns_that_its_keys_are_lost() {
    let shop = Shop::new("memory");
    for invoices in 1..=2 {
        let mut server = Program::start(shop.bare().args(["--stdio", "--ledger", "memory:"]));
        let warning = server.complaint().await;
        assert!(warning.contains("WARN"), "{warning}");
        assert!(
            warning.contains("in memory: its keys are lost when this process ends"),
            "{warning}"
        );
        let desk = Desk::stdio(&mut server);
        let first = desk.settle("k").await.unwrap();
        assert!(matches!(first, Told::Done { .. }));
        assert_eq!(desk.settle("k").await.unwrap(), first);
        assert_eq!(shop.invoices()["k"].len(), invoices, "one for each start");
    }
}

#[tokio::test]
async fn server_without_a_ledger_does_not_start_and_names_the_tool() {
    let shop = Shop::new("none");
    let complaint = refused(shop.bare().args(["--stdio", "--ledger", "none"]), 2).await;
    assert!(complaint.contains("create_invoice uses idempotency keys"), "{complaint}");
    assert!(complaint.contains("--ledger none"), "{complaint}");
}

#[tokio::test]
async fn unwritable_state_folder_is_an_error_with_advice() {
    let shop = Shop::new("unwritable");
    // Not even root can create a folder in a file.
    let file = shop.file("state");
    fs::write(&file, "").unwrap();
    let complaint = refused(shop.bare().arg("--stdio").env("XDG_STATE_HOME", &file), 1).await;
    assert!(complaint.contains(file.join("candor").to_str().unwrap()), "{complaint}");
    assert!(complaint.contains("--ledger sqlite:PATH"), "{complaint}");
    assert!(complaint.contains("create_invoice"), "it names the tool: {complaint}");
    assert_eq!(complaint.matches("ledger.db").count(), 1, "it names the file once: {complaint}");

    // A server without keys to store starts, with a warning.
    let mut hello = Program::start(example("hello").arg("--stdio").env("XDG_STATE_HOME", &file));
    let warning = hello.complaint().await;
    assert!(warning.contains("WARN") && warning.contains("calls are not stored"), "{warning}");
    assert!(warning.contains("--ledger"), "{warning}");
    let greeting = hello.ask(&call(1, "greet", &json!({"name": "Ada"}))).await;
    assert_eq!(text(&greeting), "Hello, Ada!");
    // Unless a flag names the ledger.
    let place = format!("sqlite:{}", file.join("ledger.db").display());
    let complaint = refused(example("hello").args(["--stdio", "--ledger", &place]), 1).await;
    assert!(complaint.contains(file.to_str().unwrap()), "{complaint}");
}

#[tokio::test]
async fn invalid_ledger_is_refused_unchanged() {
    let shop = Shop::new("wrong");
    for (url, code, told) in [
        ("mysql://localhost/x".to_owned(), 2, "sqlite:PATH"),
        ("ledger".to_owned(), 2, "sqlite:PATH"),
        ("sqlite:".to_owned(), 2, "sqlite:ledger.db"),
        (format!("sqlite:{}", shop.file("").display()), 1, "is a folder"),
    ] {
        let complaint = refused(shop.bare().args(["--stdio", "--ledger", &url]), code).await;
        assert!(complaint.contains(told), "{url}: {complaint}");
    }
    let letter = shop.file("letter.txt");
    let words = "Dear customer, ".repeat(100);
    fs::write(&letter, &words).unwrap();
    let url = format!("sqlite:{}", letter.display());
    let complaint = refused(shop.bare().args(["--stdio", "--ledger", &url]), 1).await;
    assert!(complaint.contains("letter.txt") && complaint.contains("no ledger"), "{complaint}");
    assert_eq!(fs::read_to_string(&letter).unwrap(), words);
}
