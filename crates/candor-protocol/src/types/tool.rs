//! Tools: definitions, calls and results.

use super::common::Icon;
use super::content::Content;
use crate::json::{Object, RawValue};
use crate::message::message;

message! {
    /// A tool definition. Schemas are kept as the text in which they were given.
    ///
    /// A definition can be created from its JSON. An error names the JSON Pointer of the wrong member.
    ///
    /// ```
    /// use candor_protocol::types::Tool;
    /// use serde_json::json;
    ///
    /// let tool = Tool::try_from(json!({"name": "ping", "inputSchema": {"type": "object"}}))?;
    /// assert_eq!(tool.name, "ping");
    /// let error = Tool::try_from(json!({"name": "ping", "inputSchema": {}, "icons": [{}]})).unwrap_err();
    /// assert_eq!(error.to_string(), r#"/icons/0 is missing "src""#);
    /// let error = r#"{"name" "ping"}"#.parse::<Tool>().unwrap_err();
    /// assert_eq!(error.to_string(), "the value cannot be read: not JSON at byte 8: expected ':'");
    /// # Ok::<(), candor_protocol::json::Malformed>(())
    /// ```
    pub struct Tool {
        /// Unique name.
        required name: String = "name",
        /// JSON Schema of the arguments; its root is an object.
        required input_schema: Box<RawValue> = "inputSchema",
        /// Display name.
        optional title: String = "title",
        /// What it does, for models and users.
        optional description: String = "description",
        /// JSON Schema of the structured result.
        optional output_schema: Box<RawValue> = "outputSchema",
        /// What a call may do, in the worst case.
        optional annotations: ToolAnnotations = "annotations",
        /// Whether `tools/annotations` says more about a call than `annotations` does.
        optional dynamic_annotations: bool = "dynamicAnnotations",
        /// Icons.
        optional icons: Vec<Icon> = "icons",
        /// Metadata.
        optional meta: Object = "_meta",
    }

    /// Hints as they were sent. An absent hint is not the safe one.
    pub struct ToolAnnotations {
        /// Display name.
        optional title: String = "title",
        /// The tool changes nothing.
        optional read_only_hint: bool = "readOnlyHint",
        /// A change may be more than an addition.
        optional destructive_hint: bool = "destructiveHint",
        /// Repeating the call has no further effect.
        optional idempotent_hint: bool = "idempotentHint",
        /// A call can reach systems outside the server.
        optional open_world_hint: bool = "openWorldHint",
    }

    /// Parameters of `tools/call`.
    pub struct CallToolParams {
        /// The tool.
        required name: String = "name",
        /// The arguments, an object; absent means none.
        optional arguments: Box<RawValue> = "arguments",
        /// Answers to an earlier round's questions.
        optional input_responses: Box<RawValue> = "inputResponses",
        /// Opaque state from the earlier round.
        optional request_state: String = "requestState",
        /// Metadata of the request.
        optional meta: Object = "_meta",
    }

    /// The result of a call.
    pub struct CallToolResult {
        /// Content for models and users.
        required content: Vec<Content> = "content",
        /// The structured result, for programs.
        optional structured_content: Box<RawValue> = "structuredContent",
        /// Whether the tool failed.
        optional is_error: bool = "isError",
        /// Metadata.
        optional meta: Object = "_meta",
    }

    /// Parameters of `tools/annotations` and of `tools/resolve`.
    pub struct ToolAnnotationsParams {
        /// The tool.
        required name: String = "name",
        /// The arguments of the call to evaluate, an object.
        required arguments: Box<RawValue> = "arguments",
        /// Metadata of the request.
        optional meta: Object = "_meta",
    }

    /// What a call with these arguments may do.
    pub struct ToolAnnotationsResult {
        /// The hints, for these arguments.
        required annotations: ToolAnnotations = "annotations",
        /// Metadata.
        optional meta: Object = "_meta",
    }

    /// What a call may do, in the form of the tool resolution extension.
    pub struct ResolveToolResult {
        /// The tool of the call.
        required name: String = "name",
        /// Exactly four hints, for these arguments.
        required annotations: ToolAnnotations = "annotations",
        /// Metadata.
        optional meta: Object = "_meta",
    }

    /// A page of tools.
    pub struct ListToolsResult {
        /// The tools.
        required tools: Vec<Tool> = "tools",
        /// Where the next page begins.
        optional next_cursor: String = "nextCursor",
        /// Metadata.
        optional meta: Object = "_meta",
    }
}
