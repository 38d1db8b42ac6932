//! How the program ends: an exit code for the process that started it, and a line on stderr for the user.
//!
//! The numbers are part of the interface: by them, scripts and agents decide whether to correct, to retry, or to ask a user.

use std::fmt::{self, Write as _};
use std::process::ExitCode;

/// The exit code that shells report for an interrupted process.
pub(crate) const INTERRUPTED: u8 = 130;

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Exit {
    Done = 0,
    Failed = 1,
    Usage = 2,
    Refused = 3,
    Unreachable = 4,
    ToolError = 5,
    Invalid = 6,
    Unknown = 7,
}

impl Exit {
    const ALL: [(Self, &str); 8] = [
        (Self::Done, "done"),
        (Self::Failed, "failed for another reason"),
        (Self::Usage, "the command line is invalid"),
        (Self::Refused, "refused, or not approved"),
        (Self::Unreachable, "the server cannot be reached"),
        (Self::ToolError, "the tool ran and reported a failure"),
        (Self::Invalid, "the arguments are invalid; nothing was run"),
        (Self::Unknown, "the outcome is unknown: the call may have run"),
    ];

    /// Returns all exit codes, for `--help`.
    pub(crate) fn help() -> String {
        let mut help = "Exit codes:".to_owned();
        let all = Self::ALL.map(|(exit, meaning)| (exit as u8, meaning));
        for (number, meaning) in all
            .into_iter()
            .chain([(INTERRUPTED, "stopped by Ctrl-C; 143 by SIGTERM, 129 if the terminal closes")])
        {
            let _ = write!(help, "\n  {number:<3}  {meaning}");
        }
        help
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// Why a command failed, with its exit code.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) exit: Exit,
    message: String,
}

impl Failure {
    /// Returns a failure. The message must already be safe to show.
    pub(crate) fn new(exit: Exit, message: impl fmt::Display) -> Self {
        Self { exit, message: message.to_string() }
    }

    /// Returns a failure for an invalid command line.
    pub(crate) fn usage(message: impl fmt::Display) -> Self {
        Self::new(Exit::Usage, message)
    }

    /// Returns a failure for a call or decision that the user declined, or that no user was available to confirm.
    pub(crate) fn refused(message: impl fmt::Display) -> Self {
        Self::new(Exit::Refused, message)
    }

    /// Returns a failure without an exit code of its own.
    pub(crate) fn failed(message: impl fmt::Display) -> Self {
        Self::new(Exit::Failed, message)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl From<candor::Error> for Failure {
    fn from(error: candor::Error) -> Self {
        if error.is_usage() { Self::usage(error) } else { Self::failed(error) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn help_lists_every_exit_code_in_order() {
        for (at, (exit, _)) in Exit::ALL.into_iter().enumerate() {
            assert_eq!(exit as usize, at);
        }
        assert_eq!(Exit::help().lines().count(), 10);
        assert!(Exit::help().contains("\n  7    the outcome is unknown"));
    }
}
