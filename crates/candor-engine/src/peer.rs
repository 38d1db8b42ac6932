//! The way from a running request back to its caller's client.

use candor_protocol::json::{Number, Object, RawValue};
use candor_protocol::types::{InputRequest, LogLevel};
use futures_util::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use crate::error::AskError;

/// The way from a running request back to its caller's client: messages ahead of the answer, and questions.
///
/// A transport implements it. [`NoPeer`] is for requests whose caller takes only the answer.
pub trait Peer: Send + Sync + 'static {
    /// Returns true if the client wants to hear of the request's progress.
    fn wants_progress(&self) -> bool {
        false
    }

    /// Reports progress. Called only if the client [wants](Self::wants_progress) it.
    fn progress(&self, _progress: Progress) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }

    /// Returns true if the client wants log messages of this level.
    fn wants_log(&self, _level: LogLevel) -> bool {
        false
    }

    /// Sends a log message. Called only if the client [wants](Self::wants_log) it.
    #[allow(clippy::boxed_local)] // A raw value has no other owned form.
    fn log(&self, _level: LogLevel, _data: Box<RawValue>) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }

    /// Returns when the client can answer questions.
    fn channel(&self) -> QuestionChannel {
        QuestionChannel::NextRequest
    }

    /// Asks the client, and waits for its answer, or until `stop` is cancelled. Called only on an
    /// [immediate](QuestionChannel::Immediate) channel.
    fn ask<'a>(
        &'a self,
        _question: &'a InputRequest,
        _stop: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<Box<RawValue>, AskError>> {
        Box::pin(std::future::ready(Err(AskError::NoChannel)))
    }

    /// Returns a token that is cancelled once the client no longer wants an answer.
    fn gone(&self) -> &CancellationToken;

    /// Closes the client's event stream while the handler keeps running. The client connects again for the answer. By default it
    /// does nothing.
    fn hang_up(&self) {}
}

/// When a client can answer a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QuestionChannel {
    /// While the handler waits.
    Immediate,
    /// With its next request: the question is the outcome of this one.
    NextRequest,
}

/// How far a request has come.
#[derive(Debug, Clone)]
pub struct Progress {
    /// What is done. It grows with every report.
    pub done: Number,
    /// What there is to do in total.
    pub total: Option<Number>,
    /// A text for users.
    pub message: Option<String>,
    /// Metadata for programs.
    pub meta: Option<Object>,
}

/// A peer that takes only the answer.
#[derive(Debug, Default)]
pub struct NoPeer {
    gone: CancellationToken,
}

impl NoPeer {
    /// Creates a peer whose request ends once this token is cancelled.
    #[must_use]
    pub fn until(gone: CancellationToken) -> Self {
        Self { gone }
    }
}

impl Peer for NoPeer {
    fn gone(&self) -> &CancellationToken {
        &self.gone
    }
}
