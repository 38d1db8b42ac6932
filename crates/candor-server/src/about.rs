//! What a running server says of itself, and who is connected to it.

use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use candor_protocol::types::{Implementation, ServerCapabilities};
use candor_protocol::{Principal, Revision};

use crate::engine::Engine;
use crate::session::Session;

/// What a server says of itself.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct About {
    /// Its name and version.
    pub info: Implementation,
    /// Advice for models.
    pub instructions: Option<String>,
    /// What it can do, in either era.
    pub capabilities: ServerCapabilities,
    /// The revisions of the protocol that it speaks.
    pub revisions: &'static [Revision],
}

/// A client that is connected: it speaks a legacy revision, as only those have sessions.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct SessionView {
    /// For whom it acts.
    pub principal: Principal,
    /// What it says it is.
    pub client: Option<Implementation>,
    /// What it speaks.
    pub revision: Revision,
    /// For how long it has said nothing.
    pub idle: Duration,
}

/// The sessions that are open, whoever holds them.
#[derive(Debug, Default)]
pub(crate) struct Connected(Mutex<Vec<Weak<Session>>>);

impl Connected {
    pub(crate) fn add(&self, session: &Arc<Session>) {
        let mut sessions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        sessions.retain(|session| session.strong_count() > 0);
        sessions.push(Arc::downgrade(session));
    }

    fn all(&self) -> Vec<Arc<Session>> {
        let sessions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        sessions.iter().filter_map(Weak::upgrade).collect()
    }
}

impl Engine {
    /// What the server says of itself.
    #[must_use]
    pub fn about(&self) -> About {
        let parts = self.parts();
        About {
            info: parts.info.clone(),
            instructions: parts.instructions.clone(),
            capabilities: self.capabilities(None),
            revisions: &Revision::ALL,
        }
    }

    /// Who is connected, in the order in which they came.
    #[must_use]
    pub fn sessions(&self) -> Vec<SessionView> {
        let view = |session: Arc<Session>| SessionView {
            principal: session.peer.principal.clone(),
            client: session.client.info(),
            revision: session.client.revision,
            idle: session.idle(),
        };
        self.connected().all().into_iter().map(view).collect()
    }
}
