//! The hints of a call, requested before the call.

use std::panic::Location;

use candor_hints::Hints;
use candor_protocol::json::Object;
use candor_protocol::names::{extension, method};
use candor_protocol::rpc::ErrorObject;
use candor_protocol::types::{Tool, ToolAnnotationsResult};
use serde::Serialize;
use serde_json::json;

use super::client::{Spot, TestClient};
use super::requests::{named, refused};
use candor_engine::tool::declared_hints;

impl TestClient {
    /// Returns the hints of a call with these arguments. Nothing runs.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// # use candor_server::{Server, tool::{JsonTool, ToolError}};
    /// # use candor_hints::{Hints, EffectRow, EffectTable, Condition};
    /// # use serde_json::json;
    /// # let table = EffectTable::new().row(EffectRow::when("action", Condition::equals("read")).then(Hints::READS));
    /// # let files = JsonTool::open("files", |_, _| async { Ok::<_, ToolError>("") }).effects(table);
    /// # let client = Server::new("files", "1.0.0").tool(files).test();
    /// assert!(client.hints("files", json!({"action": "read"})).await.is_read_only());
    /// assert!(client.hints("files", json!({"action": "delete"})).await.is_destructive());
    /// # }
    /// ```
    ///
    /// # Panics
    /// If the answer is an error: the arguments are invalid, or no tool of the server has hints beyond its annotations. For an
    /// unknown tool, the message lists the known ones.
    #[track_caller]
    pub fn hints(&self, tool: &str, arguments: impl Serialize) -> impl Future<Output = Hints> {
        let at = Location::caller();
        self.expected_hints(tool, named(method::TOOLS_ANNOTATIONS, tool, &arguments, at), at)
    }

    /// Returns the hints of a call, or the protocol error, for tests that expect an error.
    #[track_caller]
    pub fn try_hints(
        &self,
        tool: &str,
        arguments: impl Serialize,
    ) -> impl Future<Output = Result<Hints, ErrorObject>> {
        let at = Location::caller();
        let params = named(method::TOOLS_ANNOTATIONS, tool, &arguments, at);
        self.asked_hints(params, at)
    }

    /// Returns the hints of a call with only some of its arguments: the worst case that is still possible.
    ///
    /// # Panics
    /// Like [`TestClient::hints`].
    #[track_caller]
    pub fn hints_of_partial(
        &self,
        tool: &str,
        arguments: impl Serialize,
    ) -> impl Future<Output = Hints> {
        let at = Location::caller();
        let params = named(method::TOOLS_ANNOTATIONS, tool, &arguments, at);
        let partial = json!({extension::DYNAMIC_ANNOTATIONS: {"partial": true}});
        self.expected_hints(tool, params.with("_meta", &partial), at)
    }

    pub(super) async fn expected_hints(&self, tool: &str, params: Object, at: Spot) -> Hints {
        match self.asked_hints(params, at).await {
            Ok(hints) => hints,
            Err(error) => {
                let tools: Vec<Tool> =
                    self.pages(method::TOOLS_LIST, "tools", at).await.unwrap_or_default();
                let names = tools.into_iter().map(|tool| tool.name);
                refused("tool", tool, method::TOOLS_ANNOTATIONS, names, &self.explain(&error), at)
            }
        }
    }

    async fn asked_hints(&self, params: Object, at: Spot) -> Result<Hints, ErrorObject> {
        // Unlike a call, this request requires arguments, even if there are none.
        let params = match params.get("arguments") {
            Some(_) => params,
            None => params.with("arguments", &json!({})),
        };
        let result: ToolAnnotationsResult =
            self.answer(method::TOOLS_ANNOTATIONS, params, at).await?;
        let declared = declared_hints(&result.annotations, result.meta.as_ref());
        Ok(declared.effective().hints)
    }
}
