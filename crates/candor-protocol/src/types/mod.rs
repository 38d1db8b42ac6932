//! The messages of MCP, one file per subject.

mod common;
mod completion;
mod content;
mod elicitation;
mod input;
mod lifecycle;
mod notices;
mod nulls;
mod prompt;
mod resource;
mod roots;
mod sampling;
mod subscription;
mod tool;

pub use common::{Annotations, Icon, Implementation, LogLevel, PageParams, Role};
pub use completion::{
    CompleteArgument, CompleteContext, CompleteParams, CompleteReference, CompleteResult,
    Completion,
};
pub use content::{
    AudioContent, Content, EmbeddedResource, ImageContent, ResourceLink, TextContent,
    ToolResultContent, ToolUseContent,
};
pub use elicitation::{ElicitAction, ElicitForm, ElicitResult, ElicitUrl};
pub use input::{InputRequest, InputRequired};
pub use lifecycle::{
    ClientCapabilities, DiscoverResult, ElicitationCapability, InitializeParams, InitializeResult,
    ListCapability, ResourcesCapability, SamplingCapability, ServerCapabilities, ToolsCapability,
};
pub use notices::{CancelledParams, LogParams, ProgressParams, SetLevelParams};
pub use prompt::{
    GetPromptParams, GetPromptResult, ListPromptsResult, Prompt, PromptArgument, PromptMessage,
};
pub use resource::{
    ListResourcesParams, ListResourcesResult, ListTemplatesResult, ReadResourceResult, Resource,
    ResourceCapabilities, ResourceContents, ResourceMetadataResult, ResourceTemplate,
    ResourceUriParams,
};
pub use roots::{ListRootsResult, Root};
pub use sampling::{
    CreateMessageParams, CreateMessageResult, ModelHint, ModelPreferences, SamplingContent,
    SamplingMessage, ToolChoice,
};
pub use subscription::{AcknowledgedParams, ListenParams, SubscriptionFilter};
pub use tool::{
    CallToolParams, CallToolResult, ListToolsResult, ResolveToolResult, Tool, ToolAnnotations,
    ToolAnnotationsParams, ToolAnnotationsResult,
};
