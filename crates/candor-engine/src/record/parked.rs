//! Handlers that wait in this process for the answers to the questions that they relay.
//!
//! Each has a task of its own, which holds the handler between two requests. The next request of the same call brings the answers,
//! and takes over the task's result. A handler whose answers do not come in time is dropped.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;

use crate::ctx::round::{Answers, Questions};
use crate::outcome::RecordedEnd;
use crate::peer::Peer;

/// The parked handlers of one server. Cloning shares them.
#[derive(Clone, Default)]
pub(crate) struct ParkedCalls(Arc<Mutex<HashMap<String, oneshot::Sender<ResumeSignal>>>>);

/// What a request brings to a parked handler.
pub(crate) struct ResumeSignal {
    pub(crate) answers: Answers,
    /// The way back to the client of that request.
    pub(crate) peer: Arc<dyn Peer>,
    /// Takes the result.
    pub(crate) reply: oneshot::Sender<RecordedEnd>,
}

impl ParkedCalls {
    /// Parks the handler that asks these questions. From here on, a request can bring the answers.
    pub(crate) fn park(&self, questions: &Questions) -> ParkedHandler {
        let name = questions.parked().unwrap_or_default().to_owned();
        let (signal, received) = oneshot::channel();
        self.lock().insert(name.clone(), signal);
        ParkedHandler { calls: self.clone(), name, received }
    }

    /// Gives answers to a parked handler, and waits for its result. Returns `None` if it is not here any more.
    pub(crate) async fn resume(
        &self,
        name: &str,
        answers: Answers,
        peer: Arc<dyn Peer>,
    ) -> Option<RecordedEnd> {
        let (reply, result) = oneshot::channel();
        let signal = self.lock().remove(name)?;
        signal.send(ResumeSignal { answers, peer, reply }).ok()?;
        result.await.ok()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, oneshot::Sender<ResumeSignal>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The place of a parked handler. Dropping it gives the place up.
pub(crate) struct ParkedHandler {
    calls: ParkedCalls,
    name: String,
    received: oneshot::Receiver<ResumeSignal>,
}

impl ParkedHandler {
    /// Waits for the request that brings the answers. Returns `None` if it does not come in time.
    pub(crate) async fn wait(mut self, patience: Duration) -> Option<ResumeSignal> {
        tokio::time::timeout(patience, &mut self.received).await.ok()?.ok()
    }
}

impl Drop for ParkedHandler {
    fn drop(&mut self) {
        self.calls.lock().remove(&self.name);
    }
}
