//! A ledger with something in it, and the program that looks at it.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use candor::store::open;
use candor_ledger::*;
use serde_json::Value;

use crate::place::Place;

pub(crate) const SAME: Fingerprint = Fingerprint([7; 32]);

/// A ledger whose time the test tells while it fills it.
pub(crate) struct Ledger {
    store: Option<Arc<dyn Store>>,
    pub(crate) place: Place,
    /// Milliseconds since 1970.
    clock: Arc<AtomicI64>,
}

/// An empty folder of this name, for one test.
pub(crate) fn folder(name: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(Place::around()).join(name);
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).unwrap();
    path
}

pub(crate) fn wait<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

impl Ledger {
    /// Its time begins an hour ago.
    pub(crate) fn new(name: &str) -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        let clock = Arc::new(AtomicI64::new(i64::try_from(now.as_millis()).unwrap() - 3_600_000));
        let time = Arc::clone(&clock);
        let clock_of_store = Clock::Given(Arc::new(move || time.load(Ordering::SeqCst)));
        let place = Place::new(&folder(name));
        let options = Options { clock: clock_of_store, ..Options::default() };
        let store = open(place.named().to_str().unwrap(), options).unwrap();
        Self { store: Some(store), place, clock }
    }

    pub(crate) fn store(&self) -> &dyn Store {
        self.store.as_deref().unwrap()
    }

    /// Lets go of the file.
    pub(crate) fn close(&mut self) {
        self.store = None;
    }

    pub(crate) fn later(&self, time: Duration) {
        self.clock.fetch_add(i64::try_from(time.as_millis()).unwrap(), Ordering::SeqCst);
    }

    pub(crate) fn say(
        &self,
        id: &RecordId,
        event: Event,
        circumstances: AuditContext,
    ) -> EventReply {
        wait(self.store().apply(id, event, circumstances)).unwrap()
    }

    pub(crate) fn claim(&self, id: &RecordId) -> Holder {
        let owner = Owner::random().unwrap();
        let event = Event::Claim { fingerprint: SAME, owner, idempotent: false };
        let circumstances = AuditContext {
            shape: Some("{amount: integer, to: string}".into()),
            hints: Some("Adds · external".into()),
            digest: Some([0xAB; 32]),
            ..AuditContext::default()
        };
        match self.say(id, event, circumstances) {
            EventReply::Claimed { fence, .. } => Holder { owner, fence },
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn start(&self, id: &RecordId) -> Holder {
        let holder = self.claim(id);
        let started = self.say(id, Event::Dispatch(holder), AuditContext::default());
        assert_eq!(started, EventReply::Done);
        holder
    }

    pub(crate) fn end(&self, id: &RecordId, kind: OutcomeKind, json: &str) {
        let holder = self.start(id);
        self.later(Duration::from_millis(12));
        let outcome = StoredResult::new(kind, json.as_bytes());
        let circumstances = AuditContext {
            duration: Some(Duration::from_micros(12_345)),
            ..AuditContext::default()
        };
        let ended = self.say(id, Event::Complete { holder, outcome }, circumstances);
        assert_eq!(ended, EventReply::Done);
    }

    pub(crate) fn done(&self, id: &RecordId) {
        self.end(
            id,
            OutcomeKind::Success,
            r#"{"content":[{"type":"text","text":"invoice 4711"}]}"#,
        );
    }

    pub(crate) fn lose(&self, id: &RecordId) {
        let holder = self.start(id);
        let lost = Event::Unknown { holder, reason: UnknownReason::Panicked };
        assert_eq!(self.say(id, lost, AuditContext::default()), EventReply::Done);
    }

    /// A call without a key.
    pub(crate) fn note(&self, tool: &str) {
        let scope = Scope { tool: tool.into(), ..id("any").scope };
        let note = CallNote {
            scope,
            key: None,
            event: "called".into(),
            outcome: Some(OutcomeKind::Success),
            circumstances: AuditContext::default(),
        };
        wait(self.store().note(note)).unwrap();
    }

    pub(crate) fn history(&self, words: &[&str]) -> Told {
        history(self.place.named(), words)
    }
}

pub(crate) fn id(key: &str) -> RecordId {
    RecordId {
        scope: Scope {
            principal: "ada".into(),
            server: "invoices".into(),
            instance: "sqlite:invoices.db".into(),
            tool: "create_invoice".into(),
        },
        key: Key::new(key).unwrap(),
    }
}

/// The first digits of its id.
pub(crate) fn digits(id: &RecordId, many: usize) -> String {
    id.digest().to_string()[..many].to_owned()
}

pub(crate) struct Told {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Told {
    /// What it wrote, when it ended well.
    pub(crate) fn text(&self) -> &str {
        assert_eq!(self.code, Some(0), "{}", self.stderr);
        &self.stdout
    }

    /// Its lines of JSON.
    pub(crate) fn lines(&self) -> Vec<Value> {
        let read = |line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e} in {line}"));
        self.text().lines().map(read).collect()
    }

    pub(crate) fn json(&self) -> Value {
        let [value] = &self.lines()[..] else { panic!("one line, not {}", self.stdout) };
        value.clone()
    }

    /// What it complained of.
    pub(crate) fn refused(&self, code: i32) -> &str {
        assert_eq!(self.code, Some(code), "{}{}", self.stdout, self.stderr);
        assert_eq!(self.stdout, "");
        assert!(self.stderr.starts_with("error: "), "{}", self.stderr);
        &self.stderr
    }
}

pub(crate) fn candor() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_candor"));
    for name in ["CANDOR_LEDGER", "RUST_LOG"] {
        command.env_remove(name);
    }
    command.stdin(Stdio::null());
    command
}

pub(crate) fn told(command: &mut Command) -> Told {
    let output = command.output().unwrap();
    Told {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

pub(crate) fn history(ledger: impl AsRef<OsStr>, words: &[&str]) -> Told {
    told(candor().arg("history").args(words).arg("--ledger").arg(ledger))
}
