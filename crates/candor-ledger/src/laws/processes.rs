//! Processes that share a ledger, some of which are killed.
//!
//! The workers are the test binary itself, started again with variables that say what to do. What they do is a line in a file
//! outside the ledger. That file is the truth, and the ledger is checked against it.
//!
//! ```no_run
//! use std::sync::Arc;
//! use candor_ledger::{Options, SqliteStore, Store, StoreError, laws::processes::Processes};
//!
//! fn open(address: &str, options: Options) -> Result<Arc<dyn Store>, StoreError> {
//!     Ok(Arc::new(SqliteStore::open(address, options)?))
//! }
//!
//! const PROCESSES: Processes = Processes { open, worker: "worker" };
//!
//! /// Not a test: the other tests start it as a process.
//! #[test]
//! fn worker() {
//!     PROCESSES.work();
//! }
//!
//! #[test]
//! fn processes_racing_for_keys_start_each_call_once() {
//!     PROCESSES.race("/tmp/a-new-ledger.db").unwrap();
//! }
//! ```

use std::collections::{BTreeMap, HashMap, HashSet};
use std::env;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::Violation;
use super::case::{POLICY, SAME, decide, outcome, say};
use super::ensure::{Checked, Observation, Required};
use crate::{
    ApprovalChannel, Binding, Event, EventReply, Fence, Holder, LedgerLimits, Options, Owner,
    Quotas, RecordId, RecordVersion, RequestVersion, RetryReason, Review, StateKind, Store,
    StoreError,
};

const ROLE: &str = "CANDOR_LEDGER_TEST_ROLE";
const FOLDER: &str = "CANDOR_LEDGER_TEST_FOLDER";
const LEDGER: &str = "CANDOR_LEDGER_TEST_URL";

/// Opens the ledger at an address.
pub type OpenLedger = fn(address: &str, options: Options) -> Result<Arc<dyn Store>, StoreError>;

/// How a test binary opens the ledger under test, and runs a worker.
#[derive(Clone, Copy)]
pub struct Processes {
    /// Opens the ledger at an address.
    pub open: OpenLedger,
    /// The name of the test that calls [`Processes::work`].
    pub worker: &'static str,
}

impl Processes {
    /// Does the work of a worker, if this process is one.
    ///
    /// # Panics
    /// Panics if the store fails or breaks a law. The process that started the worker reports it.
    pub fn work(self) {
        let (Ok(role), Ok(folder), Ok(ledger)) =
            (env::var(ROLE), env::var(FOLDER), env::var(LEDGER))
        else {
            return;
        };
        // A failure in one of the tasks ends the process, so that it is seen.
        std::panic::set_hook(Box::new(|what| {
            let _ = writeln!(io::stderr(), "{what}");
            std::process::exit(3);
        }));
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
        let worker =
            Worker { effects: Arc::new(effects(Path::new(&folder))), open: self.open, ledger };
        let worked = runtime.expect("a runtime").block_on(async {
            match role.as_str() {
                "race" => worker.race().await,
                "live" => worker.live().await,
                "use" => worker.use_approvals().await,
                other => fail!("no worker has the role {other}"),
            }
        });
        worked.unwrap_or_else(|seen| panic!("{}", seen.text()));
    }

    /// Lets processes race for keys. Each call must start once. The ledger is new.
    ///
    /// # Errors
    /// Returns what was seen, if a call did not start once.
    pub fn race(self, ledger: &str) -> Result<(), Violation> {
        let law = "processes_racing_for_keys_start_each_call_once";
        self.race_on(ledger).map_err(|seen| Violation::new(law, seen))
    }

    /// Lets processes use the same approvals. Each approval must start one call. The ledger is new.
    ///
    /// # Errors
    /// Returns what was seen, if an approval did not start one call.
    pub fn share_approvals(self, ledger: &str) -> Result<(), Violation> {
        let law = "processes_sharing_an_approval_start_one_call";
        self.use_on(ledger).map_err(|seen| Violation::new(law, seen))
    }

    /// Starts and kills processes, `lives` times, each after at most `longest` milliseconds. No call may start twice, and no
    /// call that ran may look as if it had not. The ledger is new.
    ///
    /// # Errors
    /// Returns what was seen, if the ledger does not agree with what happened.
    pub fn kill(self, ledger: &str, lives: usize, longest: u64) -> Result<(), Violation> {
        let law = "repeated_kills_never_start_a_call_twice";
        self.kill_on(ledger, lives, longest).map_err(|seen| Violation::new(law, seen))
    }

    fn start(self, role: &str, ledger: &str, folder: &EffectsFolder) -> Checked<Child> {
        let child = Command::new(env::current_exe().map_err(unexpected)?)
            .args(["--exact", self.worker, "--quiet"])
            .env(ROLE, role)
            .env(FOLDER, &folder.0)
            .env(LEDGER, ledger)
            .stdout(Stdio::null())
            .spawn();
        child.map_err(unexpected)
    }

    fn start_and_wait(
        self,
        role: &str,
        count: usize,
        ledger: &str,
        folder: &EffectsFolder,
    ) -> Checked {
        let children: Vec<Child> =
            (0..count).map(|_| self.start(role, ledger, folder)).collect::<Checked<_>>()?;
        let mut ends = Vec::new();
        for mut child in children {
            ends.push(child.wait().map_err(unexpected)?);
        }
        ensure!(ends.iter().all(std::process::ExitStatus::success), "a process failed: {ends:?}");
        Ok(())
    }

    fn store(self, ledger: &str, rules: LedgerLimits) -> Checked<Arc<dyn Store>> {
        Ok((self.open)(ledger, Options { rules, ..Options::default() })?)
    }

    fn race_on(self, ledger: &str) -> Checked {
        let folder = EffectsFolder::new()?;
        self.start_and_wait("race", RACERS, ledger, &folder)?;
        let happened = folder.happened()?;
        ensure_eq!(happened.len(), KEYS, "keys that were called");
        ensure_eq!(happened.values().map(Vec::len).sum::<usize>(), KEYS, "starts of all keys");
        Ok(())
    }

    fn use_on(self, ledger: &str) -> Checked {
        let folder = EffectsFolder::new()?;
        let quotas = Quotas { waiting: u64::MAX, ..Quotas::default() };
        let store = self.store(ledger, LedgerLimits { quotas, ..race_limits() })?;
        for key in 0..APPROVED {
            wait(ask_and_decide(&*store, key))?;
        }
        self.start_and_wait("use", USERS, ledger, &folder)?;
        let happened = folder.happened()?;
        for key in 0..APPROVED {
            let (name, review) = (format!("key-{key}"), review_of(key));
            let effects = happened.get(&name).map_or(0, Vec::len);
            let expected = usize::from(review == GivenReview::Approved);
            ensure_eq!(effects, expected, "starts of {name}, which is {review:?}");
            let rows = wait(store.transitions(&id(&name)))?;
            let starts: Vec<_> = rows.iter().filter(|row| row.event == "start").collect();
            ensure_eq!(starts.len(), effects, "rows of starts of {name}");
            let names_the_reviewer = starts.iter().all(|row| {
                row.by.as_deref() == Some("olga")
                    && row.via == Some(ApprovalChannel::Operator)
                    && row.change.is_some_and(|change| change.from == StateKind::Approved)
            });
            ensure!(
                names_the_reviewer,
                "the start of {name} does not name its reviewer: {starts:?}"
            );
        }
        Ok(())
    }

    fn kill_on(self, ledger: &str, lives: usize, longest: u64) -> Checked {
        let folder = EffectsFolder::new()?;
        for life in 0..lives {
            // Sometimes two at once.
            let count = 1 + usize::from(life.is_multiple_of(4));
            let children: Vec<Child> =
                (0..count).map(|_| self.start("live", ledger, &folder)).collect::<Checked<_>>()?;
            std::thread::sleep(Duration::from_millis(20 + random(longest)));
            for mut child in children {
                child.kill().map_err(unexpected)?;
                let end = child.wait().map_err(unexpected)?;
                ensure_eq!(end.signal(), Some(9), "the end of a process that was to be killed");
            }
        }
        std::thread::sleep(live_limits().lease);
        let happened = folder.happened()?;
        let store = self.store(ledger, live_limits())?;
        let mut kinds: HashMap<StateKind, usize> = HashMap::new();
        for key in 0..LIVE_KEYS {
            let name = format!("key-{key}");
            let effects = happened.get(&name).map_or(&[][..], Vec::as_slice);
            let kind = wait(check(&*store, &name, idempotent(key), effects))?;
            *kinds.entry(kind).or_default() += 1;
        }
        // Otherwise nothing was tested.
        ensure!(kinds.get(&StateKind::Completed).is_some_and(|count| *count > 50), "{kinds:?}");
        ensure!(kinds.get(&StateKind::Indeterminate).is_some_and(|count| *count > 5), "{kinds:?}");
        Ok(())
    }
}

/// A failure of the machine, not of the store.
#[allow(clippy::needless_pass_by_value)] // `map_err` passes it by value
fn unexpected(error: io::Error) -> Observation {
    Observation::new(format!("the test cannot run: {error}"))
}

fn wait<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(future)
}

/// A folder for what happened, removed at the end.
struct EffectsFolder(PathBuf);

impl EffectsFolder {
    fn new() -> Checked<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let (process, number) = (std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let path = env::temp_dir().join(format!("candor-effects-{process}-{number}"));
        fs::create_dir_all(&path).map_err(unexpected)?;
        Ok(Self(path))
    }

    /// Returns what really happened: for each key, the fences under which it did.
    fn happened(&self) -> Checked<BTreeMap<String, Vec<u64>>> {
        let mut all: BTreeMap<String, Vec<u64>> = BTreeMap::new();
        for line in fs::read_to_string(self.0.join("effects")).unwrap_or_default().lines() {
            let (key, fence) = line.split_once(' ').required("fence in a line")?;
            let fence = fence.parse().ok().required("number in a line")?;
            all.entry(key.to_owned()).or_default().push(fence);
        }
        Ok(all)
    }
}

impl Drop for EffectsFolder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Returns an id under one of a hundred tools: scopes are new, and several processes add them at once.
fn id(key: &str) -> RecordId {
    let number: u64 = key.trim_start_matches("key-").parse().unwrap_or_default();
    let mut id = super::case::id(key);
    id.scope.tool = format!("tool-{}", number % 100);
    id
}

fn random(below: u64) -> u64 {
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes).expect("randomness");
    u64::from_le_bytes(bytes) % below
}

fn effects(folder: &Path) -> File {
    let open = OpenOptions::new().append(true).create(true).open(folder.join("effects"));
    open.expect("the file of effects")
}

/// Adds one line in one write, so no other line comes between.
fn happen(mut effects: &File, key: &str, fence: Fence) {
    effects.write_all(format!("{key} {}\n", fence.0).as_bytes()).expect("the file of effects");
}

const KEYS: usize = 2_000;
const RACERS: usize = 4;
const APPROVED: u64 = 400;
const USERS: usize = 8;
const LIVE_KEYS: u64 = 1_500;

fn race_limits() -> LedgerLimits {
    LedgerLimits { lease: Duration::from_secs(120), ..LedgerLimits::default() }
}

/// Leases are short: the end of a process shows while the test still runs.
fn live_limits() -> LedgerLimits {
    let quotas = Quotas {
        records: u64::MAX,
        bytes: u64::MAX / 2,
        keys_per_hour: u64::MAX,
        ..Quotas::default()
    };
    LedgerLimits { lease: Duration::from_millis(150), quotas, ..LedgerLimits::default() }
}

/// The call of every fifth key is safe to retry.
fn idempotent(key: u64) -> bool {
    key.is_multiple_of(5)
}

/// A worker's view of the ledger.
struct Worker {
    effects: Arc<File>,
    open: OpenLedger,
    ledger: String,
}

impl Worker {
    fn store(&self, rules: LedgerLimits) -> Checked<Arc<dyn Store>> {
        Ok((self.open)(&self.ledger, Options { rules, ..Options::default() })?)
    }

    /// Calls all keys, sixteen at once, from a different one on in each process. Each key until its outcome is known.
    async fn race(&self) -> Checked {
        let store = self.store(race_limits())?;
        let offset = random(KEYS as u64) as usize;
        let tasks: Vec<_> = (0..16)
            .map(|task| {
                let (store, effects) = (Arc::clone(&store), Arc::clone(&self.effects));
                tokio::spawn(async move {
                    for at in (task..KEYS).step_by(16) {
                        let key = format!("key-{}", (at + offset) % KEYS);
                        settle(&*store, &effects, &key).await?;
                    }
                    Checked::Ok(())
                })
            })
            .collect();
        for task in tasks {
            task.await.expect("a task")?;
        }
        Ok(())
    }

    /// Starts all that it may: each key from eight tasks at once. Each call ends without an effect, so that only the approval
    /// prevents another start.
    async fn use_approvals(&self) -> Checked {
        let store = self.store(race_limits())?;
        let tasks: Vec<_> = (0..8)
            .map(|_| {
                let (store, effects) = (Arc::clone(&store), Arc::clone(&self.effects));
                let offset = random(16);
                tokio::spawn(async move {
                    for at in 0..APPROVED {
                        let key = format!("key-{}", (at + offset) % APPROVED);
                        use_approval(&*store, &effects, &key).await?;
                    }
                    Checked::Ok(())
                })
            })
            .collect();
        for task in tasks {
            task.await.expect("a task")?;
        }
        Ok(())
    }

    /// Calls at random until it is killed.
    async fn live(&self) -> Checked {
        let store = self.store(live_limits())?;
        for _ in 0..12 {
            let (store, effects) = (Arc::clone(&store), Arc::clone(&self.effects));
            tokio::spawn(async move {
                loop {
                    let attempted = attempt(&*store, &effects, random(LIVE_KEYS)).await;
                    attempted.unwrap_or_else(|seen| panic!("{}", seen.text()));
                }
            });
        }
        std::future::pending().await
    }
}

/// Returns an event for one step or for two: both kinds of caller race for the same keys.
fn either(owner: Owner, idempotent: bool) -> Event {
    match random(2) {
        0 => Event::Claim { fingerprint: SAME, owner, idempotent },
        _ => Event::Start { fingerprint: SAME, owner, idempotent, approval: None },
    }
}

async fn run_and_complete(store: &dyn Store, effects: &File, key: &str, holder: Holder) -> Checked {
    happen(effects, key, holder.fence);
    let ended = Event::Complete { holder, outcome: outcome(key) };
    ensure_eq!(say(store, &id(key), ended).await?, EventReply::Done);
    Ok(())
}

async fn settle(store: &dyn Store, effects: &File, key: &str) -> Checked {
    let id = id(key);
    loop {
        let owner = Owner::random()?;
        let reply = match store.recall(&id, SAME, false).await? {
            Some(reply) => reply,
            None => say(store, &id, either(owner, false)).await?,
        };
        match reply {
            EventReply::Claimed { fence, .. } => {
                let holder = Holder { owner, fence };
                ensure_eq!(say(store, &id, Event::Dispatch(holder)).await?, EventReply::Done);
                run_and_complete(store, effects, key, holder).await?;
            }
            EventReply::Started { fence, .. } => {
                run_and_complete(store, effects, key, Holder { owner, fence }).await?;
            }
            EventReply::InFlight { fence, state, .. } => {
                store.watch(&id, RecordVersion { fence, state }).await?;
            }
            EventReply::Replay { outcome: first, .. } => {
                ensure_eq!(first, outcome(key));
                return Ok(());
            }
            other => fail!("{other:?} is the reply to a racing claim"),
        }
    }
}

/// The review of each request before the calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum GivenReview {
    Approved,
    Pending,
    Denied,
    /// Approved for a tool definition that has changed since.
    ApprovedForAnother,
}

fn review_of(key: u64) -> GivenReview {
    match key % 8 {
        0 => GivenReview::Pending,
        1 => GivenReview::Denied,
        2 => GivenReview::ApprovedForAnother,
        _ => GivenReview::Approved,
    }
}

async fn ask_and_decide(store: &dyn Store, key: u64) -> Checked {
    let id = id(&format!("key-{key}"));
    let review = review_of(key);
    let is_other = review == GivenReview::ApprovedForAnother;
    let binding = if is_other { Binding([9; 32]) } else { POLICY };
    let asked = b"may it?"[..].into();
    let ask = Event::Ask { fingerprint: SAME, binding, asked, idempotent: false, keyless: false };
    obtain!(EventReply::Waiting { fence, .. } = say(store, &id, ask).await?);
    let question = RequestVersion { fence, fingerprint: SAME, binding };
    let decision = match review {
        GivenReview::Pending => return Ok(()),
        GivenReview::Denied => Review::Deny { reason: None },
        GivenReview::Approved | GivenReview::ApprovedForAnother => Review::Approve,
    };
    ensure_eq!(say(store, &id, decide(question, decision)).await?, EventReply::Done);
    Ok(())
}

async fn use_approval(store: &dyn Store, effects: &File, key: &str) -> Checked {
    let (owner, approval) = (Owner::random()?, Some(POLICY));
    let start = Event::Start { fingerprint: SAME, owner, idempotent: false, approval };
    if let EventReply::Started { fence, .. } = say(store, &id(key), start).await? {
        happen(effects, key, fence);
        let (holder, why) = (Holder { owner, fence }, RetryReason::NothingHappened);
        let ended = Event::Discard { holder, why };
        ensure_eq!(say(store, &id(key), ended).await?, EventReply::Done);
    }
    Ok(())
}

async fn pause() {
    if random(3) == 0 {
        tokio::time::sleep(Duration::from_millis(random(4))).await;
    }
}

async fn attempt(store: &dyn Store, effects: &File, key: u64) -> Checked {
    let (name, idempotent) = (format!("key-{key}"), idempotent(key));
    let id = id(&name);
    let owner = Owner::random()?;
    let fence = match say(store, &id, either(owner, idempotent)).await? {
        EventReply::Started { fence, .. } => fence,
        EventReply::Claimed { fence, .. } => {
            pause().await;
            // It is slow, so it may have lost its claim meanwhile. Then it must not start.
            let dispatch = Event::Dispatch(Holder { owner, fence });
            if say(store, &id, dispatch).await? != EventReply::Done {
                return Ok(());
            }
            fence
        }
        _ => return Ok(()),
    };
    let holder = Holder { owner, fence };
    pause().await;
    happen(effects, &name, fence);
    pause().await;
    say(store, &id, Event::Complete { holder, outcome: outcome(&name) }).await?;
    Ok(())
}

/// Checks what the ledger has of a key against what happened. Returns the state of the record.
async fn check(
    store: &dyn Store,
    name: &str,
    idempotent: bool,
    effects: &[u64],
) -> Checked<StateKind> {
    let id = id(name);
    let Some(entry) = store.find(&id).await? else {
        ensure!(effects.is_empty(), "{name} happened and has no record");
        return Ok(StateKind::Absent);
    };
    let record = entry.seen.required("record that has not expired")?;
    let kind = record.state.kind();
    let rows = store.transitions(&id).await?;
    let starts: Vec<u64> = rows
        .iter()
        .filter(|row| matches!(row.event.as_str(), "dispatch" | "start"))
        .filter_map(|row| Some(row.change?.fence.0))
        .collect();
    ensure_eq!(record.attempt as usize, starts.len(), "attempts of {name}");
    ensure!(idempotent || starts.len() <= 1, "{name} was started {} times", starts.len());
    ensure!(idempotent || effects.len() <= 1, "{name} happened {} times", effects.len());
    let distinct: HashSet<u64> = effects.iter().copied().collect();
    ensure_eq!(distinct.len(), effects.len(), "{name} happened twice under one fence");
    ensure!(
        distinct.iter().all(|fence| starts.contains(fence)),
        "{name} happened before its start"
    );
    match kind {
        StateKind::Completed => {
            ensure!(distinct.contains(&record.fence.0), "{name} completed and did not happen");
        }
        StateKind::Indeterminate => {
            ensure!(!starts.is_empty(), "{name} did not start, and its outcome is unknown");
        }
        // Claimed by a process that died before the start: it may be claimed again.
        StateKind::Open => ensure!(effects.is_empty(), "{name} happened and may be started"),
        other => fail!("{name} is left as {other:?}"),
    }
    match store.recall(&id, SAME, false).await? {
        Some(EventReply::Replay { .. }) => ensure_eq!(kind, StateKind::Completed),
        Some(EventReply::OutcomeUnknown { .. }) => ensure_eq!(kind, StateKind::Indeterminate),
        None => ensure!(effects.is_empty(), "{name} happened and would be started"),
        Some(other) => fail!("{name}: {other:?} is the reply to a recall"),
    }
    Ok(kind)
}
