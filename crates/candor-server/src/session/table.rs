//! The legacy sessions of an HTTP server.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use candor_protocol::Principal;

use super::Session;

/// All open sessions, by id.
#[derive(Debug)]
pub(crate) struct Sessions {
    open: Mutex<HashMap<String, Arc<Session>>>,
    most: usize,
    idle: Duration,
}

impl Sessions {
    pub(crate) fn new(most: usize, idle: Duration) -> Self {
        Self {
            open: Mutex::default(),
            most,
            idle,
        }
    }

    /// Adds a session; false if there are too many.
    pub(crate) fn add(&self, session: Arc<Session>) -> bool {
        let mut open = self.lock();
        // Swept here, where it matters, instead of by a task of its own.
        open.retain(|_, session| {
            let keep = session.idle() < self.idle;
            if !keep {
                session.end();
            }
            keep
        });
        let room = open.len() < self.most;
        if room {
            open.insert(session.id.clone(), session);
        }
        room
    }

    /// A principal's session. Somebody else's answers like one that does not exist.
    pub(crate) fn get(&self, id: &str, principal: &Principal) -> Option<Arc<Session>> {
        let session = self
            .lock()
            .get(id)
            .filter(|s| s.principal == *principal)
            .cloned()?;
        if session.idle() >= self.idle {
            self.remove(&session);
            return None;
        }
        session.touch();
        Some(session)
    }

    /// Ends a session.
    pub(crate) fn remove(&self, session: &Session) {
        self.lock().remove(&session.id);
        session.end();
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Arc<Session>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
