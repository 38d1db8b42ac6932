//! A person at a terminal, who sees what they are asked and answers it now.

use std::io::{self, IsTerminal as _, Write as _};
#[cfg(unix)]
use std::sync::{Mutex, PoisonError};
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

    /// Asks for a line that is not shown while it is typed. The echo is back when this returns or is given up.
    pub(crate) async fn ask_hidden(&mut self, question: &str) -> io::Result<Option<String>> {
        let hidden = EchoGuard::hide();
        let line = self.ask(question).await;
        drop(hidden);
        // The line break was not shown, either.
        eprintln!();
        line
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

    /// Returns true for `y`, `yes` or `approve`; false for `n`, `no`, `deny`, an empty line or the end of input. Anything else
    /// asks again.
    pub(crate) async fn agrees(&mut self, question: &str) -> io::Result<bool> {
        Ok(matches!(self.decide(question).await?, Word::Yes | Word::Approve))
    }

    /// Returns which word it is, for a question that may be about a denial. An empty line and the end of input are a no.
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

/// What an answer to "may it run?" means, if it is one.
pub(crate) fn read_approval(answer: &str) -> Option<bool> {
    Word::read(answer).map(|word| matches!(word, Word::Yes | Word::Approve))
}

/// Keeps the terminal from showing what is typed.
struct EchoGuard;

/// The terminal as it was before it stopped showing what is typed. The code that ends the process restores it.
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

/// Lets the terminal show again what is typed, if it was kept from it.
pub(crate) fn show_typing() {
    #[cfg(unix)]
    if let Some(before) = BEFORE.lock().unwrap_or_else(PoisonError::into_inner).take() {
        let now = rustix::termios::OptionalActions::Now;
        let _ = rustix::termios::tcsetattr(io::stdin(), now, &before);
    }
}

/// What was typed before a question was there is no answer to it.
#[cfg(unix)]
fn forget_what_was_typed() {
    let _ = rustix::termios::tcflush(io::stdin(), rustix::termios::QueueSelector::IFlush);
}

#[cfg(not(unix))]
fn forget_what_was_typed() {}
