//! Which questions a person sees where not all of them have room: by turns of those who ask.
//!
//! By age alone, two who ask much hide a third who asks later. By turns, everybody's oldest question goes before anybody's second.
//! Stores that can ask for it in SQL do; the others choose here.

use std::collections::{BTreeMap, HashMap};

use crate::audit::RecordEntry;
use crate::id::{Fence, Moment, RecordId};
use crate::record::RecordState;

/// What waits for a person, as much of it as was asked for; see [`Store::pending_approvals`](crate::Store::pending_approvals).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PendingApprovals {
    /// By when they were asked, the earliest first.
    pub chosen: Vec<PendingApproval>,
    /// How many wait, chosen or not.
    pub in_all: u64,
}

/// That a record waits for a person, and not what is asked, which may be a megabyte.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingApproval {
    /// Whose, of what, under which key.
    pub id: RecordId,
    /// Under which fence: asked anew, it has another.
    pub fence: Fence,
    /// How long a decision is waited for.
    pub until: Moment,
}

impl PendingApprovals {
    /// Of those who were chosen, each with a number that is greater the later it was asked.
    fn new(mut chosen: Vec<(u64, PendingApproval)>, in_all: u64) -> Self {
        chosen.sort_by_key(|(number, _)| *number);
        Self { chosen: chosen.into_iter().map(|(_, waits)| waits).collect(), in_all }
    }

    /// From rows of a table. Each has its number, and says how many wait.
    #[cfg(any(feature = "sqlite", feature = "postgres"))]
    pub(crate) fn of_rows<E>(
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

/// A choice being made. It holds no more than it is to choose, however many wait.
pub(crate) struct ApprovalSelection {
    most: usize,
    /// By turn and place.
    chosen: BTreeMap<(u64, u64), PendingApproval>,
    /// How many of each principal were seen.
    seen: HashMap<String, u64>,
    in_all: u64,
}

impl ApprovalSelection {
    pub(crate) fn of(most: usize) -> Self {
        Self { most, chosen: BTreeMap::new(), seen: HashMap::new(), in_all: 0 }
    }

    /// The next one, by when it was asked.
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
