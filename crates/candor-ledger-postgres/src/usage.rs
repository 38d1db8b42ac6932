//! What a principal uses, counted by several replicas at once.
//!
//! With one row per principal, every claim of every replica would wait for the commit before it. So there is one row for each
//! *slot*. A replica draws its slot when it starts, and counts only there. A row is what was added in its slot, and may be
//! negative. The usage of a principal is the sum.
//!
//! A replica knows exactly what its own slot has written, and what the others have committed. So a limit may be exceeded by
//! the number of events that other replicas are writing at that moment.

use candor_ledger::Usage;

/// The number of replicas that can count at once without waiting for each other.
pub(crate) const SLOTS: u8 = 16;

/// One row of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct UsageRow {
    pub(crate) records: i64,
    pub(crate) bytes: i64,
    pub(crate) hour: i64,
    pub(crate) fresh: i64,
}

/// All rows of a principal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct PrincipalUsage {
    sum: UsageRow,
    /// The part of it that is in our slot.
    ours: UsageRow,
}

impl PrincipalUsage {
    pub(crate) fn add(&mut self, part: UsageRow, is_ours: bool) {
        if is_ours {
            self.ours = part;
        }
        self.sum.records += part.records;
        self.sum.bytes += part.bytes;
        // Only the latest hour counts.
        if part.hour > self.sum.hour {
            (self.sum.hour, self.sum.fresh) = (part.hour, 0);
        }
        if part.hour == self.sum.hour {
            self.sum.fresh += part.fresh;
        }
    }

    /// Returns the usage of the principal.
    pub(crate) fn usage(&self) -> Usage {
        let UsageRow { records, bytes, hour, fresh } = self.sum;
        let [records, bytes, fresh] =
            [records, bytes, fresh].map(|number| u64::try_from(number).unwrap_or(0));
        Usage { records, bytes, hour, fresh }
    }

    /// Returns the row for our slot that makes `after` the usage of the principal.
    pub(crate) fn ours_for(&self, after: Usage) -> UsageRow {
        let before = self.usage();
        let more = |before: u64, after: u64| after.wrapping_sub(before) as i64;
        let mut ours = self.ours;
        ours.records += more(before.records, after.records);
        ours.bytes += more(before.bytes, after.bytes);
        let counted = if after.hour == before.hour { before.fresh } else { 0 };
        let fresh = more(counted, after.fresh);
        if fresh > 0 {
            if ours.hour != after.hour {
                (ours.hour, ours.fresh) = (after.hour, 0);
            }
            ours.fresh += fresh;
        }
        ours
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(records: i64, bytes: i64, hour: i64, fresh: i64) -> UsageRow {
        UsageRow { records, bytes, hour, fresh }
    }

    #[test]
    fn usage_is_the_sum_of_all_parts_in_the_latest_hour() {
        let mut shared = PrincipalUsage::default();
        shared.add(part(5, 100, 7, 5), false);
        shared.add(part(-2, 40, 8, 1), true);
        shared.add(part(1, 0, 8, 2), false);
        let usage = shared.usage();
        assert_eq!(usage, Usage { records: 4, bytes: 140, hour: 8, fresh: 3 });

        // One more here, in the same hour and in the next.
        let after = Usage { records: 5, fresh: 4, ..usage };
        assert_eq!(shared.ours_for(after), part(-1, 40, 8, 2));
        let after = Usage { records: 5, hour: 9, fresh: 1, ..usage };
        assert_eq!(shared.ours_for(after), part(-1, 40, 9, 1));
        // One less, which another replica had counted.
        let after = Usage { records: 3, bytes: 40, ..usage };
        assert_eq!(shared.ours_for(after), part(-3, -60, 8, 1));
    }
}
