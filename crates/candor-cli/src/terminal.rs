//! A person at a terminal, who sees what they are asked and answers it now.

use std::io::{self, IsTerminal as _, Write as _};
use std::time::Duration;
use std::{env, thread};

use tokio::sync::oneshot::{self, error::TryRecvError};

/// Whether escapes do nothing there but stand in the way.
pub(crate) fn is_dumb() -> bool {
    env::var_os("TERM").is_some_and(|term| term == "dumb")
}

/// How many letters stand in a line of a terminal, if it is one and says so.
#[cfg(unix)]
pub(crate) fn columns(of: impl std::os::fd::AsFd) -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(of).ok()?;
    Some(usize::from(size.ws_col)).filter(|columns| *columns > 0)
}

#[cfg(not(unix))]
pub(crate) fn columns<T>(_of: T) -> Option<usize> {
    None
}

/// Between a question that was taken away and the next: time enough to see that it is another one.
const SECOND_LOOK: Duration = Duration::from_secs(1);

/// Questions go to stderr, answers come from stdin; both must be terminals, or somebody would answer what they have not seen.
pub(crate) struct Terminal {
    /// A line that is waited for. It outlives a question that is no longer asked, because a read cannot be taken back.
    reading: Option<oneshot::Receiver<io::Result<String>>>,
}

impl Terminal {
    /// `None`: there is none.
    pub(crate) fn open() -> Option<Self> {
        (io::stdin().is_terminal() && io::stderr().is_terminal()).then_some(Self { reading: None })
    }

    /// A line, typed after the question was there. `None`: there is nobody any more. May be given up at any time.
    pub(crate) async fn ask(&mut self, question: &str) -> io::Result<Option<String>> {
        // The question before this one was taken away, perhaps under somebody's finger: their answer is not for this one.
        if self.reading.is_some() {
            tokio::time::sleep(SECOND_LOOK).await;
        }
        // Whatever was read for a question that is no longer asked is no answer to this one.
        if self
            .reading
            .as_mut()
            .is_some_and(|line| !matches!(line.try_recv(), Err(TryRecvError::Empty)))
        {
            self.reading = None;
        }
        forget_what_was_typed();
        eprint!("{question} ");
        io::stderr().flush()?;
        let read = self.reading.get_or_insert_with(|| {
            let (tell, told) = oneshot::channel();
            // Not a task of the runtime, which would wait for it at the end.
            thread::spawn(move || {
                let mut line = String::new();
                let _ = tell.send(io::stdin().read_line(&mut line).map(|_| line));
            });
            told
        });
        let line = read.await;
        self.reading = None;
        let line = line.unwrap_or_else(|_| Ok(String::new()))?;
        Ok(Some(line).filter(|line| !line.is_empty()))
    }

    /// Whether they say yes, and nothing less.
    pub(crate) async fn agrees(&mut self, question: &str) -> io::Result<bool> {
        let answer = self.ask(&format!("{question} [y/N]")).await?.unwrap_or_default();
        Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
    }
}

/// What was typed before a question was there is no answer to it.
#[cfg(unix)]
fn forget_what_was_typed() {
    let _ = rustix::termios::tcflush(io::stdin(), rustix::termios::QueueSelector::IFlush);
}

#[cfg(not(unix))]
fn forget_what_was_typed() {}
