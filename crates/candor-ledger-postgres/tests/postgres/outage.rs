//! A PostgreSQL that is stopped in the middle of load and comes back, and one that wants TLS.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use candor_ledger::*;
use candor_ledger_postgres::PostgresStore;

use crate::cluster::Cluster;
use crate::database::{Schema, skipped};
use crate::helpers::{Folder, SAME, call, id, outcome, wait};

/// What the callers know, whatever the ledger says.
#[derive(Default)]
struct Truth {
    /// Under which fences a key was started.
    effects: Mutex<HashMap<usize, Vec<Fence>>>,
    /// Completions that the ledger has acknowledged.
    acknowledged: Mutex<HashSet<usize>>,
    refused: AtomicUsize,
    longest: Mutex<Duration>,
    over: AtomicBool,
}

impl Truth {
    async fn say(&self, store: &dyn Store, id: &RecordId, event: Event) -> Option<EventReply> {
        let begun = Instant::now();
        let answer = store.apply(id, event, AuditContext::default()).await;
        let mut longest = self.longest.lock().unwrap();
        *longest = (*longest).max(begun.elapsed());
        match answer {
            Ok(answer) => Some(answer),
            Err(StoreError::Unavailable(_)) => {
                self.refused.fetch_add(1, Ordering::Relaxed);
                None
            }
            Err(other) => panic!("{other:?}"),
        }
    }

    /// One call, as the pipeline makes it: what is not known to be granted is not started.
    async fn attempt(&self, store: &dyn Store, key: usize) {
        let id = id(&format!("key-{key}"));
        let owner = Owner::random().unwrap();
        let claim = Event::Claim { fingerprint: SAME, owner, idempotent: false };
        let Some(EventReply::Claimed { fence, .. }) = self.say(store, &id, claim).await else {
            return;
        };
        let holder = Holder { owner, fence };
        if self.say(store, &id, Event::Dispatch(holder)).await != Some(EventReply::Done) {
            return;
        }
        self.effects.lock().unwrap().entry(key).or_default().push(fence);
        // After the start the ledger is told for as long as it takes to try.
        for _ in 0..3 {
            let complete = Event::Complete { holder, outcome: outcome(&format!("{key}")) };
            if self.say(store, &id, complete).await == Some(EventReply::Done) {
                self.acknowledged.lock().unwrap().insert(key);
                return;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
}

#[test]
fn database_restarts_under_load_never_start_a_call_twice() {
    // Only PostgreSQL stops here, not the system, so a commit need not reach the disk. Otherwise each start would take seconds.
    let Some(cluster) = Cluster::make("the outage of PostgreSQL", "fsync = off") else { return };
    cluster.up();
    let schema = Schema::at(cluster.url());
    let quotas = Quotas { keys_per_hour: u64::MAX, ..Quotas::default() };
    let rules =
        LedgerLimits { lease: Duration::from_millis(300), quotas, ..LedgerLimits::default() };
    let options = Options { rules, ..Options::default() };
    let truth = Arc::new(Truth::default());
    let load: Vec<_> = (0..2)
        .map(|_| {
            // Each thread is a replica. Both use the same keys, one after the other.
            let store = PostgresStore::open(&schema.url(), options.clone()).unwrap();
            let (truth, store) = (Arc::clone(&truth), Arc::new(store));
            thread::spawn(move || {
                let runtime =
                    tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
                let next = Arc::new(AtomicUsize::new(0));
                let callers = (0..8).map(|_| {
                    let (truth, store) = (Arc::clone(&truth), Arc::clone(&store));
                    let next = Arc::clone(&next);
                    runtime.spawn(async move {
                        while !truth.over.load(Ordering::Relaxed) {
                            // Every fourth key is an old one.
                            let key = next.fetch_add(1, Ordering::Relaxed);
                            let key = if key.is_multiple_of(4) { key / 2 } else { key };
                            let id = id(&format!("key-{key}"));
                            match store.recall(&id, SAME, false).await {
                                Ok(None) => truth.attempt(&*store, key).await,
                                Ok(Some(_)) => {}
                                Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
                            }
                        }
                    })
                });
                let callers: Vec<_> = callers.collect();
                runtime.block_on(async {
                    for caller in callers {
                        caller.await.unwrap();
                    }
                });
            })
        })
        .collect();
    let started = || truth.effects.lock().unwrap().len();
    for _ in 0..4 {
        let before = started();
        // The store must reconnect, or no call starts.
        let begun = Instant::now();
        while started() < before + 50 {
            assert!(begun.elapsed() < Duration::from_secs(20), "no call starts");
            thread::sleep(Duration::from_millis(10));
        }
        cluster.down();
        thread::sleep(Duration::from_millis(200));
        cluster.up();
    }
    thread::sleep(Duration::from_millis(300));
    truth.over.store(true, Ordering::Relaxed);
    load.into_iter().for_each(|load| load.join().unwrap());
    thread::sleep(Duration::from_millis(400));

    let store = PostgresStore::open(&schema.url(), options).unwrap();
    let effects = truth.effects.lock().unwrap();
    let acknowledged = truth.acknowledged.lock().unwrap();
    wait(async {
        for (key, effects) in &*effects {
            let id = id(&format!("key-{key}"));
            assert_eq!(effects.len(), 1, "key {key} ran twice");
            let story = store.transitions(&id).await.unwrap();
            assert_eq!(story.iter().filter(|row| row.event == "dispatch").count(), 1, "key {key}");
            match store.recall(&id, SAME, false).await.unwrap() {
                Some(EventReply::Replay { .. }) => {}
                Some(EventReply::OutcomeUnknown { .. }) if !acknowledged.contains(key) => {}
                told => panic!("key {key} ran, and a caller gets {told:?}"),
            }
        }
    });
    let twice = "SELECT count(*) FROM (SELECT 1 FROM audit WHERE event = 'dispatch' GROUP BY key HAVING count(*) > 1) AS k";
    assert_eq!(schema.number(twice), 0, "a key was started twice");
    let longest = *truth.longest.lock().unwrap();
    assert!(longest < Duration::from_secs(15), "a call took {longest:?}");
    assert!(truth.refused.load(Ordering::Relaxed) > 0, "no call met the outage");
    drop(store);
}

/// Carries bytes to the server and back. Once `cut` is set, the next `COMMIT` still goes through, and its answer does not.
fn carry(server: &str, cut: &Arc<AtomicBool>) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (server, cut) = (server.to_owned(), Arc::clone(cut));
    thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let Ok(behind) = TcpStream::connect(&server) else { continue };
            let is_mute = Arc::new(AtomicBool::new(false));
            let mute = Arc::clone(&is_mute);
            let (mut from, mut to) = (behind.try_clone().unwrap(), client.try_clone().unwrap());
            thread::spawn(move || {
                let mut bytes = [0; 8192];
                while let Ok(len @ 1..) = from.read(&mut bytes) {
                    if mute.load(Ordering::SeqCst) {
                        // Until the server says that it is in no transaction any more.
                        if bytes[..len].windows(6).any(|part| part == b"Z\0\0\0\x05I") {
                            break;
                        }
                    } else if to.write_all(&bytes[..len]).is_err() {
                        break;
                    }
                }
                let _ = to.shutdown(Shutdown::Both);
            });
            let (mut from, mut to) = (client, behind);
            let cut = Arc::clone(&cut);
            thread::spawn(move || {
                let mut bytes = [0; 8192];
                while let Ok(len @ 1..) = from.read(&mut bytes) {
                    // Not the one in READ COMMITTED.
                    let ends = bytes[..len].windows(7).any(|part| part == b"COMMIT\0");
                    if ends && cut.swap(false, Ordering::SeqCst) {
                        is_mute.store(true, Ordering::SeqCst);
                    }
                    if to.write_all(&bytes[..len]).is_err() {
                        break;
                    }
                }
                let _ = to.shutdown(Shutdown::Write);
            });
        }
    });
    port
}

#[test]
fn lost_commit_answer_never_starts_a_call_twice() {
    let Some(schema) = Schema::new("lost_commit_answer_never_starts_a_call_twice") else { return };
    let Some((server, port)) = schema.server() else { return };
    let cut = Arc::new(AtomicBool::new(false));
    let carried = carry(&format!("{server}:{port}"), &cut);
    let url =
        schema.url().replacen(&format!("{server}:{port}"), &format!("127.0.0.1:{carried}"), 1);
    let store = PostgresStore::open(&format!("{url}&sslmode=disable"), Options::default()).unwrap();
    let (id, owner) = (id("a"), Owner([1; 16]));
    let say = |event| store.apply(&id, event, AuditContext::default());
    wait(async {
        // The claim is stored, but its caller does not know.
        cut.store(true, Ordering::SeqCst);
        let claim = Event::Claim { fingerprint: SAME, owner, idempotent: false };
        let told = say(claim.clone()).await;
        assert!(matches!(told, Err(StoreError::Unavailable(_))), "{told:?}");
        let found = store.find(&id).await.unwrap().unwrap();
        assert_eq!(found.stored.state.kind(), StateKind::Claimed);
        // The same claim again finds the first one.
        assert!(matches!(say(claim).await, Ok(EventReply::InFlight { .. })));

        // The dispatch is stored too, unknown to its caller, and is not granted twice.
        let holder = Holder { owner, fence: found.stored.fence };
        cut.store(true, Ordering::SeqCst);
        let told = say(Event::Dispatch(holder)).await;
        assert!(matches!(told, Err(StoreError::Unavailable(_))), "{told:?}");
        assert_eq!(say(Event::Dispatch(holder)).await, Ok(EventReply::Lost));
        let story = store.transitions(&id).await.unwrap();
        let events: Vec<&str> = story.iter().map(|row| row.event.as_str()).collect();
        assert_eq!(events, ["claim", "dispatch"]);
    });
}

fn openssl(folder: &Folder, arguments: &str) -> bool {
    let mut command = Command::new("openssl");
    command.args(arguments.split(' ')).current_dir(folder.join(""));
    command.output().is_ok_and(|output| output.status.success())
}

#[test]
fn tls_mode_of_the_url_is_applied() {
    let test = "tls_mode_of_the_url_is_applied";
    let settings = "ssl = on\nssl_cert_file = 'server.pem'\nssl_key_file = 'server.key'";
    let Some(cluster) = Cluster::make(test, settings) else { return };
    let folder = cluster.folder();
    fs::write(folder.join("names"), "subjectAltName=IP:127.0.0.1").unwrap();
    let key = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes";
    for line in [
        format!("req -x509 {key} -subj /CN=authority -days 2 -keyout ca.key -out ca.pem"),
        format!("req -x509 {key} -subj /CN=stranger -days 2 -keyout other.key -out other.pem"),
        format!("req {key} -subj /CN=server -keyout data/server.key -out server.csr"),
        "x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile names -out data/server.pem"
            .to_owned(),
    ] {
        if !openssl(folder, &line) {
            skipped(test, "there is no `openssl` to make certificates with");
            return;
        }
    }
    cluster.give_away(&cluster.data().join("server.key"));
    fs::write(cluster.data().join("pg_hba.conf"), "hostssl all all 127.0.0.1/32 trust\n").unwrap();
    cluster.up();

    let try_with = |options: &str| {
        let store =
            PostgresStore::open(&format!("{}?{options}", cluster.url()), Options::default())?;
        wait(call(&store, &id(&Owner::random().unwrap().to_string()), "x"));
        Ok::<_, StoreError>(())
    };
    let root =
        |name: &str| format!("sslmode=verify-full&sslrootcert={}", folder.join(name).display());
    try_with("sslmode=prefer").unwrap();
    try_with("sslmode=require").unwrap();
    try_with(&root("ca.pem")).unwrap();
    for refused in
        ["sslmode=disable".to_owned(), "sslmode=verify-full".to_owned(), root("other.pem")]
    {
        let error = try_with(&refused).unwrap_err();
        assert!(matches!(error, StoreError::Unavailable(_)), "{refused}: {error:?}");
    }
    // Another name of the same host, which the certificate does not have.
    let url = cluster.url().replace("127.0.0.1", "localhost");
    let refused = PostgresStore::open(
        &format!("{url}?{}&hostaddr=127.0.0.1", root("ca.pem")),
        Options::default(),
    );
    let refused = refused.err().unwrap().to_string();
    assert!(
        refused.contains("not valid for name") || refused.contains("NotValidForName"),
        "{refused}"
    );
}
