//! Errors: what went wrong, what the caller can do, and whether a call may have run.

use std::fmt;
use std::time::Duration;

use candor_protocol::rpc::{ErrorObject, code};
use candor_schema::Invalid;

use crate::result::CallResult;

/// Why a request failed.
///
/// Two questions matter most to a caller: may the call have run ([`may_have_run`](Self::may_have_run)), and can a retry succeed
/// ([`is_passing`](Self::is_passing))?
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
    /// The client cannot reach the server. Nothing was run.
    Unreachable {
        /// The URL or the program.
        target: String,
        /// Why the client cannot reach it.
        why: String,
    },
    /// The server requires credentials, or refuses those that it received. Nothing was run.
    Unauthorized {
        /// The HTTP status: 401 or 403.
        status: u16,
        /// The value of `WWW-Authenticate`.
        challenge: Option<String>,
    },
    /// The host has no bearer token: its function for [`Connect::bearer_from`](crate::Connect::bearer_from) failed. Nothing was
    /// run.
    NoToken {
        /// The error of that function.
        why: String,
    },
    /// An HTTP response that is not an answer of the protocol.
    Http {
        /// Its status.
        status: u16,
        /// The beginning of its body.
        body: String,
        /// How long to wait before a retry, if the server says so.
        retry_after: Option<Duration>,
    },
    /// The connection ended before the answer came.
    Lost {
        /// What the client observed.
        why: String,
        /// Whether the server may have received the request.
        sent: bool,
    },
    /// The server does not know the session that it opened. It claims that it did not process the request, but nothing proves it.
    SessionExpired,
    /// No answer came in time. The call may still be running.
    TimedOut {
        /// How long the client waited.
        after: Duration,
    },
    /// The server violates the protocol.
    Protocol(String),
    /// An error that the server returned.
    Server(ErrorObject),
    /// The server does not offer this.
    Unsupported(String),
    /// The server has no tool of this name. Nothing was sent.
    UnknownTool {
        /// The name.
        name: String,
        /// Similar names.
        like: Vec<String>,
    },
    /// The call has an idempotency key, but the server has no idempotency keys, so a retry would run the call again. Nothing was
    /// sent. [`Call::unsafe_key`](crate::Call::unsafe_key) sends the call anyway.
    KeysUnsupported,
    /// The call has an idempotency key, and a different one among its arguments. Nothing was sent.
    TwoKeys,
    /// The arguments are invalid for the tool's schema. Nothing was sent.
    InvalidArguments(Invalid),
    /// The host's answer to a question is invalid for the server's form. The client did not send the answer, and the call did not
    /// succeed without it. The call may have run: the server asked during the call.
    ///
    /// The client never wraps this error in another one. A legacy server over a pipe does not say which call its question is about.
    /// If several calls run, each one that fails after the question gets this error. If one of them fails with the text that the
    /// client sent instead of the answer, only that one gets it.
    InvalidAnswer(Invalid),
    /// The server could not evaluate the call, and the tool declares nothing. Nothing was run.
    EffectUnknown {
        /// The tool.
        tool: String,
        /// Why the server could not evaluate it.
        why: Box<Error>,
    },
    /// The user or the host's policy refused the call, or no prompt is available. Nothing was run.
    Refused(RefusalSource),
    /// The tool's preview of the call failed; its result says why. The call itself was not made.
    PreviewFailed(Box<CallResult>),
    /// The call ran. Its result does not match the tool's output schema.
    ResultInvalid {
        /// The result.
        result: Box<CallResult>,
        /// What is wrong with it.
        invalid: Invalid,
    },
    /// The server asked too many rounds of questions. What it ran in between is unknown.
    TooManyRounds(u32),
    /// A call that does more than read was sent and may have run, although its cause does not say so. Only an untrusted server
    /// claims that nothing was run, or the server asked what this client cannot answer. Or an earlier attempt may have run.
    MayHaveRun {
        /// What ended the call.
        why: Box<Error>,
    },
    /// A list without end: the server sent more pages or entries than the limits allow, or repeated a cursor.
    Endless {
        /// What the list contains.
        list: &'static str,
        /// The number of entries that were read.
        read: usize,
    },
    /// An answer, list or message of the server exceeds [`ClientLimits::max_list`](crate::ClientLimits::max_list) or
    /// [`ClientLimits::max_message`](crate::ClientLimits::max_message).
    TooLarge {
        /// What is too large.
        what: String,
        /// The limit, in bytes.
        limit: usize,
    },
    /// The server failed so often that the client pauses this kind of work. Nothing was sent.
    Resting {
        /// The remaining pause.
        rest: Duration,
    },
}

/// The source of a refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum RefusalSource {
    /// The user, at the confirmation.
    Person,
    /// The host's policy.
    Policy,
    /// The call needs confirmation, and no prompt is available.
    NoPrompt,
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

    /// Returns the error of a call that may have run: this error, marked if it does not say so itself.
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

    /// Returns true if only the server's word says that the request was not processed.
    pub(crate) fn is_claim(&self) -> bool {
        matches!(self, Self::Server(_) | Self::Unauthorized { .. })
    }

    /// Returns true if the server may have received the request and run it.
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

    /// Returns true if this client itself knows that the request never left it. Other errors only repeat what the server claims.
    pub(crate) fn is_unsent(&self) -> bool {
        matches!(self, Self::Unreachable { .. } | Self::Lost { sent: false, .. })
    }

    /// Returns true if a retry may succeed.
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

    /// Returns how long to wait before a retry, if the server or the breaker says so.
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
            Self::EffectUnknown { tool, why } => write!(
                f,
                "Nothing was run. The effect of this call of {tool} is unknown: the tool declares none, and the server could not evaluate it: {why}"
            ),
            Self::Refused(RefusalSource::Person) => f.write_str("User cancelled destructive operation"),
            Self::Refused(RefusalSource::Policy) => f.write_str("The host's policy denies this call. Nothing was run."),
            Self::Refused(RefusalSource::NoPrompt) => {
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
            Self::EffectUnknown { why, .. } | Self::MayHaveRun { why } => Some(why),
            _ => None,
        }
    }
}
