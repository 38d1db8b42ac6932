//! A running server: its engine, and what its transports share.

use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use candor_engine::{Engine, Seal};
use candor_protocol::json::{RawValue, raw};
use candor_protocol::types::{Implementation, ServerCapabilities};
use candor_protocol::{Principal, Revision};

use crate::auth::Authenticator;
use crate::capabilities::capabilities;
use crate::refusal_log::RefusalLog;
use crate::session::Session;

/// A running server. It answers the same over every transport. Cloning shares it.
///
/// [`Server::build`](crate::Server::build) makes it. Requests reach it over a [`transport`](crate::transport). It also is an
/// [`Engine`]: code in the same process opens a view of it, without a protocol.
#[derive(Clone)]
pub struct RunningServer(Arc<ServerInner>);

struct ServerInner {
    engine: Engine,
    description: ServerDescription,
    /// Part of every modern result, so it is encoded once.
    info_json: Box<RawValue>,
    cursors: Seal,
    connected: Connected,
    refusals: RefusalLog,
}

/// What a server has besides its engine.
pub(crate) struct ServerDescription {
    pub(crate) info: Implementation,
    pub(crate) instructions: Option<String>,
    pub(crate) authenticator: Option<Arc<dyn Authenticator>>,
    pub(crate) cache: CacheHint,
}

impl fmt::Debug for RunningServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunningServer").field("name", &self.name()).finish_non_exhaustive()
    }
}

impl Deref for RunningServer {
    type Target = Engine;

    fn deref(&self) -> &Engine {
        &self.0.engine
    }
}

impl RunningServer {
    pub(crate) fn new(engine: Engine, description: ServerDescription) -> Self {
        Self(Arc::new(ServerInner {
            info_json: raw(&description.info),
            cursors: engine.seal("candor cursor v2"),
            connected: Connected::default(),
            refusals: RefusalLog::default(),
            description,
            engine,
        }))
    }

    /// Returns what finds the callers of requests over HTTP, if the server has it: see
    /// [`Server::authenticator`](crate::Server::authenticator).
    #[must_use]
    pub fn authenticator(&self) -> Option<&Arc<dyn Authenticator>> {
        self.0.description.authenticator.as_ref()
    }

    /// Returns what the server reports about itself.
    #[must_use]
    pub fn about(&self) -> About {
        About {
            info: self.info().clone(),
            instructions: self.instructions().cloned(),
            capabilities: capabilities(self, None),
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

    pub(crate) fn info(&self) -> &Implementation {
        &self.0.description.info
    }

    pub(crate) fn info_json(&self) -> &RawValue {
        &self.0.info_json
    }

    pub(crate) fn instructions(&self) -> Option<&String> {
        self.0.description.instructions.as_ref()
    }

    /// Returns how long and by whom lists and reads may be cached.
    #[must_use]
    pub fn cache_hint(&self) -> CacheHint {
        self.0.description.cache
    }

    pub(crate) fn cursors(&self) -> &Seal {
        &self.0.cursors
    }

    pub(crate) fn connected(&self) -> &Connected {
        &self.0.connected
    }

    pub(crate) fn refusals(&self) -> &RefusalLog {
        &self.0.refusals
    }
}

/// How long and by whom a result may be cached. Modern clients get it with every list, every read and with `server/discover`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheHint {
    /// Milliseconds during which the result counts as fresh. With 0, clients ask again each time.
    pub ttl_ms: u64,
    /// Which callers may share it.
    pub scope: CacheScope,
}

/// Which callers may share a cached result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CacheScope {
    /// All: it holds nothing about the caller.
    Public,
    /// Only the caller that it was made for.
    Private,
}

impl Default for CacheHint {
    /// Returns a hint to ask again each time and to share nothing: never wrong, only slow.
    fn default() -> Self {
        Self { ttl_ms: 0, scope: CacheScope::Private }
    }
}

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
