//! Output to stdout: for users or programs, until the reader closes it.

use std::env;
use std::io::{self, BufWriter, IsTerminal as _, Stdout, Write as _};

use candor::operator::OperatorError;
use candor::operator::shown::json_shown;
use candor_ledger::StoreError;
use serde_json::Value;

use crate::exit::Failure;
use crate::ledger::{Ledger, LedgerArgs};
use crate::operator;
use crate::terminal;
use crate::width::{columns, padded};

/// Why a command ends early.
pub(crate) enum CommandEnd {
    /// The reader has closed stdout, as `head` does. That is no error.
    NobodyReads,
    /// The ledger failed.
    Store(StoreError),
    /// Any other failure, in words.
    Told(Failure),
}

pub(crate) fn told(problem: impl std::fmt::Display) -> CommandEnd {
    Failure::failed(problem).into()
}

impl From<io::Error> for CommandEnd {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::NobodyReads,
            _ => told(error),
        }
    }
}

impl From<OperatorError> for CommandEnd {
    fn from(error: OperatorError) -> Self {
        match error {
            OperatorError::Store(error) => Self::Store(error),
            other => told(operator::sentence(&other)),
        }
    }
}

impl From<Failure> for CommandEnd {
    fn from(failure: Failure) -> Self {
        Self::Told(failure)
    }
}

impl From<StoreError> for CommandEnd {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

pub(crate) struct Out {
    stdout: BufWriter<Stdout>,
    /// True if programs read the output as JSON.
    pub(crate) json: bool,
    /// True if stdout is a terminal: a user reads it now, not a file later.
    pub(crate) terminal: bool,
    colour: bool,
    /// The flag that makes a suggested command use the same ledger ([`LedgerArgs::same`]).
    pub(crate) same: String,
}

impl Out {
    pub(crate) fn new(json: bool) -> Self {
        let set = |name: &str| env::var_os(name).is_some_and(|value| !value.is_empty());
        let terminal = io::stdout().is_terminal();
        let plain = set("NO_COLOR") || terminal::is_dumb();
        let stdout = BufWriter::new(io::stdout());
        Self { stdout, json, terminal, colour: terminal && !plain, same: String::new() }
    }

    /// Returns the output of a command that reads a ledger.
    pub(crate) fn of_ledger(read: &LedgerArgs) -> Self {
        Self { same: read.same(), ..Self::new(read.json) }
    }

    /// Writes a line that is already safe to show.
    pub(crate) fn line(&mut self, line: &str) -> io::Result<()> {
        writeln!(self.stdout, "{line}")
    }

    pub(crate) fn value(&mut self, value: &Value) -> io::Result<()> {
        self.line(&json_shown(&value.to_string()))
    }

    /// Marks a text that needs the user's attention.
    pub(crate) fn strong(&self, text: &str) -> String {
        if self.colour { format!("\x1b[1;31m{text}\x1b[0m") } else { text.to_owned() }
    }

    /// Returns the number of columns for a line: the terminal's, or a readable default.
    pub(crate) fn width(&self) -> usize {
        const USUAL: usize = 160;
        let columns = self.terminal.then(|| terminal::columns(io::stdout())).flatten();
        columns.map_or(USUAL, |columns| columns.max(60))
    }

    /// Writes bytes as they are.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stdout.write_all(bytes)
    }

    /// Writes rows of columns, each as wide as its widest cell. The flag marks a row that needs the user's attention.
    pub(crate) fn table<const N: usize>(
        &mut self,
        head: [&str; N],
        lines: &[(bool, [String; N])],
    ) -> io::Result<()> {
        let mut widths = head.map(str::len);
        for (_, line) in lines {
            for (width, cell) in widths.iter_mut().zip(line) {
                *width = (*width).max(columns(cell));
            }
        }
        let joined = |cells: [&str; N]| {
            let columns = cells.iter().zip(widths).enumerate();
            let cells = columns.map(|(at, (cell, width))| match at + 1 == N {
                // The last cell has no padding: one cell of megabytes would add as many spaces to every row.
                true => (*cell).to_owned(),
                false => padded(cell, width),
            });
            cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
        };
        self.line(&joined(head))?;
        for (marked, line) in lines {
            let line = joined(line.each_ref().map(String::as_str));
            let line = if *marked { self.strong(&line) } else { line };
            self.line(&line)?;
        }
        Ok(())
    }

    /// Returns how a command on this ledger ended.
    pub(crate) fn end(
        &mut self,
        done: Result<(), CommandEnd>,
        ledger: &Ledger,
    ) -> Result<(), Failure> {
        match done.and_then(|()| Ok(self.flush()?)) {
            Ok(()) | Err(CommandEnd::NobodyReads) => Ok(()),
            Err(CommandEnd::Store(error)) => Err(ledger.failed(&error)),
            Err(CommandEnd::Told(failure)) => Err(failure),
        }
    }

    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.stdout.flush()
    }
}
