//! A running request and its output: messages first, then the answer.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;

use candor_protocol::rpc::Request;

use super::context::TransportContext;
use super::encode::answer::Answer;
use crate::running_server::RunningServer;
use crate::stream::{Outlet, Pipe};

/// Output for the client.
pub(crate) enum OutgoingMessage {
    Message(Bytes),
    Answer(Answer),
}

/// A running request, polled for its messages and then its answer. Dropping it before the answer cancels the request.
pub(crate) struct RunningRequest {
    answer: Progress,
    messages: Pipe,
}

enum Progress {
    Running(Pin<Box<dyn Future<Output = Answer> + Send>>),
    Done(Answer),
    Told,
}

impl RunningRequest {
    /// Starts a request. `held` is dropped when the request has ended.
    pub(crate) fn start<T: Send + 'static>(
        server: &RunningServer,
        request: Request,
        arrival: TransportContext,
        held: T,
    ) -> Self {
        let messages = Pipe::new(server.limits().queue);
        let arrival = TransportContext { outlet: Outlet::Pipe(messages.clone()), ..arrival };
        let server = server.clone();
        // Dropped if the client disconnects, which is how a modern client cancels a request.
        let hang_up = arrival.cancel.clone().drop_guard();
        let answer = Box::pin(async move {
            let answer = super::handle(&server, request, arrival).await;
            hang_up.disarm();
            drop(held);
            answer
        });
        Self { answer: Progress::Running(answer), messages }
    }

    /// Polls the handler. Messages are read before the answer, so that the answer comes last.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<OutgoingMessage>> {
        if let Progress::Running(answer) = &mut self.answer
            && let Poll::Ready(answer) = answer.as_mut().poll(cx)
        {
            self.answer = Progress::Done(answer);
        }
        match std::mem::replace(&mut self.answer, Progress::Told) {
            // The handler has ended, so no further messages can come.
            Progress::Done(answer) => Poll::Ready(Some(match self.messages.try_next() {
                Some(message) => {
                    self.answer = Progress::Done(answer);
                    OutgoingMessage::Message(message)
                }
                None => OutgoingMessage::Answer(answer),
            })),
            Progress::Told => Poll::Ready(None),
            running @ Progress::Running(_) => {
                self.answer = running;
                self.messages.poll_next(cx).map(|message| Some(OutgoingMessage::Message(message)))
            }
        }
    }
}
