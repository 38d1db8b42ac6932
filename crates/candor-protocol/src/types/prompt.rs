//! Prompts: as they are listed and filled in.

use std::collections::BTreeMap;

use super::common::{Icon, Role};
use super::content::Content;
use crate::json::{Object, RawValue};
use crate::message::message;

message! {
    /// A prompt as it is listed.
    pub struct Prompt {
        /// Unique name.
        required name: String = "name",
        /// Name for people.
        optional title: String = "title",
        /// What it is for.
        optional description: String = "description",
        /// What can be filled in.
        optional arguments: Vec<PromptArgument> = "arguments",
        /// Pictures.
        optional icons: Vec<Icon> = "icons",
        /// Metadata.
        optional meta: Object = "_meta",
    }

    /// What can be filled in.
    pub struct PromptArgument {
        /// Its name.
        required name: String = "name",
        /// Name for people.
        optional title: String = "title",
        /// What it is for.
        optional description: String = "description",
        /// Whether it must be there.
        optional required: bool = "required",
    }

    /// Parameters of `prompts/get`.
    pub struct GetPromptParams {
        /// The prompt.
        required name: String = "name",
        /// What is filled in.
        optional arguments: BTreeMap<String, String> = "arguments",
        /// Answers to an earlier round's questions.
        optional input_responses: Box<RawValue> = "inputResponses",
        /// What the earlier round gave to bring back.
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
        /// Who speaks.
        required role: Role = "role",
        /// What is said.
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
    /// What the user says.
    pub fn user(content: impl Into<Content>) -> Self {
        Self::new(Role::User, content)
    }

    /// What the model says.
    pub fn assistant(content: impl Into<Content>) -> Self {
        Self::new(Role::Assistant, content)
    }
}
