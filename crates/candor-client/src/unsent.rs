//! Answers of the host that are invalid for the server's form, and the requests that fail without them.
//!
//! A modern server asks in its result, so the client knows which request a question is about. A legacy server asks in a request of
//! its own. Over HTTP, it usually sends that on the stream of the request that the question is about. Otherwise, the question may
//! be about any running request. If one of them fails with the client's own words, that one failed because of the answer;
//! otherwise, each that fails did.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use candor_protocol::rpc::RequestId;
use candor_schema::Invalid;
use tokio::sync::watch;

use crate::members::locked;

/// The client may read failures that a server sends together in any order within this time.
const AT_ONCE: Duration = Duration::from_millis(200);

/// An answer that was not sent.
#[derive(Debug)]
struct UnsentAnswer {
    invalid: Invalid,
    /// What the client sent to the server instead.
    told: String,
    /// Set after the request that failed with `told` is found.
    found: watch::Sender<bool>,
}

/// What the client knows about a running request.
#[derive(Debug, Default)]
struct State {
    id: Option<RequestId>,
    unsent: Option<Arc<UnsentAnswer>>,
    /// `unsent` cannot be about any other request.
    is_certain: bool,
}

/// The running requests that a question may be about.
#[derive(Debug, Default)]
pub(crate) struct RunningRequests(Mutex<BTreeMap<u64, State>>);

/// A running request.
#[derive(Debug)]
pub(crate) struct RunningRequest<'a> {
    all: &'a RunningRequests,
    key: u64,
}

impl RunningRequests {
    pub(crate) fn add(&self) -> RunningRequest<'_> {
        let mut running = locked(&self.0);
        let key = running.last_key_value().map_or(0, |(last, _)| last + 1);
        running.insert(key, State::default());
        RunningRequest { all: self, key }
    }

    /// Notes that an answer is not sent, and returns the text for the server instead. `about`: the request on whose stream the
    /// question came.
    pub(crate) fn note_invalid(
        &self,
        about: Option<&RequestId>,
        question: &RequestId,
        invalid: Invalid,
    ) -> String {
        tracing::warn!(%invalid, "the host's answer is invalid for the server's form");
        let told =
            format!("The answer to request {question} was not sent: it is invalid for the form.");
        let unsent = UnsentAnswer { invalid, told: told.clone(), found: watch::Sender::new(false) };
        let unsent = Arc::new(unsent);
        let mut running = locked(&self.0);
        let mut candidates = candidates(&mut running, about);
        let is_certain = candidates.len() == 1;
        for state in &mut candidates {
            state.unsent = Some(unsent.clone());
            state.is_certain = is_certain;
        }
        told
    }

    /// Notes that an answer is sent. The server asked again, so an earlier invalid answer is no longer a reason to fail.
    pub(crate) fn note_answer(&self, about: Option<&RequestId>) {
        if let [state] = &mut candidates(&mut locked(&self.0), about)[..] {
            state.unsent = None;
        }
    }
}

/// Returns the requests that a question may be about.
fn candidates<'a>(
    running: &'a mut BTreeMap<u64, State>,
    about: Option<&RequestId>,
) -> Vec<&'a mut State> {
    let is_named = |state: &State| about.is_some() && state.id.as_ref() == about;
    let found = running.values().any(is_named);
    running.values_mut().filter(|state| !found || is_named(state)).collect()
}

impl RunningRequest<'_> {
    /// Notes the id of the request.
    pub(crate) fn goes_out_as(&self, id: &RequestId) {
        if let Some(state) = locked(&self.all.0).get_mut(&self.key) {
            state.id = Some(id.clone());
        }
    }

    /// Returns the invalid answer that made this request fail, if there is one. `said`: the server's error message, if it answered.
    pub(crate) async fn unsent_answer(&self, said: Option<&str>) -> Option<Invalid> {
        let (unsent, is_certain) = {
            let running = locked(&self.all.0);
            let state = running.get(&self.key)?;
            (state.unsent.clone()?, state.is_certain)
        };
        let is_repeated = said.is_some_and(|said| said.contains(&unsent.told));
        if is_repeated {
            unsent.found.send_replace(true);
        }
        if !is_repeated && !is_certain {
            // A failure without an answer of the server has another cause.
            said?;
            let mut found = unsent.found.subscribe();
            if tokio::time::timeout(AT_ONCE, found.wait_for(|found| *found)).await.is_ok() {
                return None;
            }
        }
        Some(unsent.invalid.clone())
    }
}

impl Drop for RunningRequest<'_> {
    fn drop(&mut self) {
        locked(&self.all.0).remove(&self.key);
    }
}
