//! Filters for operations and audit rows: what an operator asks for, and what the ledger's own filter cannot express.

use candor_ledger::{AuditRow, Filter, Moment, RecordEntry, RecordState, StateKind};

use crate::state::{StateFilter, has_failed};

/// The conditions that an operation or an audit row must meet.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Filters {
    /// Only this tool.
    pub tool: Option<String>,
    /// Only this caller.
    pub principal: Option<String>,
    /// Only this key.
    pub key: Option<String>,
    /// Operations in this state; audit rows that led to it.
    pub state: Option<StateFilter>,
    /// Last changed at this time or later.
    pub since: Option<Moment>,
    /// Last changed before this time.
    pub before: Option<Moment>,
}

impl Filters {
    /// Returns the ledger's filter for records.
    #[must_use]
    pub fn of_records(&self) -> Filter {
        // The stored state of a call that failed without an effect is `open`, so failures are found by [`Filters::has_entry`].
        let state = self.state.filter(|filter| !filter.has_failed());
        Filter { state: state.map(StateFilter::kind), ..self.of_any() }
    }

    /// Returns the ledger's filter for records whose outcome is unknown.
    #[must_use]
    pub fn of_unknown(&self) -> Filter {
        Filter { state: Some(StateKind::Indeterminate), ..self.of_any() }
    }

    /// Returns the ledger's filter for audit rows. A call without a record has an outcome and no state, so [`Filters::has_row`]
    /// checks these.
    #[must_use]
    pub fn of_rows(&self) -> Filter {
        let state = self.state.map(StateFilter::kind);
        Filter { state: state.filter(|kind| *kind != StateKind::Completed), ..self.of_any() }
    }

    fn of_any(&self) -> Filter {
        let Self { tool, principal, key, since, before, .. } = self.clone();
        Filter { since, before, principal, tool, state: None, key }
    }

    /// Returns true if a record that passed the ledger's filter matches.
    #[must_use]
    pub fn has_entry(&self, entry: &RecordEntry) -> bool {
        // The record has expired and is not swept yet.
        let Some(record) = &entry.seen else { return false };
        let Some(filter) = self.state else { return true };
        match &record.state {
            RecordState::Completed { outcome, .. } => filter.has(outcome.kind),
            _ if has_failed(record) => filter.has_failed(),
            state => filter.kind() == state.kind(),
        }
    }

    /// Returns true if an audit row that passed the ledger's filter matches.
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
