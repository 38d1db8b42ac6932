//! What is tried again, when, and when no more.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use crate::error::Error;
use crate::members::locked;

/// How often and how soon what failed is tried again. Whether it may be is not decided here.
///
/// ```no_run
/// use candor_client::{Client, Retry};
///
/// # async fn example() -> Result<(), candor_client::Error> {
/// let mut retry = Retry::default();
/// retry.attempts = 2;
/// let client = Client::connect("http://127.0.0.1:7332/mcp").retry(retry).await?;
/// # Ok(()) }
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Retry {
    /// How often something is tried at most, the first time included.
    pub attempts: u32,
    /// The longest wait after the first failure; it doubles with every further one.
    pub base: Duration,
    /// The longest wait at all. A server that wants more is not tried again.
    pub cap: Duration,
    /// So many failures in a row ...
    pub failures: u32,
    /// ... within this time, and the server is left alone for as long.
    pub rest: Duration,
}

impl Default for Retry {
    fn default() -> Self {
        Self {
            attempts: 4,
            base: Duration::from_millis(250),
            cap: Duration::from_secs(60),
            failures: 5,
            rest: Duration::from_secs(30),
        }
    }
}

impl Retry {
    /// Nothing is tried again.
    #[must_use]
    pub fn never() -> Self {
        Self { attempts: 1, ..Self::default() }
    }

    /// How long to wait after `failed` failures (1 after the first); `None`: no more. Anything up to the longest wait, so that
    /// clients who failed together do not come back together; what the server says wins.
    #[must_use]
    pub fn wait(&self, failed: u32, server_says: Option<Duration>) -> Option<Duration> {
        if failed >= self.attempts {
            return None;
        }
        if let Some(after) = server_says {
            return (after <= self.cap).then(|| after + share(self.base));
        }
        let doubled = 2_u32.saturating_pow(failed.saturating_sub(1));
        Some(share(self.base.saturating_mul(doubled).min(self.cap)))
    }
}

/// A part of a time, by chance.
fn share(of: Duration) -> Duration {
    let chance = getrandom::u32().map_or(0.5, |n| f64::from(n) / f64::from(u32::MAX));
    of.mul_f64(chance)
}

/// Leaves a server alone that fails again and again.
#[derive(Debug, Default)]
pub(crate) struct Breaker(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// Failures in a row, the first of them at this time.
    failed: u32,
    since: Option<Instant>,
    /// Left alone until then; after it one request may try.
    until: Option<Instant>,
    trying: bool,
}

impl Breaker {
    /// Whether a request may go out now.
    pub(crate) fn admit(&self, now: Instant) -> Result<(), Error> {
        let mut state = locked(&self.0);
        match state.until {
            None => Ok(()),
            Some(until) if now < until => Err(Error::Resting { rest: until - now }),
            // One tries for all.
            Some(_) if !state.trying => {
                state.trying = true;
                Ok(())
            }
            Some(_) => Err(Error::Resting { rest: Duration::from_secs(1) }),
        }
    }

    /// How the request went.
    pub(crate) fn saw(&self, outcome: Result<(), &Error>, retry: &Retry, now: Instant) {
        let mut state = locked(&self.0);
        match outcome {
            Err(error) if breaks(error) => {
                if state.since.is_none_or(|since| now - since > retry.rest) && !state.trying {
                    (state.failed, state.since) = (0, Some(now));
                }
                state.failed += 1;
                if state.trying || state.failed >= retry.failures {
                    state.until = Some(now + retry.rest);
                    state.trying = false;
                }
            }
            // Any answer shows that the server is there.
            _ => *state = State::default(),
        }
    }

    /// The request was given up before anything came of it.
    pub(crate) fn gave_up(&self) {
        locked(&self.0).trying = false;
    }
}

/// Whether the server itself is at fault.
fn breaks(error: &Error) -> bool {
    match error {
        Error::Unreachable { .. } | Error::Lost { .. } | Error::TimedOut { .. } => true,
        Error::Http { status, .. } => *status >= 500,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_are_capped_and_end() {
        let retry = Retry { attempts: 20, ..Retry::default() };
        for failed in 1..20 {
            let most = Duration::from_millis(250 * 2_u64.pow(failed - 1)).min(retry.cap);
            let waits: Vec<_> = (0..100).map(|_| retry.wait(failed, None).unwrap()).collect();
            assert!(waits.iter().all(|wait| *wait <= most));
            // All of it is used: a hundred times in the lower half is no chance.
            assert!(waits.iter().any(|wait| *wait > most / 2), "{failed}");
        }
        assert!(retry.wait(20, None).is_none());
        assert!(Retry::default().wait(4, None).is_none());
        assert!(Retry::never().wait(1, None).is_none());
    }

    #[test]
    fn chance_spreads_the_waits() {
        let retry = Retry::default();
        let waits: std::collections::HashSet<_> =
            (0..50).map(|_| retry.wait(3, None).unwrap().as_micros()).collect();
        assert!(waits.len() > 25, "{waits:?}");
    }

    #[test]
    fn what_the_server_says_wins_unless_it_is_absurd() {
        let retry = Retry::default();
        let after = Duration::from_secs(7);
        let wait = retry.wait(1, Some(after)).unwrap();
        assert!(wait >= after && wait <= after + retry.base);
        assert!(retry.wait(1, Some(Duration::from_secs(3600))).is_none());
    }

    #[test]
    fn five_failures_in_a_row_are_a_rest_of_half_a_minute() {
        let (retry, breaker, start) = (Retry::default(), Breaker::default(), Instant::now());
        let failure = Error::Lost { why: String::new(), sent: true };
        let at = |seconds| start + Duration::from_secs(seconds);
        for second in 0..5 {
            assert!(breaker.admit(at(second)).is_ok());
            breaker.saw(Err(&failure), &retry, at(second));
        }
        assert!(
            matches!(breaker.admit(at(5)), Err(Error::Resting { rest }) if rest == Duration::from_secs(29))
        );
        // One tries, and fails: another rest.
        assert!(breaker.admit(at(34)).is_ok());
        assert!(breaker.admit(at(34)).is_err());
        breaker.saw(Err(&failure), &retry, at(35));
        assert!(breaker.admit(at(64)).is_err());
        // One tries, and goes through: all may.
        assert!(breaker.admit(at(65)).is_ok());
        breaker.saw(Ok(()), &retry, at(65));
        assert!(breaker.admit(at(65)).is_ok() && breaker.admit(at(65)).is_ok());
    }

    #[test]
    fn failures_far_apart_and_failures_of_calls_do_not_count() {
        let (retry, breaker, start) = (Retry::default(), Breaker::default(), Instant::now());
        let failure = Error::TimedOut { after: Duration::from_secs(1) };
        for n in 0..20 {
            breaker.saw(Err(&failure), &retry, start + Duration::from_secs(n * 31));
        }
        let refused = Error::Unauthorized { status: 401, challenge: None };
        for _ in 0..20 {
            breaker.saw(Err(&refused), &retry, start);
        }
        assert!(breaker.admit(start).is_ok());
    }
}
