//! What the tests of stores share.
#![allow(dead_code, missing_docs, unreachable_pub)] // each test binary uses its own part

use std::future::Future;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use candor_ledger::*;

#[cfg(feature = "postgres")]
pub mod cluster;
#[cfg(feature = "postgres")]
pub mod database;

/// A folder that is gone when the test is.
pub struct Folder(PathBuf);

impl Folder {
    pub fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path =
            std::env::temp_dir().join(format!("candor-ledger-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub fn join(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub fn wait<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(future)
}

/// A store whose time the test tells.
pub struct Told {
    pub store: Arc<dyn Store>,
    pub clock: Arc<AtomicI64>,
}

impl Told {
    pub fn now(&self) -> Moment {
        Moment(self.clock.load(Ordering::SeqCst))
    }

    pub fn later(&self, time: Duration) {
        self.clock.fetch_add(time.as_millis() as i64, Ordering::SeqCst);
    }
}

#[allow(clippy::needless_pass_by_value)] // a closure, written where it is given
pub fn on_each(rules: &LedgerLimits, story: impl AsyncFn(&Told)) {
    let folder = Folder::new();
    let run = |url: &str| {
        let clock = Arc::new(AtomicI64::new(1_700_000_000_000));
        let time = Arc::clone(&clock);
        let options = Options {
            rules: rules.clone(),
            clock: Clock::Given(Arc::new(move || time.load(Ordering::SeqCst))),
            max_bytes: None,
        };
        wait(story(&Told { store: open(url, options).unwrap(), clock }));
    };
    run("memory:");
    run(&format!("sqlite:{}", folder.join("ledger.db").display()));
    #[cfg(feature = "postgres")]
    if let Some(schema) = database::Schema::new("behaviour on PostgreSQL") {
        run(&schema.url());
    }
}

pub fn sqlite(path: &Path, options: Options) -> SqliteStore {
    SqliteStore::open(path, options).unwrap()
}

pub fn id(key: &str) -> RecordId {
    RecordId {
        scope: Scope {
            principal: "ada".into(),
            server: "invoices".into(),
            instance: "file:data".into(),
            tool: "create_invoice".into(),
        },
        key: Key::new(key).unwrap(),
    }
}

pub const SAME: Fingerprint = Fingerprint([7; 32]);

pub fn outcome(text: &str) -> StoredResult {
    StoredResult::new(OutcomeKind::Success, text.as_bytes())
}

pub async fn say(store: &dyn Store, id: &RecordId, event: Event) -> EventReply {
    store.apply(id, event, AuditContext::default()).await.unwrap()
}

/// Claims, if it is granted.
pub async fn claim(store: &dyn Store, id: &RecordId) -> Result<Holder, EventReply> {
    let owner = Owner::random().unwrap();
    let event = Event::Claim { fingerprint: SAME, owner, idempotent: false };
    match say(store, id, event).await {
        EventReply::Claimed { fence, .. } => Ok(Holder { owner, fence }),
        other => Err(other),
    }
}

/// The whole of a call.
pub async fn call(store: &dyn Store, id: &RecordId, text: &str) -> Holder {
    let holder = claim(store, id).await.unwrap();
    assert_eq!(say(store, id, Event::Dispatch(holder)).await, EventReply::Done);
    let ended = Event::Complete { holder, outcome: outcome(text) };
    assert_eq!(say(store, id, ended).await, EventReply::Done);
    holder
}

pub const POLICY: Binding = Binding([3; 32]);

pub fn ask(text: &str) -> Event {
    Event::Ask {
        fingerprint: SAME,
        binding: POLICY,
        asked: text.as_bytes().into(),
        idempotent: false,
        keyless: false,
    }
}

/// Asks, and returns what a person would decide on.
pub async fn asked(store: &dyn Store, id: &RecordId) -> RequestVersion {
    match say(store, id, ask("may it?")).await {
        EventReply::Waiting { fence, .. } => {
            RequestVersion { fence, fingerprint: SAME, binding: POLICY }
        }
        other => panic!("{other:?}"),
    }
}

pub fn decide(question: RequestVersion, decision: Review) -> Event {
    Event::Decide { question, by: "olga".into(), via: ApprovalChannel::Operator, decision }
}

pub async fn approved(store: &dyn Store, id: &RecordId) -> RequestVersion {
    let question = asked(store, id).await;
    assert_eq!(say(store, id, decide(question, Review::Approve)).await, EventReply::Done);
    question
}

/// A start that needs an approval.
pub fn start() -> Event {
    let owner = Owner::random().unwrap();
    Event::Start { fingerprint: SAME, owner, idempotent: false, approval: Some(POLICY) }
}

/// What a ledger of the version before holds must be there still, and what is new must work in it.
pub fn older_ledger_goes_on(store: &dyn Store) {
    wait(async {
        let first = match store.recall(&id("a"), SAME, false).await.unwrap() {
            Some(EventReply::Replay { outcome, .. }) => outcome,
            other => panic!("{other:?}"),
        };
        assert_eq!(first, outcome("invoice 1"));
        let unknown = store.recall(&id("b"), SAME, false).await.unwrap();
        assert!(matches!(unknown, Some(EventReply::OutcomeUnknown { .. })), "{unknown:?}");
        assert_eq!(store.transitions(&id("a")).await.unwrap().len(), 2);
        assert_eq!(store.records(Filter::default(), Page::default()).await.unwrap().items.len(), 2);

        approved(store, &id("c")).await;
        assert!(matches!(say(store, &id("c"), start()).await, EventReply::Started { .. }));
        asked(store, &id("d")).await;
        assert_eq!(store.waiting(Filter::default(), Page::default()).await.unwrap().items.len(), 1);
        let granting = NewGrant {
            scope: id("c").scope,
            binding: POLICY,
            pattern: "any".into(),
            by: "olga".into(),
            lasts: Duration::from_secs(60),
        };
        let grant = store.grant(granting).await.unwrap();
        assert_eq!(store.grants_in_force(&id("c").scope).await.unwrap(), [grant]);
        let rows = store.rows(Filter::default(), Page::default()).await.unwrap().items;
        assert_eq!(rows.len(), 3 + 3 + 1 + 1);
    });
}

/// A grant that was bound to nothing is listed, can be taken back, and covers no call.
pub fn older_grant_is_void(store: &dyn Store) {
    wait(async {
        let scope = id("x").scope;
        let [grant] = &store.grants(Filter::default(), Page::default()).await.unwrap().items[..]
        else {
            panic!("one grant")
        };
        assert_eq!((&grant.scope, grant.id, &grant.pattern[..]), (&scope, GrantId([7; 16]), "any"));
        assert_eq!(grant.binding, None);
        for binding in [POLICY, Binding([0; 32])] {
            assert!(!grant.covers(binding), "{binding}");
        }
        let given = NewGrant {
            scope: scope.clone(),
            binding: POLICY,
            pattern: "any".into(),
            by: "olga".into(),
            lasts: Duration::from_secs(60),
        };
        let new = store.grant(given).await.unwrap();
        assert!(new.covers(POLICY));
        let revoked = store.revoke(grant.id, "otto".into()).await.unwrap().unwrap();
        assert!(revoked.revoked.is_some());
        assert_eq!(store.grants_in_force(&scope).await.unwrap(), [new]);
    });
}

/// When the denial of [`older_denial_counts`] was given, and when it ends, on a given clock.
pub const DENIED: (i64, i64) = (1_000_000, 1_600_000);

/// A denial that a program of schema 1.3 wrote refuses for its time, and then stays in history.
pub fn older_denial_counts(store: &dyn Store, clock: &AtomicI64) {
    wait(async {
        let (at, ends) = DENIED;
        clock.store(at + 1, Ordering::SeqCst);
        let refused = store.recall(&id("a"), SAME, false).await.unwrap();
        assert!(matches!(refused, Some(EventReply::Denied { until, .. }) if until == Moment(ends)));
        clock.store(ends + 1, Ordering::SeqCst);
        assert_eq!(store.recall(&id("a"), SAME, false).await.unwrap(), None);
        store.sweep(10).await.unwrap();
        let record = store.find(&id("a")).await.unwrap().unwrap().stored;
        assert_eq!(record.state.kind(), StateKind::Denied);
        assert_eq!((record.error, record.arguments), (None, None));
        asked(store, &id("a")).await;
    });
}
