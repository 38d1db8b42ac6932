//! The circuit breaker. If one kind of work fails repeatedly, the client pauses it. Then one request at a time probes whether the
//! server is back.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use candor_protocol::names::method;

use crate::error::Error;
use crate::members::locked;
use crate::retry::Retry;

/// The wait that other requests get while one request probes.
const PROBING: Duration = Duration::from_secs(1);

/// A kind of work. The breaker counts each kind separately: an answered list says nothing about calls that fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Work {
    Connecting,
    Calls,
    Lists,
    /// Requests for the effect of a call.
    Evaluations,
    /// Reads, and all other requests.
    Others,
    /// Streams of changes. They reconnect at their own pace, so they are neither counted nor stopped.
    Listening,
}

impl Work {
    const COUNTED: usize = 5;

    pub(crate) fn of(method: &str) -> Self {
        match method {
            method::TOOLS_CALL => Self::Calls,
            method::TOOLS_LIST
            | method::PROMPTS_LIST
            | method::RESOURCES_LIST
            | method::RESOURCES_TEMPLATES_LIST
            | method::DIRECTORY_READ => Self::Lists,
            method::TOOLS_ANNOTATIONS | method::TOOLS_RESOLVE => Self::Evaluations,
            _ => Self::Others,
        }
    }

    fn index(self) -> Option<usize> {
        match self {
            Self::Connecting => Some(0),
            Self::Calls => Some(1),
            Self::Lists => Some(2),
            Self::Evaluations => Some(3),
            Self::Others => Some(4),
            Self::Listening => None,
        }
    }
}

/// Counts failures by kind of work.
#[derive(Debug, Default)]
pub(crate) struct Breaker([Mutex<Circuit>; Work::COUNTED]);

/// The state of one kind of work.
#[derive(Debug, Default)]
struct Circuit {
    /// Failures in a row.
    failed: u32,
    /// Set during a pause, and while a request probes.
    open: Option<OpenCircuit>,
}

#[derive(Debug)]
struct OpenCircuit {
    until: Instant,
    rest: Duration,
    probing: bool,
}

impl Breaker {
    /// Admits a request, or returns an error with the remaining pause of its kind of work.
    pub(crate) fn admit(&self, work: Work) -> Result<BreakerPass<'_>, Error> {
        self.admit_at(work, Instant::now())
    }

    fn admit_at(&self, work: Work, now: Instant) -> Result<BreakerPass<'_>, Error> {
        let Some(circuit) = work.index().map(|at| &self.0[at]) else {
            return Ok(BreakerPass { circuit: None, probes: false });
        };
        match &mut locked(circuit).open {
            None => {}
            Some(open) if now < open.until => {
                return Err(Error::Resting { rest: open.until - now });
            }
            Some(OpenCircuit { probing: true, .. }) => {
                return Err(Error::Resting { rest: PROBING });
            }
            Some(open) => {
                open.probing = true;
                return Ok(BreakerPass { circuit: Some(circuit), probes: true });
            }
        }
        Ok(BreakerPass { circuit: Some(circuit), probes: false })
    }

    /// Forgets all failures.
    pub(crate) fn reset(&self) {
        for circuit in &self.0 {
            *locked(circuit) = Circuit::default();
        }
    }
}

/// A request that the breaker admitted. A request dropped without a report counts neither as success nor as failure.
#[derive(Debug)]
#[must_use]
pub(crate) struct BreakerPass<'a> {
    /// `None` if the request is not counted.
    circuit: Option<&'a Mutex<Circuit>>,
    probes: bool,
}

impl BreakerPass<'_> {
    /// Reports how the request went.
    pub(crate) fn saw(self, outcome: Result<(), &Error>, retry: &Retry) {
        self.saw_at(outcome, retry, Instant::now());
    }

    fn saw_at(mut self, outcome: Result<(), &Error>, retry: &Retry, now: Instant) {
        let Some(circuit) = self.circuit.take() else { return };
        let mut circuit = locked(circuit);
        if !outcome.is_err_and(is_outage) {
            // Any answer shows that the server is up.
            *circuit = Circuit::default();
            return;
        }
        circuit.failed = circuit.failed.saturating_add(1);
        let rest = match &circuit.open {
            Some(open) if self.probes => (open.rest * 2).min(retry.longest_rest),
            None if circuit.failed >= retry.failures => retry.rest.min(retry.longest_rest),
            // Too few failures, or a request that was sent before the pause began.
            _ => return,
        };
        circuit.open = Some(OpenCircuit { until: now + rest, rest, probing: false });
    }
}

impl Drop for BreakerPass<'_> {
    fn drop(&mut self) {
        if let Some(circuit) = self.circuit.filter(|_| self.probes)
            && let Some(open) = &mut locked(circuit).open
        {
            open.probing = false;
        }
    }
}

/// Returns true if the server itself is at fault.
fn is_outage(error: &Error) -> bool {
    match error {
        Error::Unreachable { .. } | Error::Lost { .. } | Error::TimedOut { .. } => true,
        Error::Http { status, .. } => *status >= 500,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sends one request. Returns `None` if the breaker does not admit it.
    fn send(breaker: &Breaker, work: Work, at: Instant, fails: bool) -> Option<()> {
        let failure = Error::TimedOut { after: Duration::from_secs(1) };
        let admitted = breaker.admit_at(work, at).ok()?;
        admitted.saw_at(if fails { Err(&failure) } else { Ok(()) }, &Retry::default(), at);
        Some(())
    }

    #[test]
    fn breaker_stops_failing_calls_while_lists_succeed() {
        let (breaker, now) = (Breaker::default(), Instant::now());
        let sent: usize = (0..16)
            .filter(|_| {
                send(&breaker, Work::Lists, now, false).unwrap();
                send(&breaker, Work::Calls, now, true).is_some()
            })
            .count();
        assert_eq!(sent, 5);
        assert!(send(&breaker, Work::Lists, now, false).is_some(), "only calls rest");
        breaker.reset();
        assert!(send(&breaker, Work::Calls, now, true).is_some());
    }

    #[test]
    fn probe_starts_within_twice_the_outage() {
        for outage in [1, 6, 20, 100] {
            let (breaker, start) = (Breaker::default(), Instant::now());
            let back = start + Duration::from_secs(outage);
            (0..5).for_each(|_| send(&breaker, Work::Calls, start, true).unwrap());
            let mut now = start;
            while breaker.0[1].lock().unwrap().open.is_some() {
                now += Duration::from_millis(100);
                let _ = send(&breaker, Work::Calls, now, now < back);
            }
            let late = now - back;
            assert!(late <= Duration::from_secs(outage.min(30) + 1), "{late:?} after {outage} s");
        }
    }

    #[test]
    fn dropped_probe_lets_the_next_request_probe() {
        let (breaker, now) = (Breaker::default(), Instant::now());
        (0..5).for_each(|_| send(&breaker, Work::Calls, now, true).unwrap());
        assert!(breaker.admit_at(Work::Calls, now).is_err());
        let later = now + Duration::from_secs(1);
        let probe = breaker.admit_at(Work::Calls, later).unwrap();
        assert!(breaker.admit_at(Work::Calls, later).is_err());
        drop(probe);
        assert!(send(&breaker, Work::Calls, later, false).is_some());
        assert!(send(&breaker, Work::Calls, later, true).is_some(), "closed again");
    }

    #[test]
    fn breaker_ignores_listener_failures() {
        let (breaker, now) = (Breaker::default(), Instant::now());
        (0..100).for_each(|_| send(&breaker, Work::Listening, now, true).unwrap());
        for work in [Work::Connecting, Work::Calls, Work::Lists, Work::Evaluations, Work::Others] {
            assert!(breaker.admit_at(work, now).is_ok());
        }
    }
}
