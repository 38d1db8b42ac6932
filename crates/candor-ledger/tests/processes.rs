//! Several processes on one ledger, some of which are killed.
//!
//! The workers are this very test binary, started again with a variable that says what to do. What they do to the world is a
//! line in a file outside the ledger: that file is the truth, and the ledger is held against it.

#![cfg(unix)]

mod common;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::env;
use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Child, Command};
use std::sync::Arc;
use std::time::Duration;

use candor_ledger::*;
use common::{Folder, SAME, say, wait};

const ROLE: &str = "CANDOR_LEDGER_TEST_ROLE";
const PLACE: &str = "CANDOR_LEDGER_TEST_PLACE";
const LEDGER: &str = "CANDOR_LEDGER_TEST_URL";

fn start(role: &str, ledger: &str, folder: &Folder) -> Child {
    Command::new(env::current_exe().unwrap())
        .args(["--exact", "worker", "--quiet"])
        .env(ROLE, role)
        .env(PLACE, folder.join(""))
        .env(LEDGER, ledger)
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap()
}

/// Not a test: the tests start it as a process.
#[test]
fn worker() {
    let (Ok(role), Ok(place), Ok(ledger)) = (env::var(ROLE), env::var(PLACE), env::var(LEDGER))
    else {
        return;
    };
    let place = Path::new(&place);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_time()
        .build()
        .unwrap();
    match role.as_str() {
        "race" => runtime.block_on(race(&ledger, place)),
        "live" => runtime.block_on(live(&ledger, place)),
        "use" => runtime.block_on(use_approvals(&ledger, place)),
        other => panic!("no role {other}"),
    }
}

/// Of a hundred tools: scopes are new, and are added by several at once, all the time.
fn id(key: &str) -> RecordId {
    let number: u64 = key.trim_start_matches("key-").parse().unwrap();
    let mut id = common::id(key);
    id.scope.tool = format!("tool-{}", number % 100);
    id
}

/// Whatever was killed in between: what is written in a scope is written in one that is there, and each is there once.
fn scopes_are_whole(folder: &Folder) {
    let db = rusqlite::Connection::open(folder.join("ledger.db")).unwrap();
    let count = |sql: &str| -> i64 { db.query_row(sql, [], |row| row.get(0)).unwrap() };
    let there = "(SELECT id FROM scopes)";
    assert_eq!(count(&format!("SELECT count(*) FROM records WHERE scope NOT IN {there}")), 0);
    assert_eq!(count(&format!("SELECT count(*) FROM audit WHERE scope NOT IN {there}")), 0);
    assert_eq!(
        count("SELECT count(*) FROM scopes"),
        count("SELECT count(DISTINCT tool) FROM scopes")
    );
    assert_eq!(count("SELECT count(*) FROM scopes"), 100);
}

fn random(below: u64) -> u64 {
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes).unwrap();
    u64::from_le_bytes(bytes) % below
}

fn effects(place: &Path) -> File {
    OpenOptions::new().append(true).create(true).open(place.join("effects")).unwrap()
}

/// One line, in one write: no other's line comes between.
fn happen(mut effects: &File, key: &str, fence: Fence) {
    effects.write_all(format!("{key} {}\n", fence.0).as_bytes()).unwrap();
}

/// What really happened: for each key, the fences under which it did.
fn happened(folder: &Folder) -> BTreeMap<String, Vec<u64>> {
    let mut all: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    for line in fs::read_to_string(folder.join("effects")).unwrap_or_default().lines() {
        let (key, fence) = line.split_once(' ').unwrap();
        all.entry(key.to_owned()).or_default().push(fence.parse().unwrap());
    }
    all
}

const KEYS: usize = 2_000;
const RACERS: usize = 4;

fn race_rules() -> LedgerLimits {
    LedgerLimits { lease: Duration::from_secs(120), ..LedgerLimits::default() }
}

/// All keys, each in an order of its own, sixteen at once; each key until it is known what came of it.
async fn race(ledger: &str, place: &Path) {
    let options = Options { rules: race_rules(), ..Options::default() };
    let store = open(ledger, options).unwrap();
    let effects = Arc::new(effects(place));
    let offset = random(KEYS as u64) as usize;
    let tasks: Vec<_> = (0..16)
        .map(|task| {
            let (store, effects) = (Arc::clone(&store), Arc::clone(&effects));
            tokio::spawn(async move {
                for at in (task..KEYS).step_by(16) {
                    let key = format!("key-{}", (at + offset) % KEYS);
                    settle(&*store, &effects, &key).await;
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
}

/// In one step or in two: both kinds of caller race for the same keys.
fn either(owner: Owner, idempotent: bool) -> Event {
    match random(2) {
        0 => Event::Claim { fingerprint: SAME, owner, idempotent },
        _ => Event::Start { fingerprint: SAME, owner, idempotent, approval: None },
    }
}

async fn run_and_complete(store: &dyn Store, effects: &File, key: &str, holder: Holder) {
    happen(effects, key, holder.fence);
    let ended = Event::Complete { holder, outcome: common::outcome(key) };
    assert_eq!(say(store, &id(key), ended).await, EventReply::Done);
}

async fn settle(store: &dyn Store, effects: &File, key: &str) {
    let id = id(key);
    loop {
        let owner = Owner::random().unwrap();
        let answer = match store.recall(&id, SAME, false).await.unwrap() {
            Some(answer) => answer,
            None => say(store, &id, either(owner, false)).await,
        };
        match answer {
            EventReply::Claimed { fence, .. } => {
                let holder = Holder { owner, fence };
                assert_eq!(say(store, &id, Event::Dispatch(holder)).await, EventReply::Done);
                run_and_complete(store, effects, key, holder).await;
            }
            EventReply::Started { fence, .. } => {
                run_and_complete(store, effects, key, Holder { owner, fence }).await;
            }
            EventReply::InFlight { fence, state, .. } => {
                store.watch(&id, RecordVersion { fence, state }).await.unwrap();
            }
            EventReply::Replay { outcome, .. } => {
                assert_eq!(outcome, common::outcome(key));
                return;
            }
            other => panic!("{other:?}"),
        }
    }
}

fn race_on(ledger: &str) {
    let folder = Folder::new();
    let racers: Vec<Child> = (0..RACERS).map(|_| start("race", ledger, &folder)).collect();
    for mut racer in racers {
        assert!(racer.wait().unwrap().success());
    }
    let happened = happened(&folder);
    assert_eq!(happened.len(), KEYS);
    assert_eq!(happened.values().map(Vec::len).sum::<usize>(), KEYS, "a key was started twice");
}

fn in_a_file(folder: &Folder) -> String {
    format!("sqlite:{}", folder.join("ledger.db").display())
}

#[test]
fn processes_racing_for_keys_start_each_call_once() {
    let folder = Folder::new();
    race_on(&in_a_file(&folder));
    scopes_are_whole(&folder);
}

#[cfg(feature = "postgres")]
#[test]
fn processes_racing_for_keys_in_postgresql_start_each_call_once() {
    if let Some(schema) = common::database::Schema::new("the race in PostgreSQL") {
        race_on(&schema.url());
    }
}

const APPROVED: u64 = 400;
const USERS: usize = 8;

/// What became of the question of each key before anybody starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Said {
    Yes,
    Nothing,
    No,
    /// Yes, but to a definition that has changed since.
    YesToAnother,
}

fn said(key: u64) -> Said {
    match key % 8 {
        0 => Said::Nothing,
        1 => Said::No,
        2 => Said::YesToAnother,
        _ => Said::Yes,
    }
}

async fn ask_and_decide(store: &dyn Store, key: u64) {
    let id = id(&format!("key-{key}"));
    let said = said(key);
    let binding = if said == Said::YesToAnother { Binding([9; 32]) } else { common::POLICY };
    let asked = b"may it?"[..].into();
    let ask = Event::Ask { fingerprint: SAME, binding, asked, idempotent: false, keyless: false };
    let EventReply::Waiting { fence, .. } = say(store, &id, ask).await else { panic!() };
    let question = RequestVersion { fence, fingerprint: SAME, binding };
    let decision = match said {
        Said::Nothing => return,
        Said::No => Review::Deny { reason: None },
        Said::Yes | Said::YesToAnother => Review::Approve,
    };
    assert_eq!(say(store, &id, common::decide(question, decision)).await, EventReply::Done);
}

/// Starts all that it may: each key from eight tasks at once. What was started ends without harm, so that nothing but the approval stands
/// between it and another start.
async fn use_approvals(ledger: &str, place: &Path) {
    let store = open(ledger, Options { rules: race_rules(), ..Options::default() }).unwrap();
    let effects = Arc::new(effects(place));
    let tasks: Vec<_> = (0..8)
        .map(|_| {
            let (store, effects) = (Arc::clone(&store), Arc::clone(&effects));
            let offset = random(16);
            tokio::spawn(async move {
                for at in 0..APPROVED {
                    let key = format!("key-{}", (at + offset) % APPROVED);
                    let owner = Owner::random().unwrap();
                    let start = Event::Start {
                        fingerprint: SAME,
                        owner,
                        idempotent: false,
                        approval: Some(common::POLICY),
                    };
                    if let EventReply::Started { fence, .. } = say(&*store, &id(&key), start).await
                    {
                        happen(&effects, &key, fence);
                        let (holder, why) = (Holder { owner, fence }, RetryReason::NothingHappened);
                        let ended = Event::Discard { holder, why };
                        assert_eq!(say(&*store, &id(&key), ended).await, EventReply::Done);
                    }
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
}

fn use_on(ledger: &str) {
    let folder = Folder::new();
    let quotas = Quotas { waiting: u64::MAX, ..Quotas::default() };
    let rules = LedgerLimits { quotas, ..race_rules() };
    let store = open(ledger, Options { rules, ..Options::default() }).unwrap();
    for key in 0..APPROVED {
        wait(ask_and_decide(&*store, key));
    }
    let users: Vec<Child> = (0..USERS).map(|_| start("use", ledger, &folder)).collect();
    for mut user in users {
        assert!(user.wait().unwrap().success());
    }
    let happened = happened(&folder);
    for key in 0..APPROVED {
        let (name, said) = (format!("key-{key}"), said(key));
        let effects = happened.get(&name).map_or(0, Vec::len);
        assert_eq!(effects, usize::from(said == Said::Yes), "{name}, to which was said: {said:?}");
        let story = wait(store.transitions(&id(&name))).unwrap();
        let starts: Vec<_> = story.iter().filter(|row| row.event == "start").collect();
        assert_eq!(starts.len(), effects);
        assert!(starts.iter().all(|row| row.by.as_deref() == Some("olga")
            && row.via == Some(ApprovalChannel::Operator)
            && row.change.unwrap().from == StateKind::Approved));
    }
}

#[test]
fn processes_sharing_an_approval_start_one_call() {
    let folder = Folder::new();
    use_on(&in_a_file(&folder));
}

#[cfg(feature = "postgres")]
#[test]
fn processes_sharing_an_approval_in_postgresql_start_one_call() {
    if let Some(schema) = common::database::Schema::new("approvals used by processes") {
        use_on(&schema.url());
    }
}

const LIVE_KEYS: u64 = 1_500;

/// Short leases: whoever dies is missed while the test still runs.
fn live_rules() -> LedgerLimits {
    let quotas = Quotas {
        records: u64::MAX,
        bytes: u64::MAX / 2,
        keys_per_hour: u64::MAX,
        ..Quotas::default()
    };
    LedgerLimits { lease: Duration::from_millis(150), quotas, ..LedgerLimits::default() }
}

/// Every fifth key is of a call that may be repeated by nature.
fn idempotent(key: u64) -> bool {
    key.is_multiple_of(5)
}

/// Calls at random until it is killed.
async fn live(ledger: &str, place: &Path) {
    let options = Options { rules: live_rules(), ..Options::default() };
    let store = open(ledger, options).unwrap();
    let effects = Arc::new(effects(place));
    // Whatever goes wrong in one of the tasks is the end of the process, and seen.
    std::panic::set_hook(Box::new(|what| {
        eprintln!("{what}");
        std::process::exit(3);
    }));
    for _ in 0..12 {
        let (store, effects) = (Arc::clone(&store), Arc::clone(&effects));
        tokio::spawn(async move {
            loop {
                attempt(&*store, &effects, random(LIVE_KEYS)).await;
            }
        });
    }
    std::future::pending::<()>().await;
}

async fn pause() {
    if random(3) == 0 {
        tokio::time::sleep(Duration::from_millis(random(4))).await;
    }
}

async fn attempt(store: &dyn Store, effects: &File, key: u64) {
    let (name, idempotent) = (format!("key-{key}"), idempotent(key));
    let id = id(&name);
    let owner = Owner::random().unwrap();
    let fence = match say(store, &id, either(owner, idempotent)).await {
        EventReply::Started { fence, .. } => fence,
        EventReply::Claimed { fence, .. } => {
            pause().await;
            // Slow as it is, it may have lost its claim meanwhile: then it must not start.
            if say(store, &id, Event::Dispatch(Holder { owner, fence })).await != EventReply::Done {
                return;
            }
            fence
        }
        _ => return,
    };
    let holder = Holder { owner, fence };
    pause().await;
    happen(effects, &name, fence);
    pause().await;
    say(store, &id, Event::Complete { holder, outcome: common::outcome(&name) }).await;
}

fn kill_on(ledger: &str, lives: usize, longest: u64) {
    let folder = Folder::new();
    for life in 0..lives {
        // Two of them at once, now and then.
        let children = 1 + usize::from(life.is_multiple_of(4));
        let children: Vec<Child> = (0..children).map(|_| start("live", ledger, &folder)).collect();
        std::thread::sleep(Duration::from_millis(20 + random(longest)));
        for mut child in children {
            child.kill().unwrap();
            assert_eq!(child.wait().unwrap().signal(), Some(9), "it ended before it was killed");
        }
    }
    std::thread::sleep(live_rules().lease);
    let happened = happened(&folder);
    let options = Options { rules: live_rules(), ..Options::default() };
    let store = open(ledger, options).unwrap();
    let mut kinds: HashMap<StateKind, usize> = HashMap::new();
    for key in 0..LIVE_KEYS {
        let name = format!("key-{key}");
        let effects = happened.get(&name).map_or(&[][..], Vec::as_slice);
        let kind = wait(check(&*store, &name, idempotent(key), effects));
        *kinds.entry(kind).or_default() += 1;
    }
    // Otherwise nothing was put to the test.
    assert!(kinds.get(&StateKind::Completed).is_some_and(|count| *count > 50), "{kinds:?}");
    assert!(kinds.get(&StateKind::Indeterminate).is_some_and(|count| *count > 5), "{kinds:?}");
}

#[test]
fn repeated_kills_never_start_a_call_twice() {
    let folder = Folder::new();
    kill_on(&in_a_file(&folder), 100, 100);
    scopes_are_whole(&folder);
}

#[cfg(feature = "postgres")]
#[test]
fn repeated_kills_with_postgresql_never_start_a_call_twice() {
    if let Some(schema) = common::database::Schema::new("processes killed at PostgreSQL") {
        kill_on(&schema.url(), 25, 250);
    }
}

/// Holds what the ledger says of a key against what happened. Returns where the record stands.
async fn check(store: &dyn Store, name: &str, idempotent: bool, effects: &[u64]) -> StateKind {
    let id = id(name);
    let Some(entry) = store.find(&id).await.unwrap() else {
        assert!(effects.is_empty(), "{name} happened, and there is no record of it");
        return StateKind::Absent;
    };
    let record = entry.seen.unwrap();
    let kind = record.state.kind();
    let starts: Vec<u64> = store
        .transitions(&id)
        .await
        .unwrap()
        .iter()
        .filter(|row| matches!(row.event.as_str(), "dispatch" | "start"))
        .map(|row| row.change.unwrap().fence.0)
        .collect();
    assert_eq!(record.attempt as usize, starts.len());
    assert!(idempotent || starts.len() <= 1, "{name} was started {} times", starts.len());
    assert!(idempotent || effects.len() <= 1, "{name} happened {} times", effects.len());
    let distinct: HashSet<u64> = effects.iter().copied().collect();
    assert_eq!(distinct.len(), effects.len(), "{name} happened twice under one fence");
    assert!(
        distinct.iter().all(|fence| starts.contains(fence)),
        "{name} happened before its start"
    );
    match kind {
        StateKind::Completed => {
            assert!(distinct.contains(&record.fence.0), "{name} is completed and did not happen");
        }
        StateKind::Indeterminate => assert!(!starts.is_empty()),
        // Claimed by one who died before the start: it may be claimed again, because nothing happened.
        StateKind::Open => assert!(effects.is_empty(), "{name} happened and may be started"),
        other => panic!("{name} is left as {other:?}"),
    }
    // What a caller is told now.
    let told = store.recall(&id, SAME, false).await.unwrap();
    match told {
        Some(EventReply::Replay { .. }) => assert_eq!(kind, StateKind::Completed),
        Some(EventReply::OutcomeUnknown { .. }) => assert_eq!(kind, StateKind::Indeterminate),
        None => assert!(effects.is_empty(), "{name} happened and would be started"),
        Some(other) => panic!("{name}: {other:?}"),
    }
    kind
}
