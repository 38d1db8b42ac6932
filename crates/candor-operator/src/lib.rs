//! What an operator sees and does: approval requests, grants, the history of operations, and unknown outcomes. It needs a ledger
//! and no server, so one place shows all servers that write to that ledger.
//!
//! # Map
//!
//! | what | where |
//! |---|---|
//! | a call that needs approval, and what its reviewer sees | [`ApprovalRequest`], [`RequestDetails`] |
//! | the pending requests, and one of them by its name | [`PendingRequests`], [`find_request`] |
//! | the answer to a request, with or without a grant | [`decide`], [`GrantDraft`] |
//! | the stored grants, and the arguments that a grant covers | [`grants`], [`ArgumentPattern`] |
//! | an operation with its audit rows and its review | [`OperationView`], [`ReviewView`], [`find_operation`], [`Filters`] |
//! | the effect of a call in an audit row | [`RecordedEffect`] |
//! | recording an unknown outcome | [`resolve`], [`ReportedResult`] |
//! | why a request of an operator fails: a code and a sentence | [`OperatorError`] |
//! | the words for states and outcomes | [`state`] |
//! | audit rows for programs | [`row`] |
//! | texts, times and JSON for users | [`words`], [`when`], [`json`], [`shown`] |
//!
//! Servers write what operators read, so [`RequestDetails`], [`ArgumentPattern`] and [`RecordedEffect`] are the one place that
//! knows the stored forms.
//! The sentences here name no command, no flag and no page: the command line and the console add what to do next.

mod approval;
mod details;
mod display;
mod effect;
mod error;
mod filter;
mod find;
mod hex;
mod operation;
mod pattern;
mod permission;
mod resolve;
mod review;
pub mod row;
pub mod state;

pub use approval::{ApprovalRequest, PendingRequests, decide, find_request};
pub use details::RequestDetails;
pub use display::{json, shown, when, words};
pub use effect::RecordedEffect;
pub use error::{CandidateOperation, OperatorError};
pub use filter::Filters;
pub use find::find_operation;
pub use hex::hex;
pub use operation::{OperationView, short_id};
pub use pattern::{ArgumentPattern, PatternError};
pub use permission::{GrantDraft, GrantError, grant_json, grants, pattern_summary};
pub use resolve::{ReportedResult, ensure_unchanged, ensure_unknown, resolve};
pub use review::ReviewView;
pub use state::{StateFilter, StateWord};
