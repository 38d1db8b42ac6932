//! Waits for a running attempt, in this process or another, and reports to the caller what it waits for.

use std::time::{Duration, Instant};

use candor_ledger::{EventReply, Fingerprint, Moment, RecordId, RecordVersion, Store};
use candor_protocol::names::waiting;

use super::guarded;
use crate::ctx::request::RequestScope;
use crate::ctx::{self, Ctx};
use crate::error::Refusal;
use crate::outcome::RecordedEnd;

/// How long a call waits before its first notice. Most attempts end sooner.
const QUIET: Duration = Duration::from_secs(1);

/// Maximum time between two notices.
const SAY_SO: Duration = Duration::from_secs(10);

/// The caller that waits.
#[derive(Clone, Copy)]
pub(crate) enum WaitingCaller<'a> {
    /// Before the call has a context.
    Request(&'a RequestScope),
    Ctx(&'a Ctx),
}

impl WaitingCaller<'_> {
    async fn hear(&self, step: u32, message: &str) {
        match self {
            Self::Request(request) => ctx::report_wait(&*request.peer, step, message).await,
            Self::Ctx(ctx) => ctx.waiting(message, None).await,
        }
    }
}

/// What the ledger knows about the owner of a running attempt.
#[derive(Clone, Copy)]
struct Lease {
    started: Moment,
    ends_in: Duration,
    silent_for: Duration,
}

impl Lease {
    /// Returns true if the owner missed a renewal. Owners renew a lease three times within its length, so half of it without a
    /// write is a missed renewal.
    fn is_silent(&self) -> bool {
        self.silent_for > self.ends_in
    }

    fn notice(&self) -> String {
        let prefix =
            if self.is_silent() { waiting::FOR_LEASE_OF_SILENT } else { waiting::FOR_RUNNING };
        format!("{prefix}{} s", seconds(self.ends_in))
    }

    /// Returns how long the notice stays the same.
    fn pause(&self) -> Duration {
        let half = (self.silent_for + self.ends_in) / 2;
        match self.is_silent() {
            true => SAY_SO,
            false => (half.saturating_sub(self.silent_for) + QUIET / 10).min(SAY_SO),
        }
    }

    /// Returns the error for a caller that stops waiting.
    fn refusal(&self) -> Refusal {
        match self.is_silent() {
            true => Refusal::OwnerSilent { ends_in: self.ends_in },
            false => Refusal::InProgress { since: Some(self.started), retry_after: self.ends_in },
        }
    }
}

/// Returns the time in whole seconds, rounded up, at least 1.
fn seconds(time: Duration) -> u64 {
    (time.as_secs() + u64::from(time.subsec_nanos() > 0)).max(1)
}

/// A record whose attempt runs.
pub(super) struct RunningRecord<'a> {
    pub(super) store: &'a dyn Store,
    pub(super) id: &'a RecordId,
    pub(super) fingerprint: Fingerprint,
    /// The call is safe to retry without regard to its key.
    pub(super) idempotent: bool,
}

impl RunningRecord<'_> {
    /// Waits until the running attempt ends, or its lease does, or until `until`. Returns `None` if the record changed.
    pub(super) async fn join(
        self,
        seen: RecordVersion,
        until: Instant,
        listener: WaitingCaller<'_>,
    ) -> Option<RecordedEnd> {
        if let WaitingCaller::Request(request) = listener {
            request.release_position();
        }
        let Self { store, id, fingerprint, idempotent } = self;
        let mut watch = store.watch(id, seen);
        let (mut pause, mut step) = (QUIET, 0);
        loop {
            let left = until.saturating_duration_since(Instant::now());
            match tokio::time::timeout(left.min(pause), &mut watch).await {
                Ok(Ok(())) => return None,
                Ok(Err(error)) => return Some(RecordedEnd::Refused(Refusal::of_store(&error))),
                Err(_) => {}
            }
            let recalled = store.recall(id, fingerprint, idempotent);
            let lease = match guarded(recalled).await {
                Ok(Some(EventReply::InFlight { since, retry_after, silent_for, .. })) => {
                    Lease { started: since, ends_in: retry_after, silent_for }
                }
                Ok(_) => return None,
                Err(error) => return Some(RecordedEnd::Refused(Refusal::of_store(&error))),
            };
            if Instant::now() >= until {
                return Some(RecordedEnd::Refused(lease.refusal()));
            }
            if lease.is_silent() {
                let (tool, ends_in) = (&id.scope.tool, seconds(lease.ends_in));
                tracing::info!(tool, ends_in, "a call waits for the lease of a silent server");
            }
            listener.hear(step, &lease.notice()).await;
            step += 1;
            pause = lease.pause();
        }
    }
}
