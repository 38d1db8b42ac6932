//! Servers that are killed, again and again, while clients insist on their keys.
//!
//! The books have no constraint that would keep a key from being used twice, and they are written before the ledger hears of
//! it. So they tell what really happened; everything that anybody was ever told is held against them.
//!
//! `CANDOR_TEST_ROUNDS=3000 cargo test -p candor --test invoices kill::` runs more rounds.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

use rusqlite::Connection;
use serde_json::json;
use tokio::task::JoinSet;

use crate::desk::Told;
use crate::process::Program;
use crate::shop::{Shop, Way};

/// Kills by default. What is left of a minute is the last lease.
const ROUNDS: usize = 300;

/// Rounds of one shop. A caller may use 20,000 keys in an hour.
const MOST: usize = 1000;

/// New keys in a round.
const KEYS: usize = 12;

/// Clients that want the same keys in the same order.
const RIVALS: usize = 3;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn repeated_kills_never_create_a_second_invoice() {
    campaign("killed-http", Way::Http, rounds()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn repeated_kills_over_stdio_never_create_a_second_invoice() {
    campaign("killed-stdio", Way::Stdio, rounds() / 3).await;
}

fn rounds() -> usize {
    let given = std::env::var("CANDOR_TEST_ROUNDS").ok();
    given.map_or(ROUNDS, |given| given.parse().expect("CANDOR_TEST_ROUNDS is a number"))
}

async fn campaign(name: &str, way: Way, mut rounds: usize) {
    let mut tally = Tally::default();
    while rounds > 0 {
        let shop = Shop::new(name);
        let heard = Arc::<Heard>::default();
        let now = rounds.min(MOST);
        for round in 0..now {
            tally.kills[play(&shop, way, round, &heard).await as usize] += 1;
        }
        reckon(&shop, way, &heard, &mut tally).await;
        rounds -= now;
    }
    eprintln!("{name}: {tally:?}");
    // Otherwise nothing was put to the test.
    let kills: usize = tally.kills.iter().sum();
    assert!(tally.done > kills / 2, "{tally:?}");
    assert!(kills < 100 || tally.unknown_and_done > 0 && tally.unknown_and_not > 0, "{tally:?}");
}

/// What clients were told, by key. All keys that were ever sent are in it.
#[derive(Default)]
struct Heard(Mutex<BTreeMap<String, Vec<Told>>>);

impl Heard {
    fn sent(&self, key: &str) {
        self.0.lock().unwrap().entry(key.to_owned()).or_default();
    }

    fn told(&self, key: &str, told: Told) {
        self.0.lock().unwrap().get_mut(key).unwrap().push(told);
    }

    /// Any key that was sent before.
    fn any(&self) -> Option<String> {
        let all = self.0.lock().unwrap();
        all.keys().nth(random(all.len().max(1))).cloned()
    }
}

/// When a server is killed.
#[derive(Clone, Copy)]
enum Moment {
    /// Whenever; behind pipes also while it starts.
    Random,
    /// As soon as an invoice is in the books: with luck, before the ledger hears of it.
    Effect,
    /// While the books cannot be written: what has started has not happened.
    Before,
}

#[derive(Debug, Default)]
struct Tally {
    /// By [`Moment`].
    kills: [usize; 3],
    /// Keys that were done before the end, and whose result everybody was told.
    done: usize,
    /// Keys of which the last word is "unknown", with and without an invoice in the books.
    unknown_and_done: usize,
    unknown_and_not: usize,
    /// Keys that nobody had started, and that were done when they were asked for the last time.
    done_late: usize,
    /// Final answers before the last.
    answers: usize,
}

/// Starts a server, lets clients ask it, kills it.
async fn play(shop: &Shop, way: Way, round: usize, heard: &Arc<Heard>) -> Moment {
    let (server, desk) = shop.start(way).await;
    let moment = [Moment::Random, Moment::Effect, Moment::Before][round % 3];
    if !matches!(moment, Moment::Random) {
        desk.call("search_issues", &json!({"query": "are you there?"})).await;
    }
    let books = shop.books();
    let mut clients = JoinSet::new();
    // Two groups: while rivals of one wait for a key, another key is under way.
    for client in 0..2 * RIVALS {
        let (desk, heard) = (desk.clone(), Arc::clone(heard));
        clients.spawn(async move {
            for key in (0..KEYS).filter(|key| key % 2 == client % 2) {
                let key = format!("{round}-{key}");
                heard.sent(&key);
                let Some(told) = desk.settle(&key).await else { return };
                heard.told(&key, told);
            }
        });
    }
    // And one who asks for what is long past.
    let (past, hears) = (desk.clone(), Arc::clone(heard));
    clients.spawn(async move {
        while let Some(key) = hears.any() {
            let Some(told) = past.settle(&key).await else { return };
            hears.told(&key, told);
        }
    });
    let most = Duration::from_micros(random(40_000) as u64);
    match moment {
        Moment::Random => tokio::time::sleep(most).await,
        Moment::Effect => effect(&books, random(KEYS) as i64).await,
        Moment::Before => {
            tokio::time::sleep(most / 4).await;
            books.execute_batch("BEGIN IMMEDIATE").unwrap();
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
    server.kill().await;
    drop(books);
    while let Some(client) = clients.join_next().await {
        client.unwrap();
    }
    moment
}

/// Ends when there are so many more invoices, or no more in this round.
async fn effect(books: &Connection, further: i64) {
    let begun = Instant::now();
    // While a server starts for the first time, there are no books yet.
    let count = "SELECT coalesce(max(id), 0) FROM invoices";
    let last = || books.query_row(count, [], |row| row.get::<_, i64>(0)).unwrap_or(0);
    let before = last();
    while last() <= before + further && begun.elapsed() < Duration::from_millis(100) {
        tokio::task::yield_now().await;
    }
}

/// With a server that stays up, asks for every key once more, and holds all that was ever said against the books.
async fn reckon(shop: &Shop, way: Way, heard: &Heard, tally: &mut Tally) {
    let heard = std::mem::take(&mut *heard.0.lock().unwrap());
    let before = shop.invoices();
    let (server, desk) = shop.start(way).await;
    // Those whose owner was killed lately are answered when its lease is over: all wait for that together.
    let mut asked = JoinSet::new();
    let mut last = BTreeMap::new();
    for key in heard.keys().cloned() {
        while asked.len() >= 512 {
            last.extend(asked.join_next().await.unwrap());
        }
        let desk = desk.clone();
        asked.spawn(async move {
            let told = desk.settle(&key).await.expect("this server lives");
            (key, told)
        });
    }
    last.extend(asked.join_all().await);
    server.kill().await;
    let after = shop.invoices();
    for (key, ids) in &after {
        assert_eq!(ids.len(), 1, "{key} was invoiced more than once: {ids:?}");
        assert!(heard.contains_key(key), "{key} was never asked for");
    }
    for (key, answers) in heard {
        let told = &last[&key];
        // What somebody was told before, everybody is told for ever.
        assert!(answers.iter().all(|answer| answer == told), "{key}: {answers:?}, then {told:?}");
        tally.answers += answers.len();
        match (told, before.get(&key), after.get(&key)) {
            (Told::Done { id, .. }, was, Some(is)) => {
                assert_eq!(*id, is[0], "{key} is told an invoice that is another's");
                match was {
                    Some(_) => tally.done += 1,
                    None => tally.done_late += 1,
                }
            }
            (Told::Done { .. }, _, None) => panic!("{key} is told to be done, and is not"),
            (Told::Unknown, Some(_), _) => tally.unknown_and_done += 1,
            (Told::Unknown, None, None) => tally.unknown_and_not += 1,
            (Told::Unknown, None, Some(_)) => panic!("{key} is told to be unknown, and was done"),
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn server_killed_while_it_creates_its_files_starts_the_next_time() {
    for round in 0..40 {
        let shop = Shop::new("killed-young");
        for _ in 0..3 {
            let server = Program::start(shop.command().arg("--stdio"));
            tokio::time::sleep(Duration::from_micros(random(12_000) as u64)).await;
            server.kill().await;
        }
        let (_server, desk) = shop.stdio(&[]);
        let told = desk.settle("first").await;
        assert!(matches!(told, Some(Told::Done { .. })), "round {round}: {told:?}");
    }
}

/// A number below this one. Any will do: the clock is the dice.
fn random(below: usize) -> usize {
    use std::hash::{BuildHasher as _, RandomState};
    RandomState::new().hash_one(SystemTime::now()) as usize % below
}
