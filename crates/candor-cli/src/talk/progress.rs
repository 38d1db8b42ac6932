//! How far a call has come: one line on a terminal, written over and over.

use std::convert::Infallible;
use std::io::{self, IsTerminal as _, Write as _};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use candor::desk::shown::cut;
use candor::protocol::names::waiting;

use crate::terminal;

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
}

impl Progress {
    pub(super) fn new(json: bool) -> Self {
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
        let line: String = line.chars().take(columns.saturating_sub(1)).collect();
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
        if let Some(operation) = awaited(news) {
            self.tell_of_wait(operation);
            self.say("waiting for the decision; Ctrl-C ends");
            return;
        }
        if let Some((silent, seconds)) = lease(news) {
            self.tell_of_lease(silent, seconds);
            self.say("waiting for the attempt that runs already; Ctrl-C ends");
            return;
        }
        let message = news.message.as_deref().map(|text| cut(text, LETTERS)).unwrap_or_default();
        self.say(&format!("{} {message}", bar(news.done, news.total)));
    }

    /// That the call waits for a person who is not asked here, and where they are. Also in a file: whoever reads along there wonders
    /// as much why nothing happens.
    fn tell_of_wait(&self, operation: &str) {
        let is_silent = (self.json && !self.shown) || self.paused.load(Ordering::Acquire) > 0;
        if is_silent || self.told_of_wait.swap(true, Ordering::AcqRel) {
            return;
        }
        self.clear();
        let _ = writeln!(
            io::stderr().lock(),
            "this call waits for a person's approval, who is not asked here (operation {operation})\n  \
             in the server's console, or: candor approvals approve {operation} (--ledger, if the server has one of its own)"
        );
    }

    /// Tells that another attempt of the call runs, and how long it may keep this one waiting. Each of the two sentences once.
    fn tell_of_lease(&self, silent: bool, seconds: u32) {
        let is_silent = (self.json && !self.shown) || self.paused.load(Ordering::Acquire) > 0;
        let sentence = 1 + usize::from(silent);
        if is_silent || self.told_of_lease.fetch_max(sentence, Ordering::AcqRel) >= sentence {
            return;
        }
        self.clear();
        let mut stderr = io::stderr().lock();
        let _ = match silent {
            true => writeln!(
                stderr,
                "The server that ran this call stopped responding. Waiting up to {seconds} s for its lease to end."
            ),
            false => writeln!(
                stderr,
                "This call is running already. Waiting for its result. If its server stopped, its lease ends within {seconds} s."
            ),
        };
    }

    /// Whether it was told that the call waits for a person.
    pub(super) fn told_of_wait(&self) -> bool {
        self.told_of_wait.load(Ordering::Acquire)
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
    pub(super) fn pause(&self) -> Paused<'_> {
        self.paused.fetch_add(1, Ordering::AcqRel);
        self.clear();
        Paused(self)
    }
}

pub(super) struct Paused<'a>(&'a Progress);

impl Drop for Paused<'_> {
    fn drop(&mut self) {
        self.0.paused.fetch_sub(1, Ordering::AcqRel);
    }
}

/// The operation that waits for a person, if the server says so. It is a stranger's word, so only what can be an id is one.
fn awaited(news: &candor_client::Progress) -> Option<&str> {
    let operation = news.message.as_deref()?.strip_prefix(waiting::FOR_APPROVAL)?;
    let is_id = (1..=64).contains(&operation.len())
        && operation.bytes().all(|letter| letter.is_ascii_hexdigit());
    is_id.then_some(operation)
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
