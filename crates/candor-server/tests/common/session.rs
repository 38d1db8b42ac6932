//! A legacy client's session.

use http::Method;
use http::header::ACCEPT;
use serde_json::{Value, json};

use super::{Call, Reply, Site};

/// A session that is open.
pub(crate) struct Session<'a> {
    pub(crate) site: &'a Site,
    pub(crate) id: String,
    revision: &'static str,
    /// Whose token goes with every request.
    by: Option<&'static str>,
}

/// `initialize`, asking for a revision.
pub(crate) fn initialize(revision: &str, capabilities: &Value) -> Call {
    let params = json!({
        "protocolVersion": revision,
        "capabilities": capabilities,
        "clientInfo": {"name": "probe", "version": "0"},
    });
    Call::post(&json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}))
}

impl<'a> Session<'a> {
    /// A client of this revision that can do nothing special.
    pub(crate) async fn open(site: &'a Site, revision: &'static str) -> Self {
        Self::start(site, revision, &json!({}), None).await
    }

    /// The same with capabilities, in the last legacy revision.
    pub(crate) async fn able(site: &'a Site, capabilities: &Value) -> Self {
        Self::start(site, "2025-11-25", capabilities, None).await
    }

    /// The same in the name of a principal.
    pub(crate) async fn by(site: &'a Site, principal: &'static str) -> Self {
        Self::start(site, "2025-11-25", &json!({}), Some(principal)).await
    }

    /// The same with everything chosen.
    pub(crate) async fn start(
        site: &'a Site,
        revision: &'static str,
        capabilities: &Value,
        by: Option<&'static str>,
    ) -> Self {
        let call = initialize(revision, capabilities);
        let reply = site.send(by.into_iter().fold(call, Call::by)).await;
        let id = reply.header("mcp-session-id").unwrap().to_owned();
        assert_eq!(reply.result().await["protocolVersion"], revision);
        let session = Self { site, id, revision, by };
        session
            .send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))
            .await
            .must_be_empty(202)
            .await;
        session
    }

    /// A call of another kind, made one of this session.
    pub(crate) fn within(&self, call: Call) -> Call {
        let call =
            call.header("mcp-session-id", &self.id).header("mcp-protocol-version", self.revision);
        self.by.into_iter().fold(call, Call::by)
    }

    /// Posts any message.
    pub(crate) async fn send(&self, message: &Value) -> Reply {
        self.site.send(self.within(Call::post(message))).await
    }

    /// Posts a request with the id 1.
    pub(crate) async fn request(&self, method: &str, params: &Value) -> Reply {
        self.send(&json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})).await
    }

    /// Calls a tool that needs no arguments and wants to know how far it is.
    pub(crate) async fn call(&self, name: &str) -> Reply {
        self.request("tools/call", &json!({"name": name, "_meta": {"progressToken": "t"}})).await
    }

    /// Takes the request with the id 1 back.
    pub(crate) async fn cancel(&self) {
        let params = json!({"requestId": 1, "reason": "changed my mind"});
        self.send(
            &json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}),
        )
        .await
        .must_be_empty(202)
        .await;
    }

    /// Answers a question of the server.
    pub(crate) async fn answer(&self, question: &Value, result: &Value) {
        self.send(&json!({"jsonrpc": "2.0", "id": question["id"], "result": result}))
            .await
            .must_be_empty(202)
            .await;
    }

    /// Opens the session's own stream, or another that broke off after an event.
    pub(crate) async fn get(&self, last_event: Option<&str>) -> Reply {
        let call = Call::bare(Method::GET).header(ACCEPT, "text/event-stream");
        let call = last_event.into_iter().fold(call, |call, id| call.header("last-event-id", id));
        self.site.send(self.within(call)).await
    }

    /// Ends the session.
    pub(crate) async fn delete(&self) -> Reply {
        self.site.send(self.within(Call::bare(Method::DELETE))).await
    }
}
