//! The durable record of calls: keys, claims, outcomes, audit.
//!
//! The promise: *within the retention window, for one scope and key, a call starts at most once. Every reply is the first result
//! or an explicit unknown.* Only a call that is safe to retry, or that is known not to have run, may start again. The promise is
//! never "exactly once": no ledger knows what a call does to other systems before it dies.
//!
//! - [`Record`], [`RecordState`]: one operation. [`RecordId`]: its scope and its [`Key`].
//! - [`machine`]: the states and all transitions, as one pure function. It takes an [`Event`] and returns an [`EventReply`].
//! - [`Event::Ask`], [`Event::Decide`]: approvals, which are states of the same record. [`Grant`]: a temporary permission.
//!   [`PendingApprovals`]: the approval requests to show if a list cannot hold all of them.
//! - [`LedgerLimits`]: times, sizes and counts.
//! - [`Store`]: the seam between the state machine and the stores. [`storage`]: what a store is made of. [`open`] opens the store
//!   that a URL names, unless it is in a crate of its own:
//!
//!   | URL | store | for |
//!   |---|---|---|
//!   | `sqlite:PATH`, or a path | `SqliteStore`, with the feature `sqlite` | one machine, several processes |
//!   | `postgres://USER@HOST/DATABASE` | `PostgresStore`, in the crate `candor-ledger-postgres` | several machines |
//!   | `memory:` | [`MemoryStore`] | tests; lost with the process |
//!
//! - [`AuditRow`]: one for every change of state, written in the same transaction. [`Filter`], [`Page`], [`Export`] select and
//!   read rows.
//!
//! A complete call:
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
//! // The start is durable before the handler runs. An owner that must prepare first (connect, wait for other calls) sends
//! // `Claim`, prepares, and then sends `Dispatch`.
//! let EventReply::Started { fence, .. } = say(Event::Start { fingerprint, owner, idempotent: false, approval: None }).await? else {
//!     return Ok(()); // a replay, a call in flight, an unknown outcome, …: nothing starts
//! };
//! let holder = Holder { owner, fence };
//! let outcome = StoredResult::new(OutcomeKind::Success, *b"invoice 4711");
//! say(Event::Complete { holder, outcome: outcome.clone() }).await?;
//!
//! // A retry of the same call is answered from the ledger.
//! let again = store.recall(&id, fingerprint, false).await?;
//! assert!(matches!(again, Some(EventReply::Replay { outcome: first, .. }) if first == outcome));
//! # Ok(()) }
//! # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(example()).unwrap();
//! ```
//!
//! A call that needs approval first sends an approval request, and starts with the approval. One approval is one start: the
//! approval is a state of the record, and the start leaves that state in one transaction.
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
//! let ask = Event::Ask { fingerprint, binding, asked, idempotent: false, keyless: false };
//! let EventReply::Waiting { fence, .. } = say(ask).await? else { return Ok(()) };
//!
//! // A reviewer reads the pending request, and decides on exactly this request.
//! let waiting = store.waiting(Filter::default(), Page { order: Order::Oldest, ..Page::default() }).await?;
//! let question = waiting.items[0].stored.question().unwrap();
//! assert_eq!(question, RequestVersion { fence, fingerprint, binding });
//! say(Event::Decide { question, by: "olga".into(), via: ApprovalChannel::Operator, decision: Review::Approve }).await?;
//!
//! let start = || Event::Start { fingerprint, owner: Owner([1; 16]), idempotent: false, approval: Some(binding) };
//! assert!(matches!(say(start()).await?, EventReply::Started { .. }));
//! assert!(matches!(say(start()).await?, EventReply::InFlight { .. }));
//! # Ok(()) }
//! # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(example()).unwrap();
//! ```
//!
//! A store outside this crate executes the plans in [`storage`]. The feature `laws` adds the module `laws`: what every ledger
//! must do, as tests for any store.
//!
//! The crate does not depend on MCP, tools or HTTP: to it, results are bytes, and shapes of arguments are text.

mod audit;
mod columns;
mod event;
mod grant;
mod id;
#[cfg(feature = "laws")]
pub mod laws;
pub mod machine;
mod memory;
mod outcome;
mod place;
mod plan;
mod record;
mod rules;
#[cfg(feature = "sqlite")]
mod sqlite;
pub mod storage;
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
pub use place::{LedgerAddress, open, open_address, open_existing};
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
