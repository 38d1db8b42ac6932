//! The durable record of calls: keys, claims, outcomes, audit.
//!
//! The promise: *within the retention window, for one scope and key, a call is started at most once, and every answer is the
//! first result or an explicit unknown.* Never "exactly once": what a call does to the world before it dies, no ledger knows.
//!
//! - [`Record`], [`RecordState`]: what is known of one operation. [`RecordId`]: whose it is and under which [`Key`].
//! - [`machine`]: the states and all ways between them, as one pure function. [`Event`] goes in, [`EventReply`] comes out.
//! - [`Event::Ask`], [`Event::Decide`]: approvals, which are states of the same record. [`Grant`]: what a person permits for a while.
//!   [`PendingApprovals`]: who is shown where not all that waits has room.
//! - [`LedgerLimits`]: how long, how large, how many.
//! - [`Store`]: the seam. [`open`] gives what a URL names:
//!
//!   | URL | store | for |
//!   |---|---|---|
//!   | `sqlite:PATH`, or a path | `SqliteStore`, with the feature `sqlite` | one machine, several processes |
//!   | `postgres://USER@HOST/DATABASE` | `PostgresStore`, with the feature `postgres` | several machines |
//!   | `memory:` | [`MemoryStore`] | tests; forgotten with the process |
//!
//! - [`AuditRow`]: every change of state is a row, written in the same transaction. [`Filter`], [`Page`], [`Export`]: how they
//!   are read.
//!
//! A call in full:
//!
//! ```
//! use candor_ledger::*;
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let store = open("memory:", Options::default())?;
//! let id = RecordId {
//!     scope: Scope {
//!         principal: "ada".into(),
//!         server: "invoices".into(),
//!         instance: "sqlite:invoices.db".into(),
//!         tool: "create_invoice".into(),
//!     },
//!     key: Key::new("order-17")?,
//! };
//! let fingerprint = Fingerprint([7; 32]);
//! let owner = Owner::random()?;
//! let say = |event| store.apply(&id, event, AuditContext::default());
//!
//! // Durable before the first thing happens. Who has something to do first (connect, wait for others) says `Claim`, does it, and
//! // says `Dispatch`.
//! let EventReply::Started { fence, .. } = say(Event::Start { fingerprint, owner, by_nature: false, approval: None }).await? else {
//!     return Ok(()); // a replay, somebody else at it, an unknown outcome, …: nothing is started
//! };
//! let holder = Holder { owner, fence };
//! let outcome = StoredResult::new(OutcomeKind::Success, *b"invoice 4711");
//! say(Event::Complete { holder, outcome: outcome.clone() }).await?;
//!
//! // The same call again is answered from the ledger.
//! let again = store.recall(&id, fingerprint, false).await?;
//! assert!(matches!(again, Some(EventReply::Replay { outcome: first, .. }) if first == outcome));
//! # Ok(()) }
//! # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(example()).unwrap();
//! ```
//!
//! A call that a person must approve is asked for first, and starts with what they have said. One approval is one start: it is a state of the
//! record, and the start leaves it, in one transaction.
//!
//! ```
//! # use candor_ledger::*;
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! # let store = open("memory:", Options::default())?;
//! # let (fingerprint, binding) = (Fingerprint([7; 32]), Binding([8; 32]));
//! # let id = RecordId {
//! #     scope: Scope {
//! #         principal: "ada".into(), server: "invoices".into(), instance: "i".into(), tool: "delete_invoice".into(),
//! #     },
//! #     key: Key::new("order-17")?,
//! # };
//! let say = |event| store.apply(&id, event, AuditContext::default());
//! let asked = b"Delete invoice 4711?"[..].into();
//! let ask = Event::Ask { fingerprint, binding, asked, by_nature: false, keyless: false };
//! let EventReply::Waiting { fence, .. } = say(ask).await? else { return Ok(()) };
//!
//! // A person looks at what waits, and decides on exactly that.
//! let waiting = store.waiting(Filter::default(), Page { order: Order::Oldest, ..Page::default() }).await?;
//! let question = waiting.items[0].stored.question().unwrap();
//! assert_eq!(question, RequestVersion { fence, fingerprint, binding });
//! say(Event::Decide { question, by: "olga".into(), via: ApprovalChannel::Operator, decision: Review::Approve }).await?;
//!
//! let start = || Event::Start { fingerprint, owner: Owner([1; 16]), by_nature: false, approval: Some(binding) };
//! assert!(matches!(say(start()).await?, EventReply::Started { .. }));
//! assert!(matches!(say(start()).await?, EventReply::InFlight { .. }));
//! # Ok(()) }
//! # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(example()).unwrap();
//! ```
//!
//! Knows nothing of MCP, tools or HTTP: outcomes are bytes to it, and shapes of arguments are text.

mod audit;
#[cfg(any(feature = "sqlite", feature = "postgres"))]
mod columns;
mod event;
mod grant;
mod id;
pub mod machine;
mod memory;
mod outcome;
mod place;
mod plan;
#[cfg(feature = "postgres")]
mod postgres;
mod record;
mod rules;
#[cfg(feature = "sqlite")]
mod sqlite;
mod store;
mod turns;
mod watchers;

pub use audit::{
    AuditContext, AuditRow, CallError, CallNote, Filter, Order, Page, PageOf, RecordEntry,
    StateChange,
};
pub use event::{Event, EventError, EventReply, Holder, Resolution, RetryReason, Review};
pub use grant::{Grant, NewGrant};
pub use id::{
    BadKey, Binding, DigestPrefix, Fence, Fingerprint, GrantId, Key, Moment, Owner, RecordDigest,
    RecordId, Scope,
};
pub use memory::MemoryStore;
pub use outcome::{Body, OutcomeKind, StoredResult};
pub use place::{LedgerAddress, open};
#[cfg(feature = "postgres")]
pub use postgres::PostgresStore;
pub use record::{
    ApprovalChannel, Record, RecordState, RequestVersion, Round, StartReason, StateKind,
    UnknownReason,
};
pub use rules::{LedgerLimits, Quota, Quotas, Usage};
#[cfg(feature = "sqlite")]
pub use sqlite::{SqliteStore, default_path};
pub use store::{
    Clock, Export, Options, RecordVersion, Store, StoreError, StoreFuture, SweepReport,
};
pub use turns::{PendingApproval, PendingApprovals};
pub use watchers::POLL;
