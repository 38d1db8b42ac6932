//! A state folder that cannot be used: which, why, and what to do.

use std::fs;
use std::path::Path;

use tokio::process::Command;

use crate::process::{Program, output};
use crate::{candor, folder};

/// What a command complains of that cannot go on.
async fn complaint(command: &mut Command) -> String {
    let ended = output(command).await;
    let said = ended.stderr.join("\n");
    assert_eq!(ended.status.code(), Some(1), "{said}");
    assert_eq!(ended.stdout, [""; 0]);
    assert!(said.starts_with("error: "), "{said}");
    said
}

/// A server that asks before it deletes, so that it needs a ledger.
fn asking(served: &Path) -> Command {
    let mut command = candor();
    command.arg("files").arg(served).args(["--http", "0"]);
    command
}

fn names(said: &str, path: &Path) -> bool {
    said.contains(path.to_str().unwrap())
}

#[tokio::test]
async fn file_as_state_folder_is_an_error_with_advice() {
    let served = folder("state, a file");
    // Not even root can create a folder in a file.
    let file = served.join("not a folder");
    fs::write(&file, "").unwrap();
    let said = complaint(asking(&served).env("XDG_STATE_HOME", &file)).await;
    assert!(names(&said, &file.join("candor")), "{said}");
    assert!(said.contains(&format!("{} is a file", file.display())), "{said}");
    for part in ["approval requests need a ledger", "--ledger sqlite:PATH", "memory:"] {
        assert!(said.contains(part), "{part} in {said}");
    }
    if cfg!(target_os = "linux") {
        let mut command = asking(&served);
        let said = complaint(command.env_remove("XDG_STATE_HOME").env("HOME", &file)).await;
        assert!(names(&said, &file.join(".local/state/candor")), "{said}");
        assert!(said.contains("XDG_STATE_HOME"), "{said}");
    }

    // The suggested flag helps.
    let mut command = asking(&served);
    let mut server = Program::start(
        command.env("XDG_STATE_HOME", &file).arg("--ledger").arg(served.join("l.db")),
    );
    server.listening().await;
    // A read-only server needs no ledger.
    let mut command = asking(&served);
    let mut reads = Program::start(command.env("XDG_STATE_HOME", &file).arg("--read-only"));
    reads.listening().await;

    let said = complaint(candor().arg("history").env("XDG_STATE_HOME", &file)).await;
    assert!(names(&said, &file) && said.contains("--ledger or CANDOR_LEDGER"), "{said}");
}

/// The ledger needs a fix here, not the folder.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn damaged_ledger_is_distinguished_from_an_unusable_state_folder() {
    let served = folder("state, damaged");
    let state = served.join("state");
    fs::create_dir_all(state.join("candor")).unwrap();
    fs::write(state.join("candor/ledger.db"), "no ledger".repeat(1000)).unwrap();
    let said = complaint(asking(&served).env("XDG_STATE_HOME", &state)).await;
    for part in ["the ledger is damaged", "approval requests need a ledger", "--ledger sqlite:PATH"]
    {
        assert!(said.contains(part), "{part} in {said}");
    }
    assert!(!said.contains("fix the state folder"), "{said}");
    let file = served.join("not a folder");
    fs::write(&file, "").unwrap();
    let said = complaint(asking(&served).env("XDG_STATE_HOME", &file)).await;
    assert!(said.contains("fix the state folder"), "{said}");
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn unknown_state_folder_is_an_error_that_names_the_variables() {
    let served = folder("state, none");
    for home in ["", "relative"] {
        let mut command = asking(&served);
        let said = complaint(command.env("XDG_STATE_HOME", "").env("HOME", home)).await;
        for part in ["XDG_STATE_HOME or HOME", "--ledger sqlite:PATH"] {
            assert!(said.contains(part), "{part} in {said}");
        }
    }
}

#[tokio::test]
async fn ledger_path_error_names_its_cause() {
    let served = folder("state, no place");
    let nowhere = Path::new("/proc/no-such-folder");
    if cfg!(target_os = "linux") {
        let said = complaint(asking(&served).env("XDG_STATE_HOME", nowhere)).await;
        assert!(names(&said, nowhere) && said.contains("no folder can be made in /proc"), "{said}");
    }
    let ledger = served.join("candor/ledger.db");
    fs::create_dir_all(&ledger).unwrap();
    let said = complaint(asking(&served).arg("--ledger").arg(&ledger)).await;
    assert!(said.contains(&format!("{} is a folder", ledger.display())), "{said}");
    assert!(said.contains("--ledger sqlite:PATH"), "{said}");
}

#[tokio::test]
async fn secret_that_cannot_be_created_is_an_error_with_advice() {
    let served = folder("state, secret");
    let secret = served.join("ledger.db.secret");
    fs::create_dir(&secret).unwrap();
    let said = complaint(asking(&served).arg("--ledger").arg(served.join("ledger.db"))).await;
    assert!(names(&said, &secret) && said.contains("--secret-file FILE"), "{said}");
}

#[cfg(unix)]
#[tokio::test]
async fn demo_without_a_temporary_folder_names_tmpdir() {
    let file = folder("state, demo").join("not a folder");
    fs::write(&file, "").unwrap();
    for flags in [&["demo"][..], &["demo", "--crash"]] {
        let said = complaint(candor().args(flags).env("TMPDIR", &file)).await;
        assert!(names(&said, &file) && said.contains("TMPDIR"), "{said}");
    }
}
