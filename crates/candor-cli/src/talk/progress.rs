//! How far a call has come: one line on a terminal, written over and over.

use std::convert::Infallible;
use std::io::{self, IsTerminal as _, Write as _};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use candor::protocol::names::waiting;

use crate::terminal;
use crate::width::{cut, fitting};

/// As much of a message as fits beside the bar.
const LETTERS: usize = 40;

const BAR: usize = 20;

/// Silence that is longer makes people wonder.
const SILENCE: Duration = Duration::from_secs(2);

pub(super) struct Progress {
    /// Nobody looks at it in a file.
    shown: bool,
    /// A line cannot be taken away there.
    dumb: bool,
    /// Programs read stderr as JSON.
    json: bool,
    written: AtomicBool,
    /// Whether it was told that the call waits for a person: once is enough.
    told_of_wait: AtomicBool,
    /// How much was told of an attempt that runs already: nothing, that it runs, that its server is silent.
    told_of_lease: AtomicUsize,
    /// How many questions stand on the terminal: nothing is written over them.
    paused: AtomicUsize,
    /// How many of them ask whether the call may start: questions of ours, and the server's approval questions.
    confirmations: AtomicUsize,
    approvals: AtomicUsize,
    /// Whether the server is trusted, so that a command may name an operation of its.
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

    /// A line that is safe to show already, until it is taken away.
    pub(super) fn say(&self, line: &str) {
        if !self.shown || self.paused.load(Ordering::Acquire) > 0 {
            return;
        }
        let first = !self.written.swap(true, Ordering::AcqRel);
        let mut stderr = io::stderr().lock();
        if self.dumb {
            // Once is enough, where it stays.
            let _ = if first { writeln!(stderr, "{line}") } else { Ok(()) };
            return;
        }
        // Of a line that is longer only the end could be taken away.
        let columns = terminal::columns(&stderr).unwrap_or(usize::MAX);
        let line = fitting(line, columns.saturating_sub(1));
        let _ = write!(stderr, "\r\x1b[K{line}");
        let _ = stderr.flush();
    }

    /// Says this whenever nothing has stood there for a while: whoever looks knows that we wait, and for what.
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
            self.say("waiting for the decision; Ctrl-C ends");
            return;
        }
        if let Some((silent, seconds)) = lease(news).filter(|_| self.trusted) {
            self.tell_of_lease(silent, seconds);
            self.say("waiting for the attempt that runs already; Ctrl-C ends");
            return;
        }
        let message = news.message.as_deref().map(|text| cut(text, LETTERS)).unwrap_or_default();
        let bar = bar(news.done, news.total);
        // The bar marks what follows it as the server's words.
        self.say(&if message.is_empty() { bar } else { format!("{bar} | {message}") });
    }

    /// That the call waits for a person who is not asked here, and where they are. Also in a file: whoever reads along there wonders
    /// as much why nothing happens.
    fn tell_of_wait(&self, operation: &str) {
        if self.paused.load(Ordering::Acquire) > 0 || self.told_of_wait.swap(true, Ordering::AcqRel)
        {
            return;
        }
        // The command has no id: a server could name an operation that is not this call's.
        self.announce(
            "approval",
            &format!(
                "This call needs an operator's approval (operation {operation}).\n  \
                 Review it in the server's console, or with: candor approvals (--ledger, if the server has its own)"
            ),
        );
    }

    /// Tells that another attempt of the call runs, and how long it may keep this one waiting. Each of the two sentences once.
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

    /// Says once what a call waits for. A program that reads JSON gets it as JSON.
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

    /// Whether a trusted server said that the call waits for approval. Of another it is only a claim.
    pub(super) fn told_of_wait(&self) -> bool {
        self.trusted && self.told_of_wait.load(Ordering::Acquire)
    }

    /// Notes that we ask the user whether the call may be sent, until what is returned is dropped.
    pub(super) fn confirming(&self) -> CountGuard<'_> {
        CountGuard::one(&self.confirmations)
    }

    /// Notes that the server asks the user whether the call may start, until what is returned is dropped.
    pub(super) fn approving(&self) -> CountGuard<'_> {
        CountGuard::one(&self.approvals)
    }

    /// Whether a question is open without whose answer the call does not start. Of an untrusted server that is only a claim.
    pub(super) fn is_before_start(&self) -> bool {
        let open = |count: &AtomicUsize| count.load(Ordering::Acquire) > 0;
        open(&self.confirmations) || (self.trusted && open(&self.approvals))
    }

    /// Tells the user, unless programs read along.
    pub(super) fn note(&self, notes: &[String]) {
        if !self.json && !notes.is_empty() {
            self.clear();
            notes.iter().for_each(|note| eprintln!("{note}"));
        }
    }

    /// Takes the line away. Where that cannot be, the next one stands beneath it.
    pub(super) fn clear(&self) {
        if self.written.swap(false, Ordering::AcqRel) && !self.dumb {
            let mut stderr = io::stderr().lock();
            let _ = write!(stderr, "\r\x1b[K");
            let _ = stderr.flush();
        }
    }

    /// Writes nothing until what is returned is dropped.
    pub(super) fn pause(&self) -> CountGuard<'_> {
        let paused = CountGuard::one(&self.paused);
        self.clear();
        paused
    }
}

/// One more of something, while it is there.
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

/// Whether the server of a running attempt is silent, and in how many seconds its lease ends, if the server says that it waits for
/// that. Of its words only the number is used.
fn lease(news: &candor_client::Progress) -> Option<(bool, u32)> {
    let message = news.message.as_deref()?;
    let rest = |prefix: &str| message.strip_prefix(prefix)?.strip_suffix(" s")?.parse().ok();
    match rest(waiting::FOR_LEASE_OF_SILENT) {
        Some(seconds) => Some((true, seconds)),
        None => rest(waiting::FOR_RUNNING).map(|seconds| (false, seconds)),
    }
}

/// `[####      ] 40%`, or how much is done if nobody knows of how much.
fn bar(done: f64, total: Option<f64>) -> String {
    let Some(total) = total.filter(|total| *total > 0.0 && done.is_finite()) else {
        // A number that nobody would read is not worth a line.
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
    fn the_bar_is_never_longer_than_its_frame() {
        assert_eq!(bar(1.0, Some(2.0)), "[##########          ] 50%");
        assert_eq!(bar(9.0, Some(2.0)), "[####################] 100%");
        assert_eq!(bar(-1.0, Some(2.0)), "[                    ] 0%");
        assert_eq!(bar(3.0, None), "… 3");
        assert_eq!(bar(f64::NAN, Some(1.0)), "… NaN");
        assert_eq!(bar(3.0, Some(0.0)), "… 3");
        assert_eq!(bar(1e300, None), "… 1.0e300");
    }
}
