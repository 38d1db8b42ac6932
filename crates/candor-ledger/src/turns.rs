//! The choice of pending approval requests for a list that cannot show all of them: principals take turns.
//!
//! By age alone, two busy principals would hide a third that asks later. By turns, the oldest request of every principal
//! comes before the second of any. Stores with SQL choose in SQL; the others choose here.

use std::collections::{BTreeMap, HashMap};

use crate::audit::RecordEntry;
use crate::id::{Fence, Moment, RecordId};
use crate::record::RecordState;

/// Pending approval requests, as many as were asked for; see [`Store::pending_approvals`](crate::Store::pending_approvals).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PendingApprovals {
    /// The chosen requests, oldest first.
    pub chosen: Vec<PendingApproval>,
    /// The number of all pending requests, chosen or not.
    pub in_all: u64,
}

/// A pending approval request without its content, which may be as large as a megabyte.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingApproval {
    /// The scope and the key.
    pub id: RecordId,
    /// The fence of the request. A request that replaces it has another.
    pub fence: Fence,
    /// When the request expires.
    pub until: Moment,
}

impl PendingApprovals {
    /// Sorts the chosen requests by their number, which is greater for later requests.
    fn new(mut chosen: Vec<(u64, PendingApproval)>, in_all: u64) -> Self {
        chosen.sort_by_key(|(number, _)| *number);
        Self { chosen: chosen.into_iter().map(|(_, waits)| waits).collect(), in_all }
    }

    /// Reads rows that a store has chosen by turns. Each has the number of the request, which is greater for later requests,
    /// the request, and the number of all requests.
    ///
    /// # Errors
    /// Returns the first error among the rows.
    pub fn of_rows<E>(
        rows: impl Iterator<Item = Result<(u64, PendingApproval, u64), E>>,
    ) -> Result<Self, E> {
        let (mut chosen, mut in_all) = (Vec::new(), 0);
        for row in rows {
            let (number, waits, all) = row?;
            chosen.push((number, waits));
            in_all = all;
        }
        Ok(Self::new(chosen, in_all))
    }
}

/// A choice in progress. It holds no more requests than it may choose, however many are pending.
pub(crate) struct ApprovalSelection {
    most: usize,
    /// By turn, then by age.
    chosen: BTreeMap<(u64, u64), PendingApproval>,
    /// The number of requests seen per principal.
    seen: HashMap<String, u64>,
    in_all: u64,
}

impl ApprovalSelection {
    pub(crate) fn of(most: usize) -> Self {
        Self { most, chosen: BTreeMap::new(), seen: HashMap::new(), in_all: 0 }
    }

    /// Takes the next entry, in the order of the requests.
    pub(crate) fn look_at(&mut self, entry: RecordEntry) {
        let Some(record) = entry.seen else { return };
        let RecordState::Waiting { until, .. } = record.state else { return };
        let turn = self.seen.entry(entry.id.scope.principal.clone()).or_default();
        *turn += 1;
        self.in_all += 1;
        let waits = PendingApproval { id: entry.id, fence: record.fence, until };
        self.chosen.insert((*turn, self.in_all), waits);
        if self.chosen.len() > self.most {
            self.chosen.pop_last();
        }
    }

    pub(crate) fn made(self) -> PendingApprovals {
        let chosen = self.chosen.into_iter().map(|((_, place), waits)| (place, waits));
        PendingApprovals::new(chosen.collect(), self.in_all)
    }
}
