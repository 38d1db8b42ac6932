//! How long a handler may run, without the time that it waits for its client.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// The deadline of a handler. Its clock is paused while a question is open, which has a time limit of its own.
#[derive(Debug)]
pub(crate) struct Deadline(Mutex<Clock>);

#[derive(Debug)]
struct Clock {
    ends: Instant,
    /// The number of open questions, and when the first of them was asked.
    open: usize,
    since: Instant,
}

impl Deadline {
    pub(crate) fn after(time: Duration) -> Self {
        let now = Instant::now();
        Self(Mutex::new(Clock { ends: now + time, open: 0, since: now }))
    }

    /// Pauses the clock until the guard is dropped.
    pub(crate) fn pause(&self) -> Paused<'_> {
        let mut clock = self.lock();
        if clock.open == 0 {
            clock.since = Instant::now();
        }
        clock.open += 1;
        Paused(self)
    }

    /// Waits until the time is up.
    pub(crate) async fn passed(&self) {
        loop {
            let (ends, open) = {
                let clock = self.lock();
                (clock.ends, clock.open > 0)
            };
            let now = Instant::now();
            if !open && ends <= now {
                return;
            }
            // While the clock is paused, its end moves with the time, so an occasional check is enough.
            let look_again = if open { now + Duration::from_secs(1) } else { ends };
            tokio::time::sleep_until(look_again).await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Clock> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Guard of a paused clock.
pub(crate) struct Paused<'a>(&'a Deadline);

impl Drop for Paused<'_> {
    fn drop(&mut self) {
        let mut clock = self.0.lock();
        clock.open -= 1;
        if clock.open == 0 {
            let waited = clock.since.elapsed();
            clock.ends += waited;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn deadline_pauses_while_a_question_is_open() {
        let deadline = Deadline::after(Duration::from_secs(10));
        let begun = Instant::now();
        let asking = async {
            tokio::time::sleep(Duration::from_secs(5)).await;
            let _paused = deadline.pause();
            tokio::time::sleep(Duration::from_secs(100)).await;
        };
        tokio::join!(asking, deadline.passed());
        assert_eq!(begun.elapsed().as_secs(), 110);
    }
}
