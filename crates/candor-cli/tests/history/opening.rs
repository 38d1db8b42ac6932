//! Which ledger, and what is said of one that cannot be read.

use std::fs;

use crate::ledger::{Ledger, candor, folder, history, id, told};

#[test]
fn reading_history_creates_no_ledger() {
    let place = folder("missing").join("state/candor");
    for words in
        [&[][..], &["show", "abcd"], &["export"], &["resolve", "abcd", "--abandoned", "--yes"]]
    {
        let refused = history(place.join("ledger.db"), words);
        let text = refused.refused(1);
        assert!(text.contains("state/candor/ledger.db: no ledger exists here"), "{text}");
        assert!(!place.exists());
    }
    let empty = folder("missing").join("empty.db");
    fs::write(&empty, "").unwrap();
    assert!(history(&empty, &[]).refused(1).contains("empty.db: this file is empty"));
    assert_eq!(fs::read(&empty).unwrap(), b"");
}

#[test]
fn ledger_comes_from_flag_variable_or_default() {
    let ledger = Ledger::new("place/candor");
    ledger.done(&id("order-17"));
    let path = ledger.place.file().to_str().unwrap();
    let list = |words: &[&str], variable: Option<&str>| {
        let mut command = candor();
        command.args(["history", "--json"]).args(words);
        if let Some(value) = variable {
            command.env("CANDOR_LEDGER", value);
        }
        let state = ledger.place.file().parent().unwrap().parent().unwrap();
        told(command.env("XDG_STATE_HOME", state).env("HOME", "/nowhere"))
    };
    let url = format!("sqlite:{path}");
    assert_eq!(list(&["--ledger", &url], None).lines().len(), 1);
    assert_eq!(list(&["--ledger", &format!("sqlite://{path}")], None).lines().len(), 1);
    assert_eq!(list(&["--ledger", path], Some("/nowhere/x.db")).lines().len(), 1);
    assert_eq!(list(&[], Some(path)).lines().len(), 1);
    assert_eq!(list(&["--ledger", path, "show", "order-17"], None).lines().len(), 1);
    assert_eq!(list(&["show", "order-17", "--ledger", path], None).lines().len(), 1);
    if cfg!(all(unix, not(target_os = "macos"))) {
        assert_eq!(list(&[], None).lines().len(), 1);
        assert_eq!(list(&[], Some("")).lines().len(), 1, "an empty variable counts as unset");
    }
}

#[test]
fn memory_ledger_has_no_history() {
    let refused = told(candor().args(["history", "--ledger", "memory:"]));
    assert!(refused.refused(2).contains("only inside the process"), "{}", refused.stderr);
}

#[test]
fn ledger_url_password_is_not_repeated() {
    let url = "carrier-pigeon://ann:s3cret@db/ledger";
    let refused = told(candor().args(["history", "--ledger", url]));
    let text = refused.refused(2);
    assert!(text.contains("carrier-pigeon://db/ledger") && !text.contains("s3cret"), "{text}");
}

#[test]
fn newer_ledger_is_refused_unchanged() {
    let mut ledger = Ledger::new("newer");
    ledger.done(&id("order-17"));
    ledger.close();
    let db = rusqlite::Connection::open(ledger.place.file()).unwrap();
    db.execute_batch("UPDATE candor_ledger SET major = 9; PRAGMA journal_mode = DELETE;").unwrap();
    drop(db);
    let before = fs::read(ledger.place.file()).unwrap();
    let refused = ledger.history(&[]);
    assert!(
        refused.refused(1).contains("ledger.db: the ledger has schema 9"),
        "{}",
        refused.stderr
    );
    assert_eq!(fs::read(ledger.place.file()).unwrap(), before);
}

#[test]
fn file_that_is_not_a_ledger_is_refused() {
    let place = folder("no ledger");
    let text = place.join("notes.txt");
    fs::write(&text, "Dear diary, ".repeat(500)).unwrap();
    let refused = history(&text, &[]);
    assert!(refused.refused(1).contains("notes.txt: the ledger is damaged or is no ledger"));
    let songs = place.join("songs.db");
    let db = rusqlite::Connection::open(&songs).unwrap();
    db.execute_batch("CREATE TABLE songs (name TEXT)").unwrap();
    drop(db);
    assert!(history(&songs, &[]).refused(1).contains("another program"));
    assert!(
        history(&place, &[]).refused(1).contains("this is a folder, not a ledger; choose another")
    );
}

#[test]
fn damaged_ledger_is_reported_by_name() {
    let mut ledger = Ledger::new("damaged");
    for at in 0..50 {
        ledger.done(&id(&format!("key-{at}")));
    }
    ledger.close();
    let mut bytes = fs::read(ledger.place.file()).unwrap();
    bytes[4096..].fill(0xA5);
    fs::write(ledger.place.file(), bytes).unwrap();
    for words in [&[][..], &["export"], &["show", "key-1"]] {
        let refused = ledger.history(words);
        assert!(
            refused.refused(1).contains("ledger.db: the ledger is damaged"),
            "{}",
            refused.stderr
        );
        assert!(refused.stderr.contains("restore a backup"), "{}", refused.stderr);
    }
}

#[test]
fn wait_for_a_locked_ledger_is_reported() {
    let path = folder("in use").join("ledger.db");
    let db = rusqlite::Connection::open(&path).unwrap();
    db.execute_batch("CREATE TABLE songs (name TEXT); BEGIN EXCLUSIVE").unwrap();
    let mut command = candor();
    command.arg("history").arg("--ledger").arg(&path).stderr(std::process::Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut said = String::new();
    let mut stderr = std::io::BufReader::new(child.stderr.take().unwrap());
    std::io::BufRead::read_line(&mut stderr, &mut said).unwrap();
    assert!(said.starts_with("waiting for the ledger ") && said.contains("ledger.db"), "{said}");
    child.kill().unwrap();
    child.wait().unwrap();
}

#[cfg(unix)]
#[test]
fn ledger_without_read_permission_is_reported_by_name() {
    use std::os::unix::fs::PermissionsExt as _;
    let mut ledger = Ledger::new("forbidden");
    ledger.done(&id("order-17"));
    ledger.close();
    fs::set_permissions(ledger.place.file(), fs::Permissions::from_mode(0o000)).unwrap();
    if fs::File::open(ledger.place.file()).is_ok() {
        return; // root may read every file
    }
    let refused = ledger.history(&[]);
    let text = refused.refused(1);
    assert!(text.contains("ledger.db") && text.contains("ermission denied"), "{text}");
    assert!(text.contains("choose another ledger with --ledger or CANDOR_LEDGER"), "{text}");
}
