//! How a failed command ends: an exit code for programs, a stable word for those that read JSON, and a sentence with the next step
//! for users.

use std::io;
use std::process::ExitCode;

use candor::operator::json;
use candor::operator::shown::shown;
use candor::protocol::names::failure;
use candor::protocol::rpc::code;
use candor_client::{CallResult, Error, RefusalSource};
use serde_json::{Map, Value};

use super::safe;
use crate::arguments::Invalid;
use crate::exit::{Exit, Failure};
use crate::signature::named;
use crate::stop;
use candor_client::config::redact::Redactor;

/// Why a command failed.
#[derive(Debug)]
pub(super) struct CliError(Box<ErrorReport>);

#[derive(Debug)]
struct ErrorReport {
    exit: u8,
    /// A stable word.
    code: String,
    /// Safe to show.
    message: String,
    /// The server's own words, which are never shown as if they were ours.
    said: Option<String>,
    /// The check whose report on stdout already shows all of it.
    reported: Option<&'static str>,
    /// Further members for programs.
    details: Map<String, Value>,
    /// What to do now, each a line that is safe to show.
    next: Vec<String>,
}

impl CliError {
    /// Returns an error. The message must already be safe to show.
    pub(super) fn new(exit: Exit, code: &str, message: impl Into<String>) -> Self {
        Self(Box::new(ErrorReport {
            exit: exit as u8,
            code: code.to_owned(),
            message: message.into(),
            said: None,
            reported: None,
            details: Map::new(),
            next: Vec::new(),
        }))
    }

    /// Returns an error for an invalid command line.
    pub(super) fn usage(message: impl Into<String>) -> Self {
        Self::new(Exit::Usage, "usage", message)
    }

    /// Returns an error for a command that a signal stopped.
    pub(super) fn interrupted() -> Self {
        let mut trouble = Self::new(Exit::Failed, "interrupted", "interrupted");
        trouble.0.exit = stop::code();
        trouble
    }

    pub(super) fn is_interrupted(&self) -> bool {
        self.0.code == "interrupted"
    }

    /// Adds the server's own words.
    pub(super) fn saying(mut self, words: impl Into<String>) -> Self {
        self.0.said = Some(words.into()).filter(|words| !words.trim().is_empty());
        self
    }

    /// Replaces the exit code for a call that did not run, if only an untrusted server says that it did not.
    pub(super) fn unproven(mut self, instead: Exit) -> Self {
        if self.0.exit == Exit::Invalid as u8 {
            self.0.exit = instead as u8;
        }
        self
    }

    /// Records that a report on stdout shows the error: users need not read it twice.
    pub(super) fn reported(mut self, check: &'static str) -> Self {
        self.0.reported = Some(check);
        self
    }

    /// Adds a line about what to do now.
    pub(super) fn next(mut self, line: impl Into<String>) -> Self {
        self.0.next.push(line.into());
        self
    }

    pub(super) fn detail(mut self, name: &str, value: Value) -> Self {
        self.0.details.insert(name.to_owned(), value);
        self
    }

    /// Redacts the secrets of the server that the error is about. What the server itself sent stays as it is.
    pub(super) fn under(mut self, redactor: &Redactor) -> Self {
        self.0.message = redactor.redact(&self.0.message);
        self.0.said = self.0.said.map(|said| redactor.redact(&said));
        self.0.next.iter_mut().for_each(|line| *line = redactor.redact(line));
        self
    }

    /// Returns the message and the server's words on one line.
    pub(super) fn in_one_line(&self) -> String {
        match &self.0.said {
            Some(said) => format!("{}: {}", self.0.message, safe::quote(said)),
            None => self.0.message.clone(),
        }
    }

    /// Returns the error of a failed call, which the tool or the server reports.
    pub(super) fn of_result(result: &CallResult) -> Self {
        let told = result.failure();
        let word = told.as_ref().map_or("tool_error", |told| told.code.as_str());
        let exit = match word {
            failure::APPROVAL_REQUIRED | failure::APPROVAL_UNAVAILABLE | failure::DENIED => {
                Exit::Refused
            }
            failure::INVALID_ARGUMENTS => Exit::Invalid,
            failure::OUTCOME_UNKNOWN => Exit::Unknown,
            _ => Exit::ToolError,
        };
        let who = match told.as_ref().is_some_and(|told| told.by_server) {
            true => "the server",
            false => "the tool",
        };
        let text = result.text();
        let message = match text.trim().is_empty() {
            true => format!("{who} reports a failure without a reason"),
            false => format!("{who} reports a failure"),
        };
        let raw = serde_json::to_value(result.raw()).unwrap_or_default();
        Self::new(exit, word, message).saying(text).detail("result", raw)
    }

    /// Prints the error and returns its exit code.
    pub(super) fn end(self, as_json: bool) -> ExitCode {
        let line = self.in_one_line();
        let ErrorReport { exit, code, message, said, reported, details, next } = *self.0;
        if exit == 0 {
            return ExitCode::SUCCESS;
        }
        if as_json {
            let mut error = Map::new();
            error.insert("code".to_owned(), code.into());
            error.insert("message".to_owned(), line.into());
            if !next.is_empty() {
                error.insert("next".to_owned(), next.into());
            }
            error.extend(details);
            let line = serde_json::json!({"error": error}).to_string();
            eprintln!("{}", json::compact(&line));
        } else {
            match (reported, said) {
                (Some(check), _) => eprintln!("error: the check {check:?} fails"),
                (None, None) => eprintln!("error: {message}"),
                (None, Some(said)) => {
                    eprintln!("error: {message}:\n{}", safe::excerpt(&said, safe::WHOLE));
                }
            }
            for line in &next {
                eprintln!("  {line}");
            }
        }
        exit.into()
    }
}

impl From<Failure> for CliError {
    fn from(failure: Failure) -> Self {
        let word = match failure.exit {
            Exit::Usage => "usage",
            Exit::Invalid => failure::INVALID_ARGUMENTS,
            Exit::Refused => "refused",
            _ => failure::FAILED,
        };
        Self::new(failure.exit, word, failure.to_string())
    }
}

impl From<Invalid> for CliError {
    fn from(invalid: Invalid) -> Self {
        let violations = invalid.problems.iter().map(|problem| {
            let instead = Some(&problem.right).filter(|right| !right.is_empty());
            serde_json::json!({"parameter": problem.place, "problem": problem.what, "instead": instead})
        });
        let violations: Value = violations.collect();
        Self::from(Failure::from(invalid)).detail("violations", violations)
    }
}

impl From<io::Error> for CliError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            // The reader has closed stdout, as `head` does.
            io::ErrorKind::BrokenPipe => Self::new(Exit::Done, "", ""),
            _ => Self::new(Exit::Failed, failure::FAILED, shown(&error.to_string()).to_string()),
        }
    }
}

/// Maps every error of the client to an exit code and a word.
impl From<Error> for CliError {
    fn from(error: Error) -> Self {
        // The command itself reports whether the call may have run.
        let error = match error {
            Error::MayHaveRun { why } => return Self::from(*why),
            error => error,
        };
        let (exit, word) = match &error {
            Error::Unreachable { .. } => (Exit::Unreachable, "unreachable"),
            Error::Unauthorized { .. } | Error::NoToken { .. } => {
                (Exit::Unreachable, "unauthorized")
            }
            Error::Http { .. } => (Exit::Unreachable, "http_error"),
            Error::Lost { .. } | Error::SessionExpired => (Exit::Unreachable, "lost"),
            Error::TimedOut { .. } => (Exit::Unreachable, "timed_out"),
            Error::Resting { .. } => (Exit::Unreachable, "resting"),
            Error::Server(told) => match told.code() {
                code::INVALID_PARAMS => (Exit::Invalid, failure::INVALID_ARGUMENTS),
                code::RESOURCE_NOT_FOUND => (Exit::Invalid, "not_found"),
                code::BUSY => (Exit::Failed, failure::BUSY),
                _ => (Exit::Failed, "server_error"),
            },
            Error::UnknownTool { .. } => (Exit::Usage, "unknown_tool"),
            Error::KeysUnsupported => (Exit::Refused, "keys_unsupported"),
            Error::TwoKeys => (Exit::Usage, "idempotency_key_invalid"),
            Error::InvalidArguments(_) => (Exit::Invalid, failure::INVALID_ARGUMENTS),
            Error::InvalidAnswer(_) => (Exit::Failed, "invalid_answer"),
            // Nothing was run, because the effect is unknown.
            Error::EffectUnknown { .. } => (Exit::Refused, "unforeseeable"),
            Error::Refused(_) => (Exit::Refused, "refused"),
            Error::PreviewFailed(_) => (Exit::ToolError, "preview_failed"),
            Error::ResultInvalid { .. } => (Exit::ToolError, failure::RESULT_INVALID),
            Error::Unsupported(_) => (Exit::Failed, "unsupported"),
            Error::Protocol(_) => (Exit::Failed, "protocol"),
            Error::Endless { .. } => (Exit::Failed, "endless"),
            Error::TooLarge { .. } => (Exit::Failed, "too_large"),
            Error::TooManyRounds(_) => (Exit::Failed, "too_many_rounds"),
            _ => (Exit::Failed, failure::FAILED),
        };
        let (message, said) = words_of(&error);
        let trouble = Self::new(exit, word, shown(&message).to_string());
        let trouble = match said {
            Some(said) => trouble.saying(said),
            None => trouble,
        };
        match error {
            Error::Unauthorized { challenge, .. } => {
                let trouble = trouble.next(
                    "put the token into a file and name it: --bearer-file FILE; or set CANDOR_BEARER",
                );
                match challenge {
                    Some(said) => trouble.detail("challenge", said.into()),
                    None => trouble,
                }
            }
            Error::InvalidArguments(invalid) => {
                let violations = invalid.violations.iter().map(|violation| {
                    serde_json::json!({"parameter": violation.pointer, "problem": violation.problem})
                });
                trouble.detail("violations", violations.collect())
            }
            Error::PreviewFailed(result) | Error::ResultInvalid { result, .. } => {
                let raw = serde_json::to_value(result.raw()).unwrap_or_default();
                trouble.detail("result", raw)
            }
            Error::UnknownTool { like, .. } if !like.is_empty() => {
                trouble.detail("like", like.into())
            }
            Error::UnknownTool { .. } => {
                trouble.next("list its tools with `candor tools` and the same server")
            }
            Error::Server(told) => trouble.detail("rpcCode", told.code().into()),
            Error::KeysUnsupported => trouble
                .next("leave out --key, or send it anyway with --unsafe-key and do not rely on it"),
            _ => trouble,
        }
    }
}

/// Returns what happened in our words, and the server's own text.
fn words_of(error: &Error) -> (String, Option<String>) {
    match error {
        Error::InvalidArguments(invalid) => {
            let message = "Nothing was run. The arguments are invalid".to_owned();
            (message, Some(invalid.to_string()))
        }
        Error::Refused(RefusalSource::Person) => {
            ("You declined the call. Nothing was run.".to_owned(), None)
        }
        Error::Server(told) => {
            (format!("the server reports error {}", told.code()), Some(told.message.clone()))
        }
        Error::Http { status, body, .. } => {
            (format!("the server answered with HTTP status {status}"), Some(body.clone()))
        }
        // Names and patterns in it are the server's.
        Error::ResultInvalid { invalid, .. } => {
            let message = "The call ran. Its result does not match the tool's output schema";
            (message.to_owned(), Some(invalid.to_string()))
        }
        Error::UnknownTool { name, like } if !like.is_empty() => {
            let like: Vec<_> = like.iter().map(|name| named(name)).collect();
            (format!("Unknown tool: {name}. Did you mean {}?", like.join(" or ")), None)
        }
        Error::PreviewFailed(result) => ("the preview failed".to_owned(), Some(result.text())),
        Error::EffectUnknown { why, .. } => {
            let (reason, said) = words_of(why);
            let message = "the tool declares no effect, and the server could not be asked for it";
            (format!("{message}: {reason}"), said)
        }
        Error::Lost { .. } => {
            let whole = error.to_string();
            match whole.split_once(SAID) {
                Some((end, said)) => (end.to_owned(), Some(said.to_owned())),
                None => (whole, None),
            }
        }
        other => (other.to_string(), None),
    }
}

/// The separator between the end of a program and the program's own words, in the client's errors.
const SAID: &str = "; it said: ";

/// Returns a note that the server refused to describe a resource, and where the shown metadata comes from.
pub(super) fn refused_metadata(uri: &str, refused: Error) -> String {
    let (uri, reason) = (safe::quote(uri), CliError::from(refused).in_one_line());
    format!(
        "resources/metadata of {uri} failed: {reason}. What is shown comes from the server's list or from a read"
    )
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use candor::protocol::rpc::ErrorObject;
    use candor_schema::Violation;

    use super::*;

    #[test]
    fn every_client_error_has_an_exit_code() {
        let lost = |sent| Error::Lost { why: String::new(), sent };
        for (error, exit, word) in [
            (
                Error::Unauthorized { status: 401, challenge: None },
                Exit::Unreachable,
                "unauthorized",
            ),
            (lost(true), Exit::Unreachable, "lost"),
            (lost(false), Exit::Unreachable, "lost"),
            (Error::TimedOut { after: Duration::ZERO }, Exit::Unreachable, "timed_out"),
            (Error::Refused(RefusalSource::Person), Exit::Refused, "refused"),
            (Error::Refused(RefusalSource::Policy), Exit::Refused, "refused"),
            (Error::Refused(RefusalSource::NoPrompt), Exit::Refused, "refused"),
            (
                Error::InvalidArguments(Violation::new("/a", "is wrong").into()),
                Exit::Invalid,
                "invalid_arguments",
            ),
            (Error::Server(ErrorObject::invalid_params("no")), Exit::Invalid, "invalid_arguments"),
            (Error::Server(ErrorObject::internal("no")), Exit::Failed, "server_error"),
            (Error::Server(ErrorObject::busy()), Exit::Failed, "busy"),
            (Error::Unsupported("prompts".to_owned()), Exit::Failed, "unsupported"),
        ] {
            let said = error.to_string();
            let CliError(told) = error.into();
            assert_eq!((told.exit, told.code.as_str()), (exit as u8, word), "{said}");
        }
    }

    #[test]
    fn broken_pipe_exits_with_code_0() {
        let gone = CliError::from(io::Error::from(io::ErrorKind::BrokenPipe));
        assert_eq!(gone.0.exit, 0);
        assert_eq!(CliError::from(io::Error::other("full\u{1b}")).0.message, "full\\u{1b}");
    }
}
