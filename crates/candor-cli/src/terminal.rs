//! A user at a terminal, who sees each question and answers it at once.

use std::io::{self, IsTerminal as _, Write as _};
#[cfg(unix)]
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use std::{env, thread};

use tokio::sync::oneshot::{self, error::TryRecvError};

/// Returns true if the terminal does not understand escape sequences.
pub(crate) fn is_dumb() -> bool {
    env::var_os("TERM").is_some_and(|term| term == "dumb")
}

/// Returns the number of columns of a terminal, if it is one and reports its size.
#[cfg(unix)]
pub(crate) fn columns(of: impl std::os::fd::AsFd) -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(of).ok()?;
    Some(usize::from(size.ws_col)).filter(|columns| *columns > 0)
}

#[cfg(not(unix))]
pub(crate) fn columns<T>(_of: T) -> Option<usize> {
    None
}

/// The pause between a withdrawn question and the next one, so that the user sees the difference.
const SECOND_LOOK: Duration = Duration::from_secs(1);

/// Questions go to stderr, and answers come from stdin. Both must be terminals, or a user could answer a question that they have
/// not seen.
pub(crate) struct Terminal {
    /// A read that waits for a line. It outlives a withdrawn question, because a read cannot be cancelled.
    reading: Option<oneshot::Receiver<io::Result<String>>>,
}

impl Terminal {
    /// Returns the terminal; `None` if stdin or stderr is not one.
    pub(crate) fn open() -> Option<Self> {
        (io::stdin().is_terminal() && io::stderr().is_terminal()).then_some(Self { reading: None })
    }

    /// Asks for a line that is not shown while the user types. The echo returns when this future completes or is dropped.
    pub(crate) async fn ask_hidden(&mut self, question: &str) -> io::Result<Option<String>> {
        let hidden = EchoGuard::hide();
        let line = self.ask(question).await;
        drop(hidden);
        // The line break was not shown, either.
        eprintln!();
        line
    }

    /// Returns a line that was typed after the question appeared; `None` at the end of input. The future may be dropped at any
    /// time.
    pub(crate) async fn ask(&mut self, question: &str) -> io::Result<Option<String>> {
        // The previous question was withdrawn, perhaps while the user was typing: that answer is not for this question.
        if self.reading.is_some() {
            tokio::time::sleep(SECOND_LOOK).await;
        }
        // A line that was read for a withdrawn question is no answer to this one.
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
            // Not a runtime task: the runtime would wait for it on shutdown.
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

    /// Returns true for `y`, `yes` or `approve`; false for `n`, `no`, `deny`, an empty line or the end of input. Anything else
    /// asks again.
    pub(crate) async fn agrees(&mut self, question: &str) -> io::Result<bool> {
        Ok(matches!(self.decide(question).await?, Word::Yes | Word::Approve))
    }

    /// Asks until the answer is one of the words, for a question that may be about a denial. An empty line and the end of input
    /// mean no.
    pub(crate) async fn decide(&mut self, question: &str) -> io::Result<Word> {
        loop {
            let Some(answer) = self.ask(&format!("{question} [y/N]")).await? else {
                return Ok(Word::No);
            };
            if answer.trim().is_empty() {
                return Ok(Word::No);
            }
            if let Some(word) = Word::read(&answer) {
                return Ok(word);
            }
            eprintln!("Answer y or n.");
        }
    }
}

/// An answer to a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Word {
    Yes,
    No,
    Approve,
    Deny,
}

impl Word {
    fn read(answer: &str) -> Option<Self> {
        match answer.trim().to_lowercase().as_str() {
            "y" | "yes" => Some(Self::Yes),
            "n" | "no" => Some(Self::No),
            "approve" => Some(Self::Approve),
            "deny" => Some(Self::Deny),
            _ => None,
        }
    }
}

/// Parses an answer to "may it run?"; `None` for anything else.
pub(crate) fn read_approval(answer: &str) -> Option<bool> {
    Word::read(answer).map(|word| matches!(word, Word::Yes | Word::Approve))
}

/// Turns off the terminal's echo until it is dropped.
struct EchoGuard;

/// The terminal's mode before the echo was turned off. The code that ends the process restores it.
#[cfg(unix)]
static BEFORE: Mutex<Option<rustix::termios::Termios>> = Mutex::new(None);

impl EchoGuard {
    #[cfg(unix)]
    fn hide() -> Self {
        use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};
        if let Ok(before) = tcgetattr(io::stdin()) {
            let mut silent = before.clone();
            silent.local_modes.remove(LocalModes::ECHO);
            if tcsetattr(io::stdin(), OptionalActions::Now, &silent).is_ok() {
                *BEFORE.lock().unwrap_or_else(PoisonError::into_inner) = Some(before);
            }
        }
        Self
    }

    #[cfg(not(unix))]
    fn hide() -> Self {
        eprintln!("This terminal shows what you type.");
        Self
    }
}

impl Drop for EchoGuard {
    fn drop(&mut self) {
        show_typing();
    }
}

/// Turns the terminal's echo on again, if it was turned off.
pub(crate) fn show_typing() {
    #[cfg(unix)]
    if let Some(before) = BEFORE.lock().unwrap_or_else(PoisonError::into_inner).take() {
        let now = rustix::termios::OptionalActions::Now;
        let _ = rustix::termios::tcsetattr(io::stdin(), now, &before);
    }
}

/// Discards what was typed before the question appeared: it is no answer to it.
#[cfg(unix)]
fn forget_what_was_typed() {
    let _ = rustix::termios::tcflush(io::stdin(), rustix::termios::QueueSelector::IFlush);
}

#[cfg(not(unix))]
fn forget_what_was_typed() {}
