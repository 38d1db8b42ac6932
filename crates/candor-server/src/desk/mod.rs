//! What an operator sees and does: approval requests, operations, and the words for them. It needs a ledger and no server, so one
//! place shows all servers that write to that ledger.
//!
//! - [`ApprovalRequest`], [`RequestDetails`]: a call that needs approval, and what the reviewer sees; [`decide`], [`GrantDraft`]: the answer.
//! - [`OperationView`]: an operation, with its audit rows and its [`Review`]; [`find`](mod@find), [`filter`], [`ReportedResult`],
//!   [`resolve`].
//! - [`state`](mod@state): the words for the state of an operation and for its outcome.
//! - [`words`], [`when`], [`shown`](mod@shown), [`json`]: texts for users.

mod decide;
pub mod filter;
pub mod find;
pub mod given;
pub mod operation;
pub mod permission;
mod review;
pub mod row;
pub mod state;
pub mod waiting;
pub mod words;

use std::fmt;

use candor_ledger::StoreError;

pub use crate::people::{json, shown, when};
pub use decide::{decide, meanwhile, resolve};
pub use given::ReportedResult;
pub use operation::OperationView;
pub use permission::GrantDraft;
pub use review::Review;
pub use state::{StateFilter, StateWord};
pub use waiting::{ApprovalRequest, RequestDetails};

/// The reason why an operator's request fails.
#[derive(Debug)]
#[non_exhaustive]
pub enum OperatorError {
    /// The ledger failed.
    Store(StoreError),
    /// Nothing has this ID or key.
    Unknown(String),
    /// Several match, or the state does not allow the action. Holds the message.
    Refused(String),
}

impl fmt::Display for OperatorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Store(error) => error.fmt(f),
            Self::Unknown(words) | Self::Refused(words) => f.write_str(words),
        }
    }
}

impl std::error::Error for OperatorError {}

impl From<StoreError> for OperatorError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}
