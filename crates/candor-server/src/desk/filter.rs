//! Which operations, and which rows of the audit: what a person asks for, and what the ledger's own filter cannot tell.

use candor_ledger::{AuditRow, Filter, Moment, RecordEntry, RecordState, StateKind};

use super::state::{StateFilter, has_failed};

/// Which of many.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Filters {
    /// Of this tool.
    pub tool: Option<String>,
    /// Of this caller.
    pub principal: Option<String>,
    /// Under this key.
    pub key: Option<String>,
    /// Operations in this state; audit rows that led to it.
    pub state: Option<StateFilter>,
    /// Last changed then or later.
    pub since: Option<Moment>,
    /// Last changed earlier than that.
    pub before: Option<Moment>,
}

impl Filters {
    /// For records.
    #[must_use]
    pub fn of_records(&self) -> Filter {
        // The stored state of a call that failed without an effect is `open`, so failures are found by [`Filters::has_entry`].
        let state = self.state.filter(|filter| !filter.has_failed());
        Filter { state: state.map(StateFilter::kind), ..self.of_any() }
    }

    /// The same, of which nobody knows.
    #[must_use]
    pub fn of_unknown(&self) -> Filter {
        Filter { state: Some(StateKind::Indeterminate), ..self.of_any() }
    }

    /// For rows. One that ended without a record has an outcome and no state, so those are told by [`Filters::has_row`].
    #[must_use]
    pub fn of_rows(&self) -> Filter {
        let state = self.state.map(StateFilter::kind);
        Filter { state: state.filter(|kind| *kind != StateKind::Completed), ..self.of_any() }
    }

    fn of_any(&self) -> Filter {
        let Self { tool, principal, key, since, before, .. } = self.clone();
        Filter { since, before, principal, tool, state: None, key }
    }

    /// Whether a record that the ledger's filter has let through is meant.
    #[must_use]
    pub fn has_entry(&self, entry: &RecordEntry) -> bool {
        // Its time is over: it is only not swept yet.
        let Some(record) = &entry.seen else { return false };
        let Some(filter) = self.state else { return true };
        match &record.state {
            RecordState::Completed { outcome, .. } => filter.has(outcome.kind),
            _ if has_failed(record) => filter.has_failed(),
            state => filter.kind() == state.kind(),
        }
    }

    /// The same for a row.
    #[must_use]
    pub fn has_row(&self, row: &AuditRow) -> bool {
        match self.state {
            Some(filter) if filter.kind() == StateKind::Completed => {
                let has_failed = row.event == "discard" && row.circumstances.error.is_some();
                row.outcome.is_some_and(|outcome| filter.has(outcome))
                    || (has_failed && filter.has_failed())
            }
            _ => true,
        }
    }
}
