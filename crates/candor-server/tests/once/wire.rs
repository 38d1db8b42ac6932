//! Calls with a key as they come over a socket, in either era, and what their callers are told.

use candor_server::store::StateKind;
use serde_json::{Value, json};

use crate::bench::{KEY, id, mark};
use crate::common::{Call, Session, Site, modern};

/// Who calls `act` over HTTP, with the key `k` unless it says otherwise.
pub(crate) struct Caller<'a> {
    site: &'a Site,
    /// The session of one of the legacy era.
    session: Option<Session<'a>>,
    key: &'a str,
    /// Whose token goes along, in the modern era.
    by: Option<&'a str>,
}

impl<'a> Caller<'a> {
    pub(crate) const fn modern(site: &'a Site) -> Self {
        Self { site, session: None, key: "k", by: None }
    }

    /// One of each era.
    pub(crate) async fn both(site: &'a Site) -> [Self; 2] {
        let session = Some(Session::open(site, "2025-11-25").await);
        [Self::modern(site), Self { session, ..Self::modern(site) }]
    }

    pub(crate) fn keyed(self, key: &'a str) -> Self {
        Self { key, ..self }
    }

    pub(crate) fn by(self, principal: &'a str) -> Self {
        Self { by: Some(principal), ..self }
    }

    pub(crate) async fn call(&self, arguments: Value) -> Told {
        let params = json!({"name": "act", "arguments": arguments, "_meta": {KEY: self.key}});
        let reply = match &self.session {
            Some(session) => session.request("tools/call", &params).await,
            None => {
                let call = modern("tools/call", &params);
                self.site.send(self.by.into_iter().fold(call, Call::by)).await
            }
        };
        Told(reply.result().await)
    }

    /// The call without any arguments.
    pub(crate) async fn act(&self) -> Told {
        self.call(json!({})).await
    }
}

/// A result as it came.
pub(crate) struct Told(Value);

impl Told {
    pub(crate) const fn raw(&self) -> &Value {
        &self.0
    }

    pub(crate) fn text(&self) -> &str {
        self.0["content"][0]["text"].as_str().unwrap_or_default()
    }

    pub(crate) fn structured(&self) -> Option<&Value> {
        self.0.get("structuredContent")
    }

    pub(crate) fn is_error(&self) -> bool {
        self.0["isError"] == true
    }

    pub(crate) fn code(&self) -> Option<&str> {
        self.0["_meta"]["dev.candor/error"]["code"].as_str()
    }

    pub(crate) fn is_replayed(&self) -> bool {
        mark(&self.0)["replayed"] == true
    }
}

/// Where the record of a key of `act` stands; without tokens, the caller is nobody in particular.
pub(crate) async fn stands(site: &Site, key: &str) -> StateKind {
    let store = site.engine.store().expect("a ledger");
    let found = store.find(&id("anonymous", "act", key)).await.unwrap();
    found.and_then(|entry| entry.seen).map_or(StateKind::Absent, |record| record.state.kind())
}
