//! `candor demo --crash`: one charge, whatever happens.

use serde_json::{Value, json};

use crate::Machine;
use crate::process::{Ended, Program, output};

/// Tells the story to its end.
async fn told(machine: &Machine, flags: &[&str]) -> Ended {
    let flags = [&["--crash"], flags].concat();
    let ended = output(&mut machine.demo(&flags)).await;
    assert_eq!(ended.status.code(), Some(0), "{:?} {:?}", ended.stdout, ended.stderr);
    machine.is_untouched();
    ended
}

/// Where this line stands.
fn place(lines: &[String], what: &str) -> usize {
    let place = lines.iter().position(|line| line.contains(what));
    place.unwrap_or_else(|| panic!("no {what} in {lines:#?}"))
}

#[tokio::test]
async fn killed_server_charges_once() {
    let machine = Machine::new("crash");
    for _ in 0..3 {
        let ended = told(&machine, &[]).await;
        assert_eq!(ended.stderr, [""; 0]);
        let lines = ended.stdout;
        let order = [
            "charge_card",
            "The card is charged",
            "kill -9",
            "The server restarts",
            "outcome_unknown",
        ];
        let places: Vec<_> = order.iter().map(|what| place(&lines, what)).collect();
        assert!(places.is_sorted(), "{lines:#?}");
        let count = |what: &str| lines.iter().filter(|line| line.contains(what)).count();
        assert_eq!(count("outcome_unknown"), 2, "{lines:#?}");
        assert_eq!((count("Charges made: 1"), count("Charges made")), (3, 3), "{lines:#?}");
        let resolve = place(&lines, "candor history resolve order-1 --succeeded --result");
        assert!(resolve > places[4] && lines[resolve].contains(" --ledger sqlite:"), "{lines:#?}");
        place(&lines, "The demo removes its ledger");
        machine.has_no_world();
    }
}

#[tokio::test]
async fn crash_json_has_the_same_facts() {
    let machine = Machine::new("crash, json");
    let ended = told(&machine, &["--json"]).await;
    let [line] = &ended.stdout[..] else { panic!("one line: {:?}", ended.stdout) };
    let told: Value = serde_json::from_str(line).unwrap();
    assert_eq!(told["charges"], 1, "{told}");
    assert_eq!(told["killed"]["signal"], 9, "{told}");
    assert_eq!(told["retries"].as_array().unwrap().len(), 2, "{told}");
    for retry in told["retries"].as_array().unwrap() {
        assert_eq!((&retry["code"], &retry["charges"]), (&json!("outcome_unknown"), &json!(1)));
    }
    assert_eq!(told["answer"]["result"]["charge_id"], "ch_1", "{told}");
    assert_eq!(told["answer"]["result"], told["resolution"]["result"]);
    machine.has_no_world();
}

#[tokio::test]
async fn crash_with_keep_leaves_the_ledger_that_it_describes() {
    let machine = Machine::new("crash, kept");
    let ended = told(&machine, &["--keep"]).await;
    let [world] = &machine.worlds()[..] else { panic!("one world") };
    assert_eq!(ended.stderr, [format!("kept: {}", world.display())]);
    // The printed command, as a shell parses it.
    let stays = "The ledger is kept: candor ";
    let line = &ended.stdout[place(&ended.stdout, stays)];
    let (words, ledger) = line.strip_prefix(stays).unwrap().split_once(" --ledger ").unwrap();
    let mut history = machine.candor(&words.split(' ').collect::<Vec<_>>());
    let shown = output(history.arg("--ledger").arg(ledger.trim_matches('\''))).await;
    assert_eq!(shown.status.code(), Some(0), "{line}: {:?}", shown.stderr);
    let till = rusqlite::Connection::open(world.join("charges.db")).unwrap();
    let charges = till.query_row("SELECT count(*) FROM charges", [], |row| row.get::<_, i64>(0));
    assert_eq!(charges, Ok(1));
    let mut history = machine.candor(&["history", "show", "order-1", "--json", "--ledger"]);
    let shown = output(history.arg(world.join("ledger.db"))).await;
    assert_eq!(shown.status.code(), Some(0), "{:?}", shown.stderr);
    let operation: Value = serde_json::from_str(&shown.stdout[0]).unwrap();
    assert_eq!(operation["state"], "succeeded", "{operation}");
    let kinds: Vec<_> =
        operation["timeline"].as_array().unwrap().iter().map(|row| &row["event"]).collect();
    assert!(kinds.contains(&&json!("resolve")), "{operation}");
}

#[tokio::test]
async fn crash_with_a_ledger_is_refused() {
    let machine = Machine::new("crash, ledger");
    let ledger = std::env::temp_dir().join(format!("candor-crash-{}.db", std::process::id()));
    for place in [format!("sqlite:{}", ledger.display()), "memory:".to_owned(), "none".to_owned()] {
        let ended = output(&mut machine.demo(&["--crash", "--ledger", &place])).await;
        assert_eq!(ended.status.code(), Some(2), "{place}: {:?}", ended.stdout);
        let told = ended.stderr.join("\n");
        assert!(told.contains("--crash has its own ledger"), "{told}");
        assert_eq!(ended.stdout, [""; 0]);
    }
    assert!(!ledger.exists());
    machine.has_no_world();
}

#[tokio::test]
async fn crash_refuses_flags_that_it_does_not_use() {
    let machine = Machine::new("crash, flags");
    for flags in [&["--ask", "always"][..], &["--http", "127.0.0.1:0"], &["--no-console"]] {
        let ended = output(&mut machine.demo(&[&["--crash"], flags].concat())).await;
        assert_eq!(ended.status.code(), Some(2), "{flags:?}: {:?}", ended.stdout);
        let told = ended.stderr.join("\n");
        assert!(told.contains(&format!("--crash does not use {}:", flags[0])), "{told}");
        assert_eq!(ended.stdout, [""; 0]);
    }
    machine.has_no_world();
}

#[tokio::test]
async fn crash_ignores_the_users_server_variables() {
    let machine = Machine::new("crash, set");
    let mut command = machine.demo(&["--crash"]);
    command.env("CANDOR_ASK", "always").env("CANDOR_LEDGER", "memory:").env("CANDOR_HTTP", "1");
    let ended = output(&mut command).await;
    assert_eq!(ended.status.code(), Some(0), "{:?} {:?}", ended.stdout, ended.stderr);
    place(&ended.stdout, "Charges made: 1");
}

#[tokio::test]
async fn stopped_crash_demo_leaves_nothing() {
    let machine = Machine::new("crash, stopped");
    let program = Program::start(&mut machine.demo(&["--crash"]));
    while machine.worlds().is_empty() {
        tokio::task::yield_now().await;
    }
    program.terminate();
    let ended = program.ended().await;
    assert_eq!(ended.status.code(), Some(1), "{:?}", ended.stderr);
    assert_eq!(ended.stderr, ["error: stopped before the end"]);
    machine.has_no_world();
}
