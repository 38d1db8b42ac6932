//! What a reviewer answered to an approval request, as history shows it.

use candor_ledger::{ApprovalChannel, AuditRow, Moment, RecordState, StateKind};
use serde_json::{Value, json};

use crate::display::when;

/// An approval or a denial.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReviewView {
    /// Whether it was an approval.
    pub is_approval: bool,
    /// The reviewer.
    pub by: String,
    /// The channel that the answer came from.
    pub via: ApprovalChannel,
    /// When the reviewer answered.
    pub at: Moment,
    /// Why it was denied, if the reviewer said so.
    pub reason: Option<String>,
}

impl ReviewView {
    /// Returns the review in the record's state, if there is one.
    pub(crate) fn of_state(state: &RecordState) -> Option<Self> {
        let (is_approval, by, via, at, reason) = match state {
            RecordState::Approved { by, via, since, .. } => (true, by, via, since, None),
            RecordState::Denied { by, via, since, reason, .. } => {
                (false, by, via, since, reason.clone())
            }
            _ => return None,
        };
        Some(Self { is_approval, by: by.clone(), via: *via, at: *at, reason })
    }

    /// Returns the review in an audit row, if there is one.
    pub(crate) fn of_row(row: &AuditRow) -> Option<Self> {
        let to = row.change.filter(|_| row.event == "decide")?.to;
        Some(Self {
            is_approval: to == StateKind::Approved,
            by: row.by.clone()?,
            via: row.via?,
            at: row.at,
            reason: row.why.clone(),
        })
    }

    /// Returns the word for it.
    #[must_use]
    pub const fn word(&self) -> &'static str {
        if self.is_approval { "approved" } else { "denied" }
    }

    pub(crate) fn json(&self) -> Value {
        json!({
            "decision": self.word(),
            "by": self.by,
            "via": self.via.as_str(),
            "at": when::exact(self.at),
            "reason": self.reason,
        })
    }
}
