//! Prompts in lists, and filled in.

use std::collections::BTreeMap;

use super::common::{Icon, Role};
use super::content::Content;
use crate::json::{Object, RawValue};
use crate::message::message;

message! {
    /// A prompt in a list.
    pub struct Prompt {
        /// Unique name.
        required name: String = "name",
        /// Display name.
        optional title: String = "title",
        /// What it is for.
        optional description: String = "description",
        /// Arguments that a client can fill in.
        optional arguments: Vec<PromptArgument> = "arguments",
        /// Icons.
        optional icons: Vec<Icon> = "icons",
        /// Metadata.
        optional meta: Object = "_meta",
    }

    /// Arguments that a client can fill in.
    pub struct PromptArgument {
        /// Its name.
        required name: String = "name",
        /// Display name.
        optional title: String = "title",
        /// What it is for.
        optional description: String = "description",
        /// Whether it is required.
        optional required: bool = "required",
    }

    /// Parameters of `prompts/get`.
    pub struct GetPromptParams {
        /// The prompt.
        required name: String = "name",
        /// The arguments.
        optional arguments: BTreeMap<String, String> = "arguments",
        /// Answers to an earlier round's questions.
        optional input_responses: Box<RawValue> = "inputResponses",
        /// Opaque state from the earlier round.
        optional request_state: String = "requestState",
        /// Metadata.
        optional meta: Object = "_meta",
    }

    /// A prompt, filled in.
    pub struct GetPromptResult {
        /// The conversation to begin with.
        required messages: Vec<PromptMessage> = "messages",
        /// What it is for.
        optional description: String = "description",
        /// Metadata.
        optional meta: Object = "_meta",
    }

    /// One turn.
    pub struct PromptMessage {
        /// The speaker.
        required role: Role = "role",
        /// The content of the turn.
        required content: Content = "content",
    }

    /// A page of prompts.
    pub struct ListPromptsResult {
        /// The prompts.
        required prompts: Vec<Prompt> = "prompts",
        /// Where the next page begins.
        optional next_cursor: String = "nextCursor",
        /// Metadata.
        optional meta: Object = "_meta",
    }
}

impl PromptMessage {
    /// Creates a turn of the user.
    pub fn user(content: impl Into<Content>) -> Self {
        Self::new(Role::User, content)
    }

    /// Creates a turn of the model.
    pub fn assistant(content: impl Into<Content>) -> Self {
        Self::new(Role::Assistant, content)
    }
}
