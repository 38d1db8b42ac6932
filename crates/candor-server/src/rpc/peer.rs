//! The way back to the client of a request: a modern event stream, a legacy session, or nothing.

use std::sync::Arc;

use candor_engine::{AskError, ClientInfo, Peer, Progress, QuestionChannel};
use candor_protocol::Revision;
use candor_protocol::json::{Object, RawValue};
use candor_protocol::names::{meta, notification};
use candor_protocol::rpc::{RequestId, write_notification};
use candor_protocol::types::{InputRequest, LogLevel, LogParams, ProgressParams};
use futures_util::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use crate::session::Session;
use crate::stream::Outlet;

/// The way back to the client of one request.
pub(crate) struct ClientPeer {
    revision: Revision,
    session: Option<Arc<Session>>,
    pub(super) outlet: Outlet,
    cancel: CancellationToken,
    progress_token: Option<RequestId>,
    /// The least severe log message that a modern client wants for this request.
    log_level: Option<LogLevel>,
}

impl ClientPeer {
    pub(super) fn new(
        client: &ClientInfo,
        meta: &Object,
        session: Option<Arc<Session>>,
        outlet: Outlet,
        cancel: CancellationToken,
        log_level: Option<LogLevel>,
    ) -> Self {
        let progress_token = meta.read(meta::PROGRESS_TOKEN).ok().flatten();
        let revision = client.revision;
        Self { revision, session, outlet, cancel, progress_token, log_level }
    }

    pub(super) const fn cancel(&self) -> &CancellationToken {
        &self.cancel
    }
}

impl Peer for ClientPeer {
    fn wants_progress(&self) -> bool {
        self.progress_token.is_some()
    }

    fn progress(&self, progress: Progress) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let Some(token) = &self.progress_token else { return };
            let mut params = ProgressParams::new(token.clone(), progress.done);
            params.total = progress.total;
            params.message = progress.message;
            params.meta = progress.meta;
            self.outlet.send(write_notification(notification::PROGRESS, &params)).await;
        })
    }

    fn wants_log(&self, level: LogLevel) -> bool {
        let least = match &self.session {
            Some(session) => Some(session.log_level()),
            None => self.log_level,
        };
        least.is_some_and(|least| level >= least)
    }

    fn log(&self, level: LogLevel, data: Box<RawValue>) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let params = LogParams::new(level, data);
            self.outlet.send(write_notification(notification::MESSAGE, &params)).await;
        })
    }

    fn channel(&self) -> QuestionChannel {
        match self.session {
            Some(_) => QuestionChannel::Immediate,
            None => QuestionChannel::NextRequest,
        }
    }

    fn ask<'a>(
        &'a self,
        question: &'a InputRequest,
        stop: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<Box<RawValue>, AskError>> {
        Box::pin(async move {
            match &self.session {
                None => Err(AskError::Gone),
                Some(_) if matches!(self.outlet, Outlet::None) => Err(AskError::NoChannel),
                Some(session) => session.ask(&self.outlet, question, stop).await,
            }
        })
    }

    fn gone(&self) -> &CancellationToken {
        &self.cancel
    }

    fn hang_up(&self) {
        // Earlier revisions give a client no id to reconnect with.
        if self.revision >= Revision::V2025_11_25
            && let Outlet::Log(log) = &self.outlet
        {
            log.hang_up();
        }
    }
}
