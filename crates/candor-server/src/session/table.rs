//! The legacy sessions of an HTTP server.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use candor_engine::Limits;
use candor_protocol::Principal;

use super::Session;

/// All open sessions, by id.
#[derive(Debug)]
pub(crate) struct Sessions {
    open: Mutex<HashMap<String, Arc<Session>>>,
    most: usize,
    most_per_peer: usize,
    /// The maximum for one principal from all addresses, if callers are told apart.
    most_per_principal: Option<usize>,
    idle: Duration,
}

impl Sessions {
    /// Creates an empty table. `shared`: callers are told apart, and one principal gets at most half.
    pub(crate) fn new(limits: &Limits, shared: bool) -> Self {
        Self {
            open: Mutex::default(),
            most: limits.sessions,
            most_per_peer: limits.sessions_per_peer,
            most_per_principal: shared.then(|| limits.sessions.div_ceil(2)),
            idle: limits.session_idle,
        }
    }

    /// Adds a session. Returns false if there are too many in total. If its peer or principal has too many, ends the one that was
    /// unused for the longest time. So a client that never ends its sessions harms only itself.
    pub(crate) fn add(&self, session: Arc<Session>) -> bool {
        let mut open = self.lock();
        // Expired sessions are removed here, where it matters, instead of by a separate task.
        open.retain(|_, session| {
            let keep = session.idle() < self.idle;
            if !keep {
                session.end();
            }
            keep
        });
        let of_peer = |other: &Session| other.peer == session.peer;
        let of_principal = |other: &Session| other.peer.principal == session.peer.principal;
        let crowded = longest_unused(&open, of_peer, self.most_per_peer)
            .or_else(|| longest_unused(&open, of_principal, self.most_per_principal?));
        if let Some(oldest) = crowded {
            oldest.end();
            open.remove(&oldest.id);
        }
        let room = open.len() < self.most;
        if room {
            open.insert(session.id.clone(), session);
        }
        room
    }

    /// Returns a principal's session. A session of another principal is not found.
    pub(crate) fn get(&self, id: &str, principal: &Principal) -> Option<Arc<Session>> {
        let session = self.lock().get(id).filter(|s| s.peer.principal == *principal).cloned()?;
        if !session.used_within(self.idle) {
            self.remove(&session);
            return None;
        }
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

/// Returns the longest unused of these sessions, if there are at least `most`.
fn longest_unused(
    open: &HashMap<String, Arc<Session>>,
    these: impl Fn(&Session) -> bool,
    most: usize,
) -> Option<Arc<Session>> {
    let all = || open.values().filter(|session| these(session));
    if all().count() < most {
        return None;
    }
    all().max_by_key(|session| session.idle()).cloned()
}
