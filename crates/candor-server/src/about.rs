//! What a running server reports about itself and its sessions.

use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use candor_protocol::types::{Implementation, ServerCapabilities};
use candor_protocol::{Principal, Revision};

use crate::engine::Engine;
use crate::session::Session;

/// What a server reports about itself.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct About {
    /// Its name and version.
    pub info: Implementation,
    /// Advice for models on how to use the server.
    pub instructions: Option<String>,
    /// What it can do, in either era.
    pub capabilities: ServerCapabilities,
    /// The revisions of the protocol that it supports.
    pub revisions: &'static [Revision],
}

impl About {
    /// Returns the name for this server in a host's configuration: its title if it has one, so that two folders have two names.
    #[must_use]
    pub fn host_name(&self) -> String {
        host_name(self.info.title.as_deref().unwrap_or(&self.info.name))
    }
}

/// The longest name that hosts accept.
const LONGEST_HOST_NAME: usize = 64;

/// Returns a name that hosts accept and that needs no quotes in a shell: letters, digits, hyphens and underscores.
#[must_use]
pub fn host_name(name: &str) -> String {
    let allowed = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let parts: Vec<&str> = name.split(|c| !allowed(c)).filter(|part| !part.is_empty()).collect();
    let mut name = parts.join("-");
    name.truncate(LONGEST_HOST_NAME);
    match name.trim_end_matches('-') {
        "" => "server".to_owned(),
        name => name.to_owned(),
    }
}

/// An open session. Its client speaks a legacy revision, because only those have sessions.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct SessionView {
    /// The principal of the session.
    pub principal: Principal,
    /// The name and version that the client reports.
    pub client: Option<Implementation>,
    /// The revision that the session uses.
    pub revision: Revision,
    /// The time since the last request or open stream.
    pub idle: Duration,
}

/// All open sessions, of every transport.
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
    /// Returns what the server reports about itself.
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

    /// Returns the open sessions, oldest first.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_name_needs_no_quotes() {
        assert_eq!(host_name("notes_2026"), "notes_2026");
        assert_eq!(host_name("Ann's  old notes.d"), "Ann-s-old-notes-d");
        assert_eq!(host_name("-my server; rm -rf /"), "my-server-rm-rf");
        assert_eq!(host_name("\u{202e}'\""), "server");
        assert_eq!(host_name(&"a-".repeat(100)).len(), 63);
    }
}
