//! What can go wrong, told so that the caller knows what to do: and above all, whether anything was done.

use std::fmt;
use std::time::Duration;

use candor_protocol::rpc::{ErrorObject, code};
use candor_schema::Invalid;

use crate::result::CallResult;

/// Why there is no answer.
///
/// What matters most to a caller is whether anything may have been done, [`may_have_run`](Self::may_have_run), and whether it is
/// worth while to try again, [`is_passing`](Self::is_passing):
///
/// ```no_run
/// use candor_client::{Client, Error};
/// use serde_json::json;
///
/// # async fn example(client: &Client) {
/// match client.call("charge", json!({"cents": 4999})).await {
///     Ok(result) => println!("{}", result.text()),
///     Err(Error::UnknownTool { like, .. }) => println!("no such tool; there are {like:?}"),
///     Err(error) if error.may_have_run() => println!("find out before you try again: {error}"),
///     Err(error) => println!("nothing was done: {error}"),
/// }
/// # }
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Error {
    /// There is nobody there, or nobody who speaks the protocol. Nothing was done.
    Unreachable {
        /// Whom we wanted to reach.
        target: String,
        /// What came of it.
        why: String,
    },
    /// The server wants to know who asks, or does not let them in. Nothing was done.
    Unauthorized {
        /// 401 or 403.
        status: u16,
        /// What the server says in `WWW-Authenticate`.
        challenge: Option<String>,
    },
    /// The host has no bearer token: its function for [`Connect::bearer_from`](crate::Connect::bearer_from) failed. Nothing was done.
    NoToken {
        /// What the function says.
        why: String,
    },
    /// An answer over HTTP that is none of the protocol.
    Http {
        /// Its status.
        status: u16,
        /// The beginning of its body.
        body: String,
        /// When to try again, if the server says so.
        retry_after: Option<Duration>,
    },
    /// The connection ended before the answer came.
    Lost {
        /// What was seen of it.
        why: String,
        /// Whether the server may have got the request.
        sent: bool,
    },
    /// The server does not know the session that it issued itself. It claims that it did not process the request; nothing proves it.
    SessionExpired,
    /// No answer came in time. The server may still be at it.
    TimedOut {
        /// The time that it was given.
        after: Duration,
    },
    /// The server does not keep to the protocol.
    Protocol(String),
    /// The server's own error.
    Server(ErrorObject),
    /// The server does not offer this.
    Unsupported(String),
    /// The server has no tool of this name. Nothing was sent.
    UnknownTool {
        /// The name.
        name: String,
        /// Names that are like it.
        like: Vec<String>,
    },
    /// The call has an idempotency key, and the server has no idempotency keys: a repeat would run it again. Nothing was sent.
    /// [`Call::unsafe_key`](crate::Call::unsafe_key) sends it all the same.
    KeysUnsupported,
    /// The call has one idempotency key, and another one among its arguments. Nothing was sent.
    TwoKeys,
    /// The arguments do not fit the tool's schema. Nothing was sent.
    InvalidArguments(Invalid),
    /// The host's answer to a question of the server does not fit the server's form. The client did not send the answer, and the call
    /// did not succeed without it. The call may have run: the server asked in the middle of it.
    ///
    /// It always comes as this error, never as the cause of another. A legacy server over a pipe does not say which call its question
    /// is about: if several calls run, each that fails after the question comes as this error, unless one of them repeats what the
    /// client sent instead of the answer.
    InvalidAnswer(Invalid),
    /// The server could not say what the call would do, and the tool declares nothing. Nothing was called.
    Unforeseeable {
        /// The tool.
        tool: String,
        /// Why it could not be said.
        why: Box<Error>,
    },
    /// A person or the host's policy said no, or there was nobody to ask. Nothing was called.
    Refused(RefusalSource),
    /// The tool's own preview of the call failed, and says why. The call itself was not made.
    PreviewFailed(Box<CallResult>),
    /// The call was made, and what came back is not what the tool's schema promises.
    ResultInvalid {
        /// What came back.
        result: Box<CallResult>,
        /// What is wrong with it.
        invalid: Invalid,
    },
    /// The server kept asking. What it did between its questions is unknown.
    TooManyRounds(u32),
    /// A call that does more than read was sent, and may have run, although this error by itself does not say so: only an untrusted
    /// server claims that it did nothing, it asked what this client cannot answer, or an earlier attempt may have run.
    MayHaveRun {
        /// What ended the call.
        why: Box<Error>,
    },
    /// A list without end: the server sent more pages or entries than are read.
    Endless {
        /// Of what.
        list: &'static str,
        /// How much was read.
        read: usize,
    },
    /// What the server sent takes more memory than [`ClientLimits::max_list`](crate::ClientLimits::max_list) or
    /// [`ClientLimits::max_message`](crate::ClientLimits::max_message) allows.
    TooLarge {
        /// What it is.
        what: String,
        /// The limit, in bytes.
        limit: usize,
    },
    /// The server has failed so often that it is left alone for a while. Nothing was sent.
    Resting {
        /// How long still.
        rest: Duration,
    },
}

/// Who said no.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum RefusalSource {
    /// The person who was asked.
    Person,
    /// The host's policy.
    Policy,
    /// A person would have to be asked, and there is no way to.
    NobodyToAsk,
}

impl Error {
    pub(crate) fn protocol(problem: impl fmt::Display) -> Self {
        Self::Protocol(problem.to_string())
    }

    pub(crate) fn list_too_large(list: &str, limit: usize) -> Self {
        Self::TooLarge { what: format!("the list of {list}"), limit }
    }

    pub(crate) fn message_too_large(limit: usize) -> Self {
        Self::TooLarge { what: "a message of the server".to_owned(), limit }
    }

    /// The same error of a call that may have run.
    pub(crate) fn of_sent_call(self) -> Self {
        match self.may_have_run() {
            true => self,
            false => Self::MayHaveRun { why: Box::new(self) },
        }
    }

    /// Returns what ended the call: the error itself, without the note that the call may have run.
    #[must_use]
    pub fn cause(&self) -> &Self {
        match self {
            Self::MayHaveRun { why } => why.cause(),
            error => error,
        }
    }

    /// Returns true if nothing but the server's word says that the request was not processed.
    pub(crate) fn is_claim(&self) -> bool {
        matches!(self, Self::Server(_) | Self::Unauthorized { .. })
    }

    /// Whether the server may have got the request, and may have done what it says.
    #[must_use]
    pub fn may_have_run(&self) -> bool {
        match self {
            Self::Lost { sent, .. } => *sent,
            Self::TimedOut { .. }
            | Self::SessionExpired
            | Self::Http { .. }
            | Self::Protocol(_)
            | Self::TooManyRounds(_)
            | Self::TooLarge { .. }
            | Self::InvalidAnswer(_)
            | Self::MayHaveRun { .. }
            | Self::ResultInvalid { .. } => true,
            Self::Server(error) => !matches!(
                error.code(),
                code::INVALID_PARAMS
                    | code::METHOD_NOT_FOUND
                    | code::INVALID_REQUEST
                    | code::PARSE_ERROR
                    | code::HEADER_MISMATCH
                    | code::MISSING_CLIENT_CAPABILITY
                    | code::UNSUPPORTED_VERSION
                    | code::BUSY
            ),
            _ => false,
        }
    }

    /// Returns true if this client knows by itself that the request never left it. Other errors only repeat what the server claims.
    pub(crate) fn is_unsent(&self) -> bool {
        matches!(self, Self::Unreachable { .. } | Self::Lost { sent: false, .. })
    }

    /// Whether the same may go well another time.
    #[must_use]
    pub fn is_passing(&self) -> bool {
        match self {
            Self::Unreachable { .. }
            | Self::Lost { .. }
            | Self::SessionExpired
            | Self::TimedOut { .. } => true,
            Self::Http { status, .. } => matches!(status, 408 | 429 | 500 | 502 | 503 | 504),
            Self::Server(error) => matches!(error.code(), code::BUSY | code::INTERNAL_ERROR),
            Self::MayHaveRun { why } => why.is_passing(),
            _ => false,
        }
    }

    /// When the server says that it may be tried again.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Http { retry_after, .. } => *retry_after,
            Self::Resting { rest } => Some(*rest),
            Self::MayHaveRun { why } => why.retry_after(),
            Self::Server(error) => {
                let data = error.data.as_ref()?;
                let data: serde_json::Value = serde_json::from_str(data.get()).ok()?;
                data.get("retryAfterMs")?.as_u64().map(Duration::from_millis)
            }
            _ => None,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreachable { target, why } => write!(f, "cannot reach {target}: {why}"),
            Self::Unauthorized { status: 401, .. } => {
                f.write_str("the server requires a bearer token (401)")
            }
            Self::Unauthorized { status, .. } => {
                write!(f, "the server does not accept this caller ({status})")
            }
            Self::NoToken { why } => write!(f, "no bearer token is available: {why}"),
            Self::Http { status, body, .. } if body.is_empty() => {
                write!(f, "the server answered with HTTP status {status}")
            }
            Self::Http { status, body, .. } => {
                write!(f, "the server answered with HTTP status {status}: {body}")
            }
            Self::Lost { why, sent: true } => {
                write!(f, "the connection was lost before the answer arrived: {why}")
            }
            Self::Lost { why, sent: false } => write!(f, "the request was not sent: {why}"),
            Self::SessionExpired => {
                f.write_str("the server refused the session that it opened")
            }
            Self::TimedOut { after } => {
                write!(f, "no answer within {} s", after.as_secs_f64())
            }
            Self::Protocol(problem) => {
                write!(f, "the server violates the protocol: {problem}")
            }
            Self::Server(error) => write!(f, "{} ({})", error.message, error.code()),
            Self::Unsupported(what) => write!(f, "the server does not offer {what}"),
            Self::UnknownTool { name, like } => {
                write!(f, "Unknown tool: {name}")?;
                match &like[..] {
                    [] => Ok(()),
                    like => write!(f, ". Did you mean {}?", like.join(" or ")),
                }
            }
            Self::KeysUnsupported => f.write_str(
                "This server has no idempotency keys: a repeat with the same key may run the call twice. Nothing was run.",
            ),
            Self::TwoKeys => f.write_str(
                "The call has two different idempotency keys: its own, and the argument idempotency_key. Nothing was run. Send one.",
            ),
            Self::InvalidArguments(invalid) => write!(f, "{invalid}"),
            Self::InvalidAnswer(invalid) => {
                write!(f, "the host's answer is invalid for the server's form, and was not sent: {invalid}")
            }
            Self::Unforeseeable { tool, why } => write!(
                f,
                "Nothing was run. The effect of this call of {tool} is unknown: the tool declares none, and the server could not evaluate it: {why}"
            ),
            Self::Refused(RefusalSource::Person) => f.write_str("User cancelled destructive operation"),
            Self::Refused(RefusalSource::Policy) => f.write_str("The host's policy denies this call. Nothing was run."),
            Self::Refused(RefusalSource::NobodyToAsk) => {
                f.write_str("This call needs confirmation, and no prompt is available. Nothing was run.")
            }
            Self::PreviewFailed(result) => write!(f, "the preview failed: {}", result.text()),
            Self::ResultInvalid { invalid, .. } => write!(
                f,
                "The call ran. Its result does not match the tool's output schema: {invalid}"
            ),
            Self::TooManyRounds(rounds) => {
                write!(f, "the server asked {rounds} times without finishing the call")
            }
            Self::MayHaveRun { why } => write!(f, "{why}. The call may have run."),
            Self::Endless { list, read } => {
                write!(f, "the list of {list} does not end: stopped after {read}")
            }
            Self::TooLarge { what, limit } => {
                write!(
                    f,
                    "{what} needs more than {} MB of memory, so it is not read",
                    limit / 1_000_000
                )
            }
            Self::Resting { rest } => write!(
                f,
                "the server failed repeatedly; this client calls it again in {:.0} s",
                rest.as_secs_f64().ceil()
            ),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Unforeseeable { why, .. } | Self::MayHaveRun { why } => Some(why),
            _ => None,
        }
    }
}
