//! A request that runs, and what it says on the way: messages as they come, then the answer.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;

use crate::answer::Answer;
use crate::engine::Engine;
use crate::exchange::TransportContext;
use crate::outlet::Outlet;
use crate::pipe::Pipe;
use candor_protocol::rpc::Request;

/// Something for the client.
pub(crate) enum OutgoingMessage {
    Message(Bytes),
    Answer(Answer),
}

/// A request whose messages and answer somebody takes, one after the other. Dropped before its answer, it is taken back.
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
    /// Begins; `held` is let go of when the request has ended.
    pub(crate) fn start<T: Send + 'static>(
        engine: &Engine,
        request: Request,
        arrival: TransportContext,
        held: T,
    ) -> Self {
        let messages = Pipe::new(engine.limits().queue);
        let arrival = TransportContext { outlet: Outlet::Pipe(messages.clone()), ..arrival };
        let engine = engine.clone();
        // Dropped when the client hangs up, which is how a modern client takes a request back.
        let hang_up = arrival.cancel.clone().drop_guard();
        let answer = Box::pin(async move {
            let answer = engine.handle(request, arrival).await;
            hang_up.disarm();
            drop(held);
            answer
        });
        Self { answer: Progress::Running(answer), messages }
    }

    /// Lets the handler run; what it says is read before its answer, so that the answer comes last.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<OutgoingMessage>> {
        if let Progress::Running(answer) = &mut self.answer
            && let Poll::Ready(answer) = answer.as_mut().poll(cx)
        {
            self.answer = Progress::Done(answer);
        }
        match std::mem::replace(&mut self.answer, Progress::Told) {
            // Nobody speaks any more, so what is there is all there is.
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
