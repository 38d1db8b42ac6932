//! The progress of a call: one line on a terminal, overwritten with each change.

use std::convert::Infallible;
use std::io::{self, IsTerminal as _, Write as _};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use candor::protocol::names::waiting;

use crate::terminal;
use crate::width::{cut, fitting};

/// The maximum width of a message next to the bar, in columns.
const LETTERS: usize = 40;

const BAR: usize = 20;

/// How long nothing is shown before a message explains the wait.
const SILENCE: Duration = Duration::from_secs(2);

pub(super) struct Progress {
    /// True if stderr is a terminal. Progress is useless in a file.
    shown: bool,
    /// True if the terminal cannot clear a line.
    dumb: bool,
    /// True if programs read stderr as JSON.
    json: bool,
    written: AtomicBool,
    /// True once the user knows that the call waits for approval: once is enough.
    told_of_wait: AtomicBool,
    /// What was reported of a running attempt: 0 is nothing, 1 that it runs, 2 that its server is silent.
    told_of_lease: AtomicUsize,
    /// The number of open questions on the terminal. Nothing is written over them.
    paused: AtomicUsize,
    /// How many of them decide whether the call may start: confirmations, and the server's approval requests.
    confirmations: AtomicUsize,
    approvals: AtomicUsize,
    /// True if the server is trusted, so that its reports of waiting count.
    trusted: bool,
}

impl Progress {
    pub(super) fn new(json: bool, trusted: bool) -> Self {
        let shown = io::stderr().is_terminal();
        let (written, told_of_wait) = (AtomicBool::new(false), AtomicBool::new(false));
        Self {
            shown,
            dumb: terminal::is_dumb(),
            json,
            written,
            told_of_wait,
            told_of_lease: AtomicUsize::new(0),
            paused: AtomicUsize::new(0),
            confirmations: AtomicUsize::new(0),
            approvals: AtomicUsize::new(0),
            trusted,
        }
    }

    /// Shows a line that is already safe to show, until it is cleared.
    pub(super) fn say(&self, line: &str) {
        if !self.shown || self.paused.load(Ordering::Acquire) > 0 {
            return;
        }
        let first = !self.written.swap(true, Ordering::AcqRel);
        let mut stderr = io::stderr().lock();
        if self.dumb {
            // A dumb terminal keeps the line, so write it only once.
            let _ = if first { writeln!(stderr, "{line}") } else { Ok(()) };
            return;
        }
        // A longer line would wrap, and only its last row could be cleared.
        let columns = terminal::columns(&stderr).unwrap_or(usize::MAX);
        let line = fitting(line, columns.saturating_sub(1));
        let _ = write!(stderr, "\r\x1b[K{line}");
        let _ = stderr.flush();
    }

    /// Shows this line whenever none was shown for [`SILENCE`], so that the user knows what the command waits for.
    pub(super) async fn fill_silence(&self, line: &str) -> Infallible {
        loop {
            tokio::time::sleep(SILENCE).await;
            if !self.written.load(Ordering::Acquire) {
                self.say(line);
            }
        }
    }

    pub(super) fn tell(&self, news: &candor_client::Progress) {
        if let Some(operation) = news.operation() {
            self.tell_of_wait(operation);
            self.say("waiting for the decision; press Ctrl-C to stop");
            return;
        }
        if let Some((silent, seconds)) = lease(news).filter(|_| self.trusted) {
            self.tell_of_lease(silent, seconds);
            self.say("waiting for the attempt that runs already; press Ctrl-C to stop");
            return;
        }
        let message = news.message.as_deref().map(|text| cut(text, LETTERS)).unwrap_or_default();
        let bar = bar(news.done, news.total);
        // The bar marks what follows it as the server's words.
        self.say(&if message.is_empty() { bar } else { format!("{bar} | {message}") });
    }

    /// Reports that the call waits for an operator, and where to review it. A file gets the report, too: its reader also needs to
    /// know why nothing happens.
    fn tell_of_wait(&self, operation: &str) {
        if self.paused.load(Ordering::Acquire) > 0 || self.told_of_wait.swap(true, Ordering::AcqRel)
        {
            return;
        }
        // The suggested command has no id: a server could name an operation that is not this call's.
        self.announce(
            "approval",
            &format!(
                "This call needs an operator's approval (operation {operation}).\n  \
                 Review it in the server's console, or with: candor approvals (--ledger, if the server has its own)"
            ),
        );
    }

    /// Reports that another attempt of the call runs, and how long this one may wait for it. Each of the two messages appears once.
    fn tell_of_lease(&self, silent: bool, seconds: u32) {
        let sentence = 1 + usize::from(silent);
        let is_silent = self.paused.load(Ordering::Acquire) > 0;
        if is_silent || self.told_of_lease.fetch_max(sentence, Ordering::AcqRel) >= sentence {
            return;
        }
        let message = match silent {
            true => format!(
                "The server that ran this call stopped responding. Waiting up to {seconds} s for its lease to end."
            ),
            false => format!(
                "This call is running already. Waiting for its result. If its server stopped, its lease ends within {seconds} s."
            ),
        };
        self.announce("lease", &message);
    }

    /// Reports what a call waits for. A program that reads JSON gets it as JSON.
    fn announce(&self, waits_for: &str, message: &str) {
        self.clear();
        let mut stderr = io::stderr().lock();
        let _ = match self.json && !self.shown {
            false => writeln!(stderr, "{message}"),
            true => {
                let notice = serde_json::json!({"waitsFor": waits_for, "message": message});
                writeln!(stderr, "{}", serde_json::json!({"notice": notice}))
            }
        };
    }

    /// Returns true if a trusted server reported that the call waits for approval. From an untrusted server, that is only a claim.
    pub(super) fn told_of_wait(&self) -> bool {
        self.trusted && self.told_of_wait.load(Ordering::Acquire)
    }

    /// Counts a confirmation as open until the guard is dropped.
    pub(super) fn confirming(&self) -> CountGuard<'_> {
        CountGuard::one(&self.confirmations)
    }

    /// Counts the server's approval request as open until the guard is dropped.
    pub(super) fn approving(&self) -> CountGuard<'_> {
        CountGuard::one(&self.approvals)
    }

    /// Returns true if an open question must be answered before the call starts. From an untrusted server, that is only a claim.
    pub(super) fn is_before_start(&self) -> bool {
        let open = |count: &AtomicUsize| count.load(Ordering::Acquire) > 0;
        open(&self.confirmations) || (self.trusted && open(&self.approvals))
    }

    /// Prints notes for the user, unless programs read the output.
    pub(super) fn note(&self, notes: &[String]) {
        if !self.json && !notes.is_empty() {
            self.clear();
            notes.iter().for_each(|note| eprintln!("{note}"));
        }
    }

    /// Clears the line. If the terminal cannot do that, the next line appears below it.
    pub(super) fn clear(&self) {
        if self.written.swap(false, Ordering::AcqRel) && !self.dumb {
            let mut stderr = io::stderr().lock();
            let _ = write!(stderr, "\r\x1b[K");
            let _ = stderr.flush();
        }
    }

    /// Writes nothing until the guard is dropped.
    pub(super) fn pause(&self) -> CountGuard<'_> {
        let paused = CountGuard::one(&self.paused);
        self.clear();
        paused
    }
}

/// Adds one to a count until it is dropped.
pub(super) struct CountGuard<'a>(&'a AtomicUsize);

impl<'a> CountGuard<'a> {
    fn one(count: &'a AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::AcqRel);
        Self(count)
    }
}

impl Drop for CountGuard<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Returns whether the server of a running attempt is silent, and in how many seconds its lease ends, if the message reports such a
/// wait. Only the number is taken from the server's text.
fn lease(news: &candor_client::Progress) -> Option<(bool, u32)> {
    let message = news.message.as_deref()?;
    let rest = |prefix: &str| message.strip_prefix(prefix)?.strip_suffix(" s")?.parse().ok();
    match rest(waiting::FOR_LEASE_OF_SILENT) {
        Some(seconds) => Some((true, seconds)),
        None => rest(waiting::FOR_RUNNING).map(|seconds| (false, seconds)),
    }
}

/// Returns `[####      ] 40%`, or how much is done if the total is unknown.
fn bar(done: f64, total: Option<f64>) -> String {
    let Some(total) = total.filter(|total| *total > 0.0 && done.is_finite()) else {
        // Shorten a number that is too long to read.
        let told = format!("… {done}");
        return if told.chars().count() > BAR { format!("… {done:.1e}") } else { told };
    };
    let part = (done / total).clamp(0.0, 1.0);
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // from 0 to BAR
    let full = (part * BAR as f64) as usize;
    format!("[{}{}] {:.0}%", "#".repeat(full), " ".repeat(BAR - full), part * 100.0)
}

#[cfg(test)]
mod tests {
    use super::bar;

    #[test]
    fn progress_bar_stays_within_its_frame() {
        assert_eq!(bar(1.0, Some(2.0)), "[##########          ] 50%");
        assert_eq!(bar(9.0, Some(2.0)), "[####################] 100%");
        assert_eq!(bar(-1.0, Some(2.0)), "[                    ] 0%");
        assert_eq!(bar(3.0, None), "… 3");
        assert_eq!(bar(f64::NAN, Some(1.0)), "… NaN");
        assert_eq!(bar(3.0, Some(0.0)), "… 3");
        assert_eq!(bar(1e300, None), "… 1.0e300");
    }
}
