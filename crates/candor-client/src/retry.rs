//! How often, and how soon, the client retries.

use std::time::Duration;

/// How often, and how soon, the client retries. Whether a retry is safe is decided elsewhere.
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
    /// The maximum number of attempts, including the first.
    pub attempts: u32,
    /// The longest wait after the first failure. It doubles with each further failure.
    pub base: Duration,
    /// The longest wait of all. If a server asks for more, the client does not retry.
    pub cap: Duration,
    /// After this number of failures in a row of one kind of work (connecting, calls, lists, evaluations, the rest), the client
    /// pauses that work.
    pub failures: u32,
    /// The first pause. After it, one request probes the server. Each failed probe doubles the pause.
    pub rest: Duration,
    /// The longest pause.
    pub longest_rest: Duration,
}

impl Default for Retry {
    fn default() -> Self {
        Self {
            attempts: 4,
            base: Duration::from_millis(250),
            cap: Duration::from_secs(60),
            failures: 5,
            rest: Duration::from_secs(1),
            longest_rest: Duration::from_secs(30),
        }
    }
}

impl Retry {
    /// Returns settings without retries.
    #[must_use]
    pub fn never() -> Self {
        Self { attempts: 1, ..Self::default() }
    }

    /// Returns how long to wait after `failed` failures (1 after the first). Returns `None` if no attempt remains, or if the server
    /// asks for more than [`cap`](Self::cap). The wait is random, up to the longest wait, so that clients that failed together do
    /// not retry together. A wait that the server asks for takes precedence, plus a random part of [`base`](Self::base).
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

/// Returns a random part of a duration.
fn share(of: Duration) -> Duration {
    let chance = getrandom::u32().map_or(0.5, |n| f64::from(n) / f64::from(u32::MAX));
    of.mul_f64(chance)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retry_delay_doubles_up_to_the_cap() {
        let retry = Retry { attempts: 20, ..Retry::default() };
        for failed in 1..20 {
            let most = Duration::from_millis(250 * 2_u64.pow(failed - 1)).min(retry.cap);
            let waits: Vec<_> = (0..100).map(|_| retry.wait(failed, None).unwrap()).collect();
            assert!(waits.iter().all(|wait| *wait <= most));
            // The whole range is used: a hundred waits in the lower half are no coincidence.
            assert!(waits.iter().any(|wait| *wait > most / 2), "{failed}");
        }
        assert!(retry.wait(20, None).is_none());
        assert!(Retry::default().wait(4, None).is_none());
        assert!(Retry::never().wait(1, None).is_none());
    }

    #[test]
    fn retry_delay_is_random() {
        let retry = Retry::default();
        let waits: std::collections::HashSet<_> =
            (0..50).map(|_| retry.wait(3, None).unwrap().as_micros()).collect();
        assert!(waits.len() > 25, "{waits:?}");
    }

    #[test]
    fn retry_after_sets_the_minimum_delay_unless_too_long() {
        let retry = Retry::default();
        let after = Duration::from_secs(7);
        let wait = retry.wait(1, Some(after)).unwrap();
        assert!(wait >= after && wait <= after + retry.base);
        assert!(retry.wait(1, Some(Duration::from_secs(3600))).is_none());
    }
}
