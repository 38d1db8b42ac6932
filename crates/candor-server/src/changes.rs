//! What has changed, told to whoever listens.

use std::sync::Arc;

use candor_protocol::names::notification;
use candor_protocol::types::ServerCapabilities;
use tokio::sync::broadcast;

/// Changes that a slow listener may lag behind by before it is told "everything may have changed".
const BACKLOG: usize = 256;

/// One thing that changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Change {
    Tools,
    Prompts,
    Resources,
    Resource(Arc<str>),
}

impl Change {
    /// The notification that tells of it.
    pub(crate) fn method(&self) -> &'static str {
        match self {
            Self::Tools => notification::TOOLS_CHANGED,
            Self::Prompts => notification::PROMPTS_CHANGED,
            Self::Resources => notification::RESOURCES_CHANGED,
            Self::Resource(_) => notification::RESOURCE_UPDATED,
        }
    }
}

/// Which changes a server has announced; of others, nobody is told.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Announced {
    pub(crate) tools: bool,
    pub(crate) prompts: bool,
    pub(crate) resources: bool,
    pub(crate) watched: bool,
}

impl Announced {
    pub(crate) fn in_capabilities(capabilities: &ServerCapabilities) -> Self {
        let tools = capabilities.tools.as_ref();
        let prompts = capabilities.prompts.as_ref();
        let resources = capabilities.resources.as_ref();
        Self {
            tools: tools.is_some_and(|t| t.list_changed == Some(true)),
            prompts: prompts.is_some_and(|p| p.list_changed == Some(true)),
            resources: resources.is_some_and(|r| r.list_changed == Some(true)),
            watched: resources.is_some_and(|r| r.subscribe == Some(true)),
        }
    }

    pub(crate) fn includes(&self, change: &Change) -> bool {
        match change {
            Change::Tools => self.tools,
            Change::Prompts => self.prompts,
            Change::Resources => self.resources,
            Change::Resource(_) => self.watched,
        }
    }
}

/// Tells listening clients that something has changed. Cloning gives another handle to the same server.
#[derive(Debug, Clone)]
pub struct Changes(broadcast::Sender<Change>);

impl Changes {
    pub(crate) fn new() -> Self {
        Self(broadcast::Sender::new(BACKLOG))
    }

    /// The list of tools has changed.
    pub fn tools(&self) {
        self.tell(Change::Tools);
    }

    /// The list of prompts has changed.
    pub fn prompts(&self) {
        self.tell(Change::Prompts);
    }

    /// The list of resources has changed.
    pub fn resources(&self) {
        self.tell(Change::Resources);
    }

    /// One resource has changed.
    pub fn resource(&self, uri: &str) {
        self.tell(Change::Resource(uri.into()));
    }

    fn tell(&self, change: Change) {
        // Nobody listening is no error.
        let _ = self.0.send(change);
    }

    pub(crate) fn listen(&self) -> Listener {
        Listener(self.0.subscribe())
    }
}

/// One listener's place in the order of changes.
pub(crate) struct Listener(broadcast::Receiver<Change>);

/// What a listener hears next.
pub(crate) enum Heard {
    Change(Change),
    /// Changes were missed; which ones is unknown.
    Missed,
}

impl Listener {
    /// The next change; `None` when the server is gone.
    pub(crate) async fn next(&mut self) -> Option<Heard> {
        match self.0.recv().await {
            Ok(change) => Some(Heard::Change(change)),
            Err(broadcast::error::RecvError::Lagged(_)) => Some(Heard::Missed),
            Err(broadcast::error::RecvError::Closed) => None,
        }
    }
}
