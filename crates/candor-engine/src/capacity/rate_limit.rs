//! A rate limit: a maximum number of calls in any window of time.

use std::fmt;
use std::time::Duration;

/// A maximum number of calls per time window, wherever the window starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateLimit {
    calls: u32,
    unit: Unit,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unit {
    Second,
    Minute,
    Hour,
    Day,
}

impl RateLimit {
    /// The maximum that a rate limit can allow: the limiter stores the time of each call.
    pub const MOST: u32 = 1000;

    /// Allows this many calls per second.
    ///
    /// # Panics
    /// If it is 0, or more than [`RateLimit::MOST`]; so do the others.
    #[must_use]
    pub const fn per_second(calls: u32) -> Self {
        Self::new(calls, Unit::Second)
    }

    /// Allows this many calls per minute.
    #[must_use]
    pub const fn per_minute(calls: u32) -> Self {
        Self::new(calls, Unit::Minute)
    }

    /// Allows this many calls per hour.
    #[must_use]
    pub const fn per_hour(calls: u32) -> Self {
        Self::new(calls, Unit::Hour)
    }

    /// Allows this many calls per day.
    #[must_use]
    pub const fn per_day(calls: u32) -> Self {
        Self::new(calls, Unit::Day)
    }

    const fn new(calls: u32, unit: Unit) -> Self {
        assert!(calls > 0 && calls <= Self::MOST, "a rate allows 1 to 1000 calls");
        Self { calls, unit }
    }

    pub(crate) const fn calls(self) -> usize {
        self.calls as usize
    }

    pub(crate) const fn time(self) -> Duration {
        Duration::from_secs(match self.unit {
            Unit::Second => 1,
            Unit::Minute => 60,
            Unit::Hour => 60 * 60,
            Unit::Day => 24 * 60 * 60,
        })
    }
}

impl fmt::Display for RateLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let calls = if self.calls == 1 { "call" } else { "calls" };
        let unit = match self.unit {
            Unit::Second => "second",
            Unit::Minute => "minute",
            Unit::Hour => "hour",
            Unit::Day => "day",
        };
        write!(f, "{} {calls} per {unit}", self.calls)
    }
}
