//! The return types of prompts.

use std::borrow::Cow;

use candor_protocol::types::{
    AudioContent, Content, EmbeddedResource, GetPromptResult, ImageContent, PromptMessage,
    ResourceLink, TextContent,
};

/// What a prompt may return: text or content as a message of the user, messages, or a whole result.
///
/// ```
/// use candor_server::prompt::IntoPrompt;
/// use candor_server::protocol::types::PromptMessage;
///
/// let talk = vec![PromptMessage::user("What is a monad?"), PromptMessage::assistant("A burrito.")];
/// assert_eq!(talk.into_prompt().messages.len(), 2);
/// ```
#[diagnostic::on_unimplemented(
    message = "a prompt cannot return `{Self}`",
    label = "no message can be made of this",
    note = "return text, `Content`, a `PromptMessage`, a `Vec` of one of these, or a `Result`"
)]
pub trait IntoPrompt {
    /// Returns the messages of the prompt.
    fn into_prompt(self) -> GetPromptResult;
}

impl IntoPrompt for GetPromptResult {
    fn into_prompt(self) -> GetPromptResult {
        self
    }
}

impl IntoPrompt for PromptMessage {
    fn into_prompt(self) -> GetPromptResult {
        GetPromptResult::new(vec![self])
    }
}

impl IntoPrompt for Vec<PromptMessage> {
    fn into_prompt(self) -> GetPromptResult {
        GetPromptResult::new(self)
    }
}

impl<const N: usize> IntoPrompt for [PromptMessage; N] {
    fn into_prompt(self) -> GetPromptResult {
        GetPromptResult::new(self)
    }
}

impl IntoPrompt for Cow<'_, str> {
    fn into_prompt(self) -> GetPromptResult {
        self.into_owned().into_prompt()
    }
}

macro_rules! said_by_the_user {
    ($($type:ty)*) => {$(
        impl IntoPrompt for $type {
            fn into_prompt(self) -> GetPromptResult {
                PromptMessage::user(self).into_prompt()
            }
        }

        impl IntoPrompt for Vec<$type> {
            fn into_prompt(self) -> GetPromptResult {
                GetPromptResult::new(self.into_iter().map(PromptMessage::user).collect::<Vec<_>>())
            }
        }
    )*};
}
said_by_the_user! {
    String &str Content TextContent ImageContent AudioContent ResourceLink EmbeddedResource
}
