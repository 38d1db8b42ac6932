//! The log of refused tokens. An attacker chooses how many there are, so the log must not have a line for each.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use candor_protocol::shown::cut;
use http::request::Parts;

/// The number of refusals per interval that get a line of their own.
const LINES: u32 = 5;

const INTERVAL: Duration = Duration::from_secs(5);

/// The refusal log of one server. The MCP endpoint and the console share it.
#[derive(Debug, Clone, Default)]
pub(crate) struct RefusalLog(Arc<Mutex<Interval>>);

#[derive(Debug, Default)]
struct Interval {
    began: Option<Instant>,
    logged: u32,
    withheld: u64,
}

#[derive(Debug, PartialEq, Eq)]
enum LogLine {
    Own,
    None,
    /// No line. As the first such refusal of the interval, it makes a summary due after this time.
    SummaryAfter(Duration),
}

impl Interval {
    /// Ends the interval if its time is over. Returns the number of refusals that it withheld from the log.
    fn end(&mut self, now: Instant) -> u64 {
        match self.began {
            Some(began) if now.saturating_duration_since(began) >= INTERVAL => {
                std::mem::take(self).withheld
            }
            _ => 0,
        }
    }

    fn refuse(&mut self, now: Instant) -> LogLine {
        let began = *self.began.get_or_insert(now);
        if self.logged < LINES {
            self.logged += 1;
            return LogLine::Own;
        }
        self.withheld += 1;
        if self.withheld > 1 {
            return LogLine::None;
        }
        LogLine::SummaryAfter(INTERVAL.saturating_sub(now.saturating_duration_since(began)))
    }
}

impl RefusalLog {
    /// Logs that a token was refused. The first few of an interval get a line each, the others a summary when the interval ends.
    pub(crate) fn refuse(&self, request: &Parts) {
        let now = Instant::now();
        // Also here, because the task below may be late.
        self.summarize(now);
        let line = self.lock().refuse(now);
        match line {
            // The path may have any length, because the caller chooses it.
            LogLine::Own => {
                tracing::warn!(path = cut(request.uri.path(), 200), "a token was refused");
            }
            LogLine::None => {}
            LogLine::SummaryAfter(left) => {
                let log = self.clone();
                tokio::spawn(async move {
                    tokio::time::sleep(left).await;
                    log.summarize(Instant::now());
                });
            }
        }
    }

    fn summarize(&self, now: Instant) {
        let count = self.lock().end(now);
        if count > 0 {
            tracing::warn!(count, "more tokens were refused");
        }
    }

    fn lock(&self) -> MutexGuard<'_, Interval> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interval_has_few_lines_and_one_summary() {
        let (mut interval, begin) = (Interval::default(), Instant::now());
        let at = |millis| begin + Duration::from_millis(millis);
        for _ in 0..LINES {
            assert_eq!(interval.refuse(at(0)), LogLine::Own);
        }
        assert_eq!(interval.refuse(at(1000)), LogLine::SummaryAfter(Duration::from_secs(4)));
        assert_eq!(interval.refuse(at(1000)), LogLine::None);
        assert_eq!(interval.end(at(4999)), 0);
        assert_eq!(interval.end(at(5000)), 2);
        assert_eq!(interval.end(at(9000)), 0, "nothing is counted twice");
        assert_eq!(interval.refuse(at(9000)), LogLine::Own);
    }
}
