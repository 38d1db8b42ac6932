//! The limits of a ledger: times, sizes and counts.

use std::fmt;
use std::time::Duration;

use crate::id::Moment;
use crate::record::{Record, RecordState};

const HOUR: Duration = Duration::from_secs(60 * 60);
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// The limits of a ledger. All processes that share a store should have the same limits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LedgerLimits {
    /// How long an owner counts as alive without a heartbeat. 30 seconds: a heartbeat every ten seconds survives two lost
    /// ones.
    pub lease: Duration,
    /// How long a result is replayed after it was recorded. 24 hours.
    pub retention: Duration,
    /// How long a key is refused after that. 30 days.
    pub tombstone: Duration,
    /// How long a call waits for input from the client. One hour.
    pub suspended: Duration,
    /// How long an approval request is pending. 24 hours.
    pub approval_wait: Duration,
    /// How long an approval can be used. 15 minutes.
    pub approval_valid: Duration,
    /// How long a denial refuses the call. 10 minutes. History shows it for longer.
    pub denied: Duration,
    /// The largest result that is stored, and the largest approval request, in bytes. 1 MiB.
    pub max_outcome: u64,
    /// How long audit rows and denied records are stored. 90 days.
    pub audit: Duration,
    /// What one principal may use.
    pub quotas: Quotas,
}

impl Default for LedgerLimits {
    fn default() -> Self {
        Self {
            lease: Duration::from_secs(30),
            retention: DAY,
            tombstone: 30 * DAY,
            suspended: HOUR,
            approval_wait: DAY,
            approval_valid: Duration::from_secs(15 * 60),
            denied: Duration::from_secs(10 * 60),
            max_outcome: 1 << 20,
            audit: 90 * DAY,
            quotas: Quotas::default(),
        }
    }
}

impl LedgerLimits {
    /// Returns the time before which a sweep deletes audit rows, and grants that ended.
    #[must_use]
    pub fn audit_since(&self, now: Moment) -> Moment {
        let age = i64::try_from(self.audit.as_millis()).unwrap_or(i64::MAX);
        Moment(now.0.saturating_sub(age))
    }
}

/// What one principal may use, so that no principal fills the store for all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Quotas {
    /// Records that are not tombstones. 100,000. A new key beyond this is refused.
    pub records: u64,
    /// Bytes of results, requests and arguments. 256 MiB. A result or arguments beyond this are not stored, which does not
    /// fail the call. An approval request beyond this is refused.
    pub bytes: u64,
    /// New keys within an hour of the store's clock. 20,000. A new key beyond this is refused.
    pub keys_per_hour: u64,
    /// Pending approval requests. 100. Another request is refused.
    pub waiting: u64,
    /// Grants in force for one tool. 100. Another grant is refused, because every call reads all of them.
    pub grants: u64,
}

impl Default for Quotas {
    fn default() -> Self {
        Self {
            records: 100_000,
            bytes: 256 << 20,
            keys_per_hour: 20_000,
            waiting: 100,
            grants: 100,
        }
    }
}

/// What a principal uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// Records that are not tombstones.
    pub records: u64,
    /// Bytes of results, requests and arguments.
    pub bytes: u64,
    /// The hour, since 1970, in which `fresh` counts.
    pub hour: i64,
    /// New keys in that hour.
    pub fresh: u64,
}

/// The limit that a principal has reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quota {
    /// [`Quotas::records`].
    Records {
        /// The limit.
        most: u64,
    },
    /// [`Quotas::keys_per_hour`].
    KeysPerHour {
        /// The limit.
        most: u64,
    },
    /// [`Quotas::waiting`].
    Waiting {
        /// The limit.
        most: u64,
    },
    /// [`Quotas::grants`].
    Grants {
        /// The limit.
        most: u64,
    },
}

impl fmt::Display for Quota {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Records { most } => write!(
                f,
                "there are already {most} keys on record; the oldest are given up when their time has passed"
            ),
            Self::KeysPerHour { most } => {
                write!(f, "{most} new keys were used within this hour; try again in the next one")
            }
            Self::Waiting { most } => write!(
                f,
                "{most} calls already wait for an approval; try again when some of them are decided"
            ),
            Self::Grants { most } => {
                write!(f, "{most} grants for this tool are in force; revoke one of them first")
            }
        }
    }
}

impl Usage {
    /// Checks that another key may be used now.
    ///
    /// # Errors
    /// Returns the limit that forbids it.
    pub fn admit(&self, quotas: &Quotas, now: Moment) -> Result<(), Quota> {
        if self.records >= quotas.records {
            return Err(Quota::Records { most: quotas.records });
        }
        if self.hour == hour(now) && self.fresh >= quotas.keys_per_hour {
            return Err(Quota::KeysPerHour { most: quotas.keys_per_hour });
        }
        Ok(())
    }

    /// Returns the usage after one record changed from `before` to `after`.
    #[must_use]
    pub fn changed(self, before: Option<&Record>, after: Option<&Record>, now: Moment) -> Self {
        let live = |record: Option<&Record>| {
            u64::from(
                record.is_some_and(|record| !matches!(record.state, RecordState::Tombstone { .. })),
            )
        };
        let kept = |record: Option<&Record>| record.map_or(0, Record::kept);
        let mut usage = self;
        usage.records = (usage.records + live(after)).saturating_sub(live(before));
        usage.bytes = (usage.bytes + kept(after)).saturating_sub(kept(before));
        if before.is_none() && after.is_some() {
            if usage.hour != hour(now) {
                usage.hour = hour(now);
                usage.fresh = 0;
            }
            usage.fresh += 1;
        }
        usage
    }
}

fn hour(now: Moment) -> i64 {
    now.0.div_euclid(HOUR.as_millis() as i64)
}
