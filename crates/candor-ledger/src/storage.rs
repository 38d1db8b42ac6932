//! The parts of a store.
//!
//! A store implements [`Store`](crate::Store) over tables of its own, and decides nothing. For each event, one transaction:
//!
//! 1. locks the record and reads it, the [`Usage`](crate::Usage) of its principal, and the time: [`EventInput`];
//! 2. plans: [`WritePlan::of`], a pure function with all rules of the ledger;
//! 3. writes every [`LedgerWrite`] of the plan, in order, and commits. Only then it returns [`WritePlan::reply`] and calls
//!    [`Watchers::changed`].
//!
//! If two transactions could read the same record before either writes, a call could start twice. So the lock lasts until the
//! commit, also for a record that does not exist yet. A write that may have been committed is never tried again.
//!
//! The other functions of a store:
//!
//! | function | what it uses |
//! |---|---|
//! | [`recall`](crate::Store::recall) | [`machine::recall`](crate::machine::recall) |
//! | [`find`](crate::Store::find), [`records`](crate::Store::records), [`waiting`](crate::Store::waiting) | [`RecordEntry::new`](crate::RecordEntry::new), [`Filter`](crate::Filter), [`StateKind::stored_as`](crate::StateKind::stored_as) |
//! | [`grant`](crate::Store::grant), [`revoke`](crate::Store::revoke) | [`GrantPlan`] |
//! | [`grants_in_force`](crate::Store::grants_in_force) | [`Grant::is_in_force`](crate::Grant::is_in_force) |
//! | [`note`](crate::Store::note) | [`AuditRow::of_note`](crate::AuditRow::of_note) |
//! | [`sweep`](crate::Store::sweep) | [`Event::Sweep`](crate::Event::Sweep) for each record that is past [`RecordState::lapses`](crate::RecordState::lapses); [`LedgerLimits::audit_since`](crate::LedgerLimits::audit_since) |
//! | [`watch`](crate::Store::watch) | [`Watchers::until`], [`RecordVersion::is_current`](crate::RecordVersion::is_current) |
//!
//! [`Columns`] maps the states of a record to columns, and back.

pub use crate::columns::{Columns, StartReasonName};
pub use crate::plan::{EventInput, GrantPlan, LedgerWrite, WritePlan};
pub use crate::watchers::Watchers;
