//! Why a question to the caller's client has no answer.

use std::fmt;

use serde_json::Value;

/// Why a question has no answer.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum AskError {
    /// The client did not declare that it supports such questions. Holds the capability that it would have to declare.
    NotSupported(Value),
    /// The client did not answer in time.
    TimedOut,
    /// The client is gone, or cancelled its request.
    Gone,
    /// The request came in a batch, where the server can send only its answer.
    NoChannel,
    /// The client answered with an error.
    Refused {
        /// The error's code.
        code: i64,
        /// The error's message.
        message: String,
    },
    /// The client's answer does not match the question.
    Malformed(String),
    /// This type cannot be a form. Holds the reason.
    NotAForm(String),
    /// Too many calls wait for answers while they run.
    TooManyParked,
}

impl fmt::Display for AskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotSupported(needed) => {
                write!(f, "the client does not support this: it would have to declare {needed}")
            }
            Self::TimedOut => f.write_str("the client did not answer in time"),
            Self::Gone => f.write_str("the client is gone"),
            Self::NoChannel => f.write_str("a request in a batch cannot ask; send it alone"),
            Self::Refused { message, .. } => write!(f, "the client refused: {message}"),
            Self::Malformed(problem) => write!(f, "the client's answer cannot be used: {problem}"),
            Self::NotAForm(problem) => f.write_str(problem),
            Self::TooManyParked => f.write_str("too many calls wait for answers; try again later"),
        }
    }
}

impl std::error::Error for AskError {}
