//! How long, how large, how many.

use std::fmt;
use std::time::Duration;

use crate::id::Moment;
use crate::record::{Record, RecordState};

const HOUR: Duration = Duration::from_secs(60 * 60);
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// The limits of a ledger. All that share a store should have the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LedgerLimits {
    /// How long an owner is believed to live without a word. 30 seconds: a heartbeat every ten survives two lost ones.
    pub lease: Duration,
    /// How long an outcome is replayed, from the completion on. 24 hours.
    pub retention: Duration,
    /// How long after that a key is still refused. 30 days.
    pub tombstone: Duration,
    /// How long an answer is waited for when a call has asked something. One hour.
    pub suspended: Duration,
    /// How long a person is asked for an approval. 24 hours.
    pub approval_wait: Duration,
    /// How long an approval may be used. 15 minutes.
    pub approval_valid: Duration,
    /// How long a denial refuses the call. 10 minutes. History shows it for longer.
    pub denied: Duration,
    /// The largest outcome that is kept, and the largest question that may be asked. 1 MiB.
    pub max_outcome: u64,
    /// How long audit rows and denied records are stored. 90 days.
    pub audit: Duration,
    /// What one principal may have.
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

/// What one principal may have, so that none fills the store of all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Quotas {
    /// Records that are not tombstones. 100,000. A new key beyond it is refused.
    pub records: u64,
    /// Bytes of outcomes. 256 MiB. An outcome beyond it is not kept; the call does not fail for it.
    pub bytes: u64,
    /// New keys within an hour of the store's clock. 20,000. A new key beyond it is refused.
    pub keys_per_hour: u64,
    /// Questions that wait for a person. 100. Another one is not asked.
    pub waiting: u64,
    /// Grants for one tool that are in force. 100. Another one is not given: they are looked through on every call.
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

/// What a principal has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// Records that are not tombstones.
    pub records: u64,
    /// Bytes of outcomes.
    pub bytes: u64,
    /// The hour that `fresh` counts in, since 1970.
    pub hour: i64,
    /// New keys in that hour.
    pub fresh: u64,
}

/// Which limit of a principal is reached.
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
    /// Whether another key may be used now.
    ///
    /// # Errors
    /// The limit that forbids it.
    pub fn admit(&self, quotas: &Quotas, now: Moment) -> Result<(), Quota> {
        if self.records >= quotas.records {
            return Err(Quota::Records { most: quotas.records });
        }
        if self.hour == hour(now) && self.fresh >= quotas.keys_per_hour {
            return Err(Quota::KeysPerHour { most: quotas.keys_per_hour });
        }
        Ok(())
    }

    /// How it is when one record has changed from this to that.
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
