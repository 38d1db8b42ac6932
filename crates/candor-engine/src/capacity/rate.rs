//! Rate limits: how often one caller calls a tool or asks for explanations. The limiter stores the time of each call. It is not a
//! token bucket: a full bucket that refills allows nearly twice the limit in some windows. A tool's description promises that no
//! window has more.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use candor_ledger::Key;
use candor_protocol::Principal;
use tokio::time::Instant;

use super::rate_limit::RateLimit;

/// Maximum number of stored callers and tools. Beyond it, the one whose last call is the oldest is dropped.
const ROOM: usize = 4096;

/// The recent calls of tools that have a rate limit.
#[derive(Clone, Default)]
pub(crate) struct RateLimiter(Arc<Mutex<HashMap<RateKey, Calls>>>);

/// Caller and tool. Without a tool: the caller's requests to explain calls.
type RateKey = (String, Option<String>);

#[derive(Default)]
struct Calls {
    counted: VecDeque<Instant>,
    last: Option<Instant>,
    /// Keys of admitted calls that may not have a record yet. A retry with such a key joins.
    starting: Vec<Starting>,
    /// Number of calls without a key that asked a question. Each may come back once, with the answer.
    asking: usize,
}

/// A key that is about to start. It counts once, whichever of the calls with this key starts.
struct Starting {
    key: Key,
    /// When it was counted.
    at: Instant,
    /// Number of admitted calls with this key that are still in flight.
    holders: usize,
    begun: bool,
}

impl Calls {
    fn starting(&mut self, key: &Key) -> Option<&mut Starting> {
        self.starting.iter_mut().find(|starting| starting.key == *key)
    }

    /// Removes the count of a call that did not start.
    fn uncount(&mut self, at: Instant) {
        let counted = self.counted.iter().rposition(|counted| *counted == at);
        counted.and_then(|counted| self.counted.remove(counted));
    }
}

/// The facts of a call that its rate limit depends on.
#[derive(Clone, Copy)]
pub(crate) struct RateInput<'a> {
    pub(crate) key: Option<&'a Key>,
    /// It brings the answer to a question of an earlier round.
    pub(crate) goes_on: bool,
}

/// A call that the rate limit allows. If it is dropped before it [begins](RatePermit::begins), it returns what it took.
pub(crate) struct RatePermit {
    rates: RateLimiter,
    whose: RateKey,
    took: RateCharge,
}

/// What a call that does not begin returns.
enum RateCharge {
    /// One call, counted at this time.
    Call(Instant),
    /// One call, shared by all calls with this key.
    Key(Key),
    /// The return of a call that asked a question.
    Answer,
    Nothing,
}

impl RateLimiter {
    /// Admits a call and counts it, or returns how long to wait.
    pub(crate) fn admit(
        &self,
        rate: RateLimit,
        principal: &Principal,
        tool: &str,
        input: RateInput<'_>,
    ) -> Result<RatePermit, Duration> {
        self.pass(rate, (principal.as_str().to_owned(), Some(tool.to_owned())), input)
    }

    /// Admits a request to explain a call and counts it, or returns how long to wait. Such a request costs what the tool's
    /// evaluator costs, so all tools share one limit.
    pub(crate) fn admit_question(
        &self,
        rate: Option<RateLimit>,
        principal: &Principal,
    ) -> Result<(), Duration> {
        const FRESH: RateInput<'_> = RateInput { key: None, goes_on: false };
        let Some(rate) = rate else { return Ok(()) };
        let passed = self.pass(rate, (principal.as_str().to_owned(), None), FRESH);
        passed.map(|mut pass| pass.begins())
    }

    fn pass(
        &self,
        rate: RateLimit,
        whose: RateKey,
        coming: RateInput<'_>,
    ) -> Result<RatePermit, Duration> {
        let now = Instant::now();
        let mut all = self.lock();
        if all.len() >= ROOM && !all.contains_key(&whose) {
            let longest =
                all.iter().min_by_key(|(_, calls)| calls.last).map(|(who, _)| who.clone());
            longest.and_then(|longest| all.remove(&longest));
        }
        let calls = all.entry(whose.clone()).or_default();
        calls.last = Some(now);
        let free = match coming.key {
            // The record ensures that an answer is used once.
            Some(_) if coming.goes_on => Some(RateCharge::Nothing),
            Some(key) => calls.starting(key).map(|starting| {
                starting.holders += 1;
                RateCharge::Key(key.clone())
            }),
            None if coming.goes_on && calls.asking > 0 => {
                calls.asking -= 1;
                Some(RateCharge::Answer)
            }
            None => None,
        };
        if let Some(took) = free {
            return Ok(RatePermit { rates: self.clone(), whose, took });
        }
        while calls.counted.front().is_some_and(|at| *at + rate.time() <= now) {
            calls.counted.pop_front();
        }
        if calls.counted.len() >= rate.calls() {
            // The limit may have been another one when the earlier calls came.
            let first = calls.counted[calls.counted.len() - rate.calls()];
            let wait = (first + rate.time()).saturating_duration_since(now);
            // In whole milliseconds, as the caller receives it: a caller that waits this long is admitted.
            return Err(Duration::from_millis(
                u64::try_from(wait.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX),
            ));
        }
        calls.counted.push_back(now);
        let took = match coming.key.cloned() {
            None => RateCharge::Call(now),
            Some(key) => {
                let starting = Starting { key: key.clone(), at: now, holders: 1, begun: false };
                calls.starting.push(starting);
                RateCharge::Key(key)
            }
        };
        Ok(RatePermit { rates: self.clone(), whose, took })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<RateKey, Calls>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RatePermit {
    /// Counts the call for good, because it starts now.
    pub(crate) fn begins(&mut self) {
        let RateCharge::Key(key) = &self.took else {
            self.took = RateCharge::Nothing;
            return;
        };
        let mut all = self.rates.lock();
        let Some(calls) = all.get_mut(&self.whose) else { return };
        let starts_again =
            calls.starting(key).is_some_and(|it| std::mem::replace(&mut it.begun, true));
        // The first start had no outcome, and this is another one.
        if starts_again {
            calls.counted.push_back(Instant::now());
        }
    }

    /// Records that the call asked a question, and may come back with the answer.
    pub(crate) fn asks(&self) {
        if let Some(calls) = self.rates.lock().get_mut(&self.whose) {
            calls.asking += 1;
        }
    }
}

impl Drop for RatePermit {
    fn drop(&mut self) {
        if matches!(self.took, RateCharge::Nothing) {
            return;
        }
        let mut all = self.rates.lock();
        let Some(calls) = all.get_mut(&self.whose) else { return };
        match &self.took {
            RateCharge::Call(at) => calls.uncount(*at),
            RateCharge::Answer => calls.asking += 1,
            RateCharge::Key(key) => {
                let Some(held) = calls.starting.iter().position(|it| it.key == *key) else {
                    return;
                };
                calls.starting[held].holders -= 1;
                if calls.starting[held].holders == 0 {
                    let last = calls.starting.swap_remove(held);
                    if !last.begun {
                        calls.uncount(last.at);
                    }
                }
            }
            RateCharge::Nothing => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRESH: RateInput<'_> = RateInput { key: None, goes_on: false };

    fn who(name: &str) -> RateKey {
        (name.to_owned(), Some("tool".to_owned()))
    }

    /// Admits a call and starts it.
    fn starts(
        rates: &RateLimiter,
        rate: RateLimit,
        name: &str,
        coming: RateInput<'_>,
    ) -> Result<(), Duration> {
        rates.pass(rate, who(name), coming).map(|mut pass| pass.begins())
    }

    #[tokio::test(start_paused = true)]
    async fn admitted_call_that_never_starts_is_not_counted() {
        let (rates, rate, key) =
            (RateLimiter::default(), RateLimit::per_minute(2), Key::new("k").unwrap());
        let keyed = RateInput { key: Some(&key), goes_on: false };
        assert!(starts(&rates, rate, "a", FRESH).is_ok());
        for coming in [FRESH, keyed, FRESH, keyed] {
            let pass = rates.pass(rate, who("a"), coming).unwrap();
            assert!(
                rates.pass(rate, who("a"), FRESH).is_err(),
                "while the first call may still start"
            );
            drop(pass);
        }
        assert!(starts(&rates, rate, "a", keyed).is_ok());
        assert!(starts(&rates, rate, "a", keyed).is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn calls_with_one_key_are_counted_once_per_start() {
        let (rates, rate) = (RateLimiter::default(), RateLimit::per_minute(3));
        let (k, l) = (Key::new("k").unwrap(), Key::new("l").unwrap());
        let keyed = |key| RateInput { key: Some(key), goes_on: false };
        let pass = |key| rates.pass(rate, who("a"), keyed(key)).unwrap();
        // The first disconnects while it waits for its turn, and the second starts.
        let (first, mut second) = (pass(&k), pass(&k));
        drop(first);
        second.begins();
        drop(second);
        assert_eq!(rates.lock()[&who("a")].counted.len(), 1);
        // The first start had no outcome, so the other call with the key starts it again.
        let (mut first, mut second) = (pass(&l), pass(&l));
        first.begins();
        drop(first);
        second.begins();
        drop(second);
        assert_eq!(rates.lock()[&who("a")].counted.len(), 3);
        assert!(rates.lock()[&who("a")].starting.is_empty());
        assert!(rates.pass(rate, who("a"), FRESH).is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn no_time_window_admits_more_calls_than_the_rate() {
        let (rates, rate) = (RateLimiter::default(), RateLimit::per_minute(10));
        let mut admitted: Vec<Instant> = Vec::new();
        for step in 0..5000_u64 {
            tokio::time::advance(Duration::from_millis(step * 37 % 211)).await;
            match starts(&rates, rate, "a", FRESH) {
                Ok(()) => admitted.push(Instant::now()),
                Err(wait) => {
                    assert!(wait > Duration::ZERO && wait <= rate.time());
                    if step % 7 == 0 {
                        tokio::time::advance(wait).await;
                        assert!(starts(&rates, rate, "a", FRESH).is_ok(), "the wait is exact");
                        admitted.push(Instant::now());
                    }
                }
            }
        }
        assert!(admitted.len() > 50);
        for window in admitted.windows(rate.calls() + 1) {
            assert!(*window.last().unwrap() - window[0] >= rate.time());
        }
    }

    #[tokio::test(start_paused = true)]
    async fn least_recent_callers_are_evicted_beyond_the_bound() {
        let (rates, rate) = (RateLimiter::default(), RateLimit::per_hour(1));
        for number in 0..ROOM + 10 {
            tokio::time::advance(Duration::from_millis(1)).await;
            assert!(starts(&rates, rate, &number.to_string(), FRESH).is_ok());
        }
        assert_eq!(rates.lock().len(), ROOM);
        assert!(rates.pass(rate, who("10"), FRESH).is_err());
        assert!(rates.pass(rate, who("9"), FRESH).is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn retry_with_the_key_of_a_starting_call_is_free() {
        let (rates, rate) = (RateLimiter::default(), RateLimit::per_minute(1));
        let key = Key::new("k").unwrap();
        let keyed = RateInput { key: Some(&key), goes_on: false };
        let mut first = rates.pass(rate, who("a"), keyed).unwrap();
        first.begins();
        assert!(rates.pass(rate, who("a"), keyed).is_ok());
        assert!(rates.pass(rate, who("b"), keyed).is_ok(), "each caller has its own rate limit");
        drop(first);
        assert!(rates.pass(rate, who("a"), keyed).is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn one_answer_per_question_is_free() {
        let (rates, rate) = (RateLimiter::default(), RateLimit::per_minute(1));
        let answer = RateInput { key: None, goes_on: true };
        let mut asking = rates.pass(rate, who("a"), FRESH).unwrap();
        asking.begins();
        asking.asks();
        drop(rates.pass(rate, who("a"), answer).expect("an answer that never starts is free"));
        assert!(starts(&rates, rate, "a", answer).is_ok());
        assert!(starts(&rates, rate, "a", answer).is_err());
    }
}
