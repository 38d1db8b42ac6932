//! The host of the client: a user, a model and folders, which answer as the story says. It also receives the
//! server's notifications.

#![allow(deprecated, reason = "the model and the folders are deprecated, and still to be served")]

use std::sync::Mutex;

use rmcp::ClientHandler;
use rmcp::model::{
    ClientCapabilities, ClientConfig, CreateMessageRequestParams, CreateMessageResult,
    ElicitRequestParams, ElicitResult, ErrorData, Implementation, ListRootsResult,
    ProgressNotificationParam, ResourceUpdatedNotificationParam,
};
use rmcp::service::{NotificationContext, RequestContext, RoleClient};
use serde_json::{Value, json};
use tokio::sync::mpsc::UnboundedSender;

pub(crate) struct Host {
    pub(crate) story: Value,
    /// The server's questions to the user in the current check.
    pub(crate) asked: Mutex<Vec<Value>>,
    /// Progress. The SDK requests it for every call, and delivers all of it in one place.
    pub(crate) progress: UnboundedSender<Value>,
    /// Changes in the legacy era. In the modern era, they arrive through a subscription.
    pub(crate) changes: UnboundedSender<Change>,
}

/// A change that the server reports.
#[derive(Debug, PartialEq)]
pub(crate) enum Change {
    Tools,
    Resource(String),
}

impl Host {
    fn known(&self, who: &str, question: &str) -> Result<&Value, ErrorData> {
        let unknown =
            || ErrorData::invalid_params(format!("the story has no answer to {question:?}"), None);
        self.story[who].get(question).ok_or_else(unknown)
    }
}

/// Converts the story's JSON into a type of the SDK.
fn typed<T: serde::de::DeserializeOwned>(value: Value) -> Result<T, ErrorData> {
    serde_json::from_value(value).map_err(|e| ErrorData::internal_error(e.to_string(), None))
}

impl ClientHandler for Host {
    fn get_info(&self) -> ClientConfig {
        // The SDK has a builder for these only if its server is enabled.
        let mut capabilities = ClientCapabilities::default();
        capabilities.elicitation = Some(Default::default());
        capabilities.sampling = Some(Default::default());
        capabilities.roots = Some(Default::default());
        ClientConfig::new(capabilities, Implementation::new("candor-interop", "1.0.0"))
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        _context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let ElicitRequestParams::FormElicitationParams { message, requested_schema, .. } = request
        else {
            return Err(ErrorData::invalid_params("the story has no pages", None));
        };
        let answer = self.known("person", &message)?.clone();
        let question = json!({"message": message, "requestedSchema": requested_schema});
        self.asked.lock().expect("no holder of this lock panics").push(question);
        typed(answer)
    }

    async fn create_message(
        &self,
        request: CreateMessageRequestParams,
        _context: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        let request = json!(request);
        let question = request["messages"][0]["content"]["text"].as_str().unwrap_or_default();
        let text = self.known("model", question)?;
        typed(json!({
            "role": "assistant",
            "model": "story",
            "content": {"type": "text", "text": text},
        }))
    }

    async fn list_roots(
        &self,
        _context: RequestContext<RoleClient>,
    ) -> Result<ListRootsResult, ErrorData> {
        typed(json!({"roots": self.story["folders"]}))
    }

    async fn on_progress(
        &self,
        params: ProgressNotificationParam,
        _context: NotificationContext<RoleClient>,
    ) {
        let mut said = json!(params);
        said.as_object_mut().expect("parameters are an object").remove("progressToken");
        // The receiver is gone after the end of the story.
        self.progress.send(said).ok();
    }

    async fn on_tool_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.changes.send(Change::Tools).ok();
    }

    async fn on_resource_updated(
        &self,
        params: ResourceUpdatedNotificationParam,
        _context: NotificationContext<RoleClient>,
    ) {
        self.changes.send(Change::Resource(params.uri)).ok();
    }
}
