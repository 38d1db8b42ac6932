//! A tool's preview of a call. The preview is a call, too.

use std::sync::Arc;

use candor_protocol::names::argument;
use candor_protocol::types::Content;
use serde_json::Value;

use crate::call::Call;
use crate::client::Client;
use crate::error::{Error, RefusalSource};
use crate::result::CallResult;
use crate::tools::KnownTool;

/// The result of a tool's preview.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Preview {
    /// The content, block by block. Blocks for models are left out: they say how to continue, and contain the token, which is not
    /// for users.
    pub content: Vec<Content>,
    /// The token to send with the call; see [`Call::plan_token`].
    pub plan_token: Option<String>,
}

impl Preview {
    fn of(shown: &CallResult) -> Self {
        let plan_token = shown.plan_token();
        let for_models = |block: &Content| match (&plan_token, block.as_text()) {
            (Some(token), Some(text)) => text.contains(token),
            _ => false,
        };
        let told = shown.content().iter().filter(|block| !for_models(block));
        Self { content: told.cloned().collect(), plan_token }
    }

    /// Returns all its text.
    #[must_use]
    pub fn text(&self) -> String {
        let texts: Vec<&str> = self.content.iter().filter_map(Content::as_text).collect();
        texts.join("\n")
    }
}

impl Client {
    /// Runs the tool's preview of a call; returns `None` if the tool has none. The preview is a call, too. It runs only if the host
    /// may assume that it just reads; otherwise it is [refused](Error::Refused). The call's key and plan token are not sent with
    /// it.
    ///
    /// ```no_run
    /// use candor_client::Client;
    /// use serde_json::json;
    ///
    /// # async fn example(client: &Client) -> Result<(), candor_client::Error> {
    /// let arguments = json!({"table": "users"});
    /// if let Some(preview) = client.preview("drop_table", &arguments).await? {
    ///     println!("{}", preview.text());   // Would drop users with 3 rows.
    /// }
    /// # Ok(()) }
    /// ```
    pub async fn preview(&self, tool: &str, arguments: &Value) -> Result<Option<Preview>, Error> {
        let tool = self.tool(tool).await?;
        self.preview_of(&tool, arguments).await
    }

    pub(crate) async fn preview_of(
        &self,
        tool: &Arc<KnownTool>,
        arguments: &Value,
    ) -> Result<Option<Preview>, Error> {
        let Some((name, _)) = tool.preview() else { return Ok(None) };
        let preview = self.tool(name).await?;
        let mut arguments = arguments.clone();
        if let Value::Object(arguments) = &mut arguments {
            arguments.remove(argument::IDEMPOTENCY_KEY);
            arguments.remove(argument::PLAN_TOKEN);
        }
        let hints = self.explain_tool(&preview, &arguments).await?.hints;
        if !hints.is_read_only() {
            return Err(Error::Refused(RefusalSource::Policy));
        }
        let call = Call::new(self, name.to_owned(), arguments);
        let shown = call.perform(Some(&preview), hints).await?;
        match shown.is_error() {
            false => Ok(Some(Preview::of(&shown))),
            true => Err(Error::PreviewFailed(Box::new(shown))),
        }
    }
}
