//! What stands behind the client: a person, a model, folders. They answer as the story says. And
//! an ear for what the server tells without being asked.

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
    /// The person's questions of the check that runs.
    pub(crate) asked: Mutex<Vec<Value>>,
    /// The SDK asks for the progress of every call, and shows it in one place.
    pub(crate) progress: UnboundedSender<Value>,
    /// Changes of the legacy era; those of the modern one come with their subscription.
    pub(crate) changes: UnboundedSender<Change>,
}

/// What the server tells about.
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

/// The story's JSON as what the SDK wants.
fn typed<T: serde::de::DeserializeOwned>(value: Value) -> Result<T, ErrorData> {
    serde_json::from_value(value).map_err(|e| ErrorData::internal_error(e.to_string(), None))
}

impl ClientHandler for Host {
    fn get_info(&self) -> ClientConfig {
        // The SDK has a builder for these, but only together with its server.
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
        // Nobody listens any more once the story is over.
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
