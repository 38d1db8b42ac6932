//! Requests to the client's model.

use serde::{Serialize, Serializer};

use super::common::Role;
use super::content::Content;
use super::tool::Tool;
use crate::json::{Decode, Json, Malformed, Number, Object};
use crate::message::message;

message! {
    /// Parameters of `sampling/createMessage`.
    pub struct CreateMessageParams {
        /// The conversation so far.
        required messages: Vec<SamplingMessage> = "messages",
        /// Maximum number of tokens.
        required max_tokens: Number = "maxTokens",
        /// The system prompt.
        optional system_prompt: String = "systemPrompt",
        /// The preferred model.
        optional model_preferences: ModelPreferences = "modelPreferences",
        /// How much of the context the client adds.
        optional include_context: String = "includeContext",
        /// Randomness.
        optional temperature: Number = "temperature",
        /// Where to stop.
        optional stop_sequences: Vec<String> = "stopSequences",
        /// Metadata for the model provider.
        optional metadata: Object = "metadata",
        /// Tools that the model may use.
        optional tools: Vec<Tool> = "tools",
        /// Whether the model must use a tool.
        optional tool_choice: ToolChoice = "toolChoice",
        /// Metadata.
        optional meta: Object = "_meta",
    }

    /// One turn.
    pub struct SamplingMessage {
        /// The speaker.
        required role: Role = "role",
        /// The content of the turn.
        required content: SamplingContent = "content",
        /// Metadata.
        optional meta: Object = "_meta",
    }

    /// The preferred model.
    pub struct ModelPreferences {
        /// Names, best first.
        optional hints: Vec<ModelHint> = "hints",
        /// From 0 to 1.
        optional cost_priority: Number = "costPriority",
        /// From 0 to 1.
        optional speed_priority: Number = "speedPriority",
        /// From 0 to 1.
        optional intelligence_priority: Number = "intelligencePriority",
    }

    /// A model's name, or part of it.
    pub struct ModelHint {
        /// The name.
        optional name: String = "name",
    }

    /// Whether the model must use a tool.
    pub struct ToolChoice {
        /// `auto`, `required` or `none`.
        optional mode: String = "mode",
    }

    /// The model's response.
    pub struct CreateMessageResult {
        /// The speaker.
        required role: Role = "role",
        /// The content of the response.
        required content: SamplingContent = "content",
        /// The model that was used.
        required model: String = "model",
        /// Why the model stopped.
        optional stop_reason: String = "stopReason",
        /// Metadata.
        optional meta: Object = "_meta",
    }
}

/// The content of a turn: one block or several. The form that was sent is kept.
#[derive(Debug, Clone)]
#[allow(clippy::large_enum_variant)] // one block is the usual case
pub enum SamplingContent {
    /// One block.
    One(Content),
    /// Several blocks.
    Many(Vec<Content>),
}

impl SamplingContent {
    /// Returns the blocks.
    #[must_use]
    pub fn blocks(&self) -> &[Content] {
        match self {
            Self::One(block) => std::slice::from_ref(block),
            Self::Many(blocks) => blocks,
        }
    }

    /// Returns all text, joined.
    #[must_use]
    pub fn text(&self) -> String {
        self.blocks().iter().filter_map(Content::as_text).collect()
    }
}

impl From<Content> for SamplingContent {
    fn from(block: Content) -> Self {
        Self::One(block)
    }
}

impl Decode for SamplingContent {
    fn decode(json: Json<'_>) -> Result<Self, Malformed> {
        if json.text().starts_with('[') {
            Vec::decode(json).map(Self::Many)
        } else {
            Content::decode(json).map(Self::One)
        }
    }
}

impl Serialize for SamplingContent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::One(block) => block.serialize(serializer),
            Self::Many(blocks) => blocks.serialize(serializer),
        }
    }
}
