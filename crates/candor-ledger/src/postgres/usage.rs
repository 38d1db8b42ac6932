//! What a principal has, counted by several instances at once.
//!
//! One row per principal would be a queue: every claim of every instance would wait for the commit before it. So there is a row
//! for each *slot*, and an instance counts in its own, which it draws when it starts; a row is what was added there, and may be less than nothing.
//! What a principal has is the sum. An instance knows exactly what it and those in its slot have written, and of the others what they have
//! committed: a limit may be passed by as many events as are being written elsewhere at that moment.

use crate::rules::Usage;

/// So many instances can count at once without waiting for each other.
pub(super) const SLOTS: u8 = 16;

/// One row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct UsageRow {
    pub(super) records: i64,
    pub(super) bytes: i64,
    pub(super) hour: i64,
    pub(super) fresh: i64,
}

/// All rows of a principal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct PrincipalUsage {
    sum: UsageRow,
    /// The part of it that is in our slot.
    ours: UsageRow,
}

impl PrincipalUsage {
    pub(super) fn add(&mut self, part: UsageRow, is_ours: bool) {
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

    /// What the principal has.
    pub(super) fn usage(&self) -> Usage {
        let UsageRow { records, bytes, hour, fresh } = self.sum;
        let [records, bytes, fresh] =
            [records, bytes, fresh].map(|number| u64::try_from(number).unwrap_or(0));
        Usage { records, bytes, hour, fresh }
    }

    /// What our row must be so that the principal then has this.
    pub(super) fn ours_for(&self, after: Usage) -> UsageRow {
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
    fn the_sum_is_what_the_principal_has_and_only_the_latest_hour_counts() {
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
        // One less, which somebody else had counted.
        let after = Usage { records: 3, bytes: 40, ..usage };
        assert_eq!(shared.ours_for(after), part(-3, -60, 8, 1));
    }
}
