//! Prompts of every kind.

use std::sync::Arc;

use candor::prelude::*;
use candor::prompt::PromptSet;
use candor::tool::{Provider, provider_fn};

use crate::changing::Switch;
use crate::content;

pub(crate) fn provider(switch: Switch) -> impl Provider<PromptSet> {
    let set = |more: Vec<Prompt>| {
        let prompts = usual().into_iter().chain(more);
        Arc::new(PromptSet::new(prompts).expect("prompts with names of their own"))
    };
    let (usual, more) = (set(Vec::new()), set(prompts![test_extra_prompt]));
    provider_fn(move |_| Ok(if switch.prompts_changed() { more.clone() } else { usual.clone() }))
}

fn usual() -> Vec<Prompt> {
    prompts![
        test_simple_prompt,
        test_prompt_with_arguments,
        test_prompt_with_embedded_resource,
        test_prompt_with_image,
        test_input_required_result_prompt,
    ]
}

/// A prompt without arguments
#[prompt]
fn test_simple_prompt() -> &'static str {
    "This is a simple prompt for testing."
}

/// A prompt with two arguments
#[prompt]
fn test_prompt_with_arguments(
    /// First test argument
    arg1: String,
    /// Second test argument
    arg2: String,
) -> String {
    format!("Prompt with arguments: arg1='{arg1}', arg2='{arg2}'")
}

/// A prompt with a resource in it
#[prompt]
fn test_prompt_with_embedded_resource(
    /// URI of the resource to embed
    #[serde(rename = "resourceUri")]
    uri: String,
) -> Vec<Content> {
    let resource = content::embedded(&uri, "text/plain", "Embedded resource content for testing.");
    vec![resource, Content::text("Please process the embedded resource above.")]
}

/// A prompt with an image in it
#[prompt]
fn test_prompt_with_image() -> Vec<Content> {
    vec![content::image(), Content::text("Please analyze the image above.")]
}

/// A prompt that asks before it is filled in
#[prompt]
async fn test_input_required_result_prompt(ctx: Ctx) -> Result<String, ToolError> {
    let form = json!({"type": "object", "properties": {"context": {"type": "string"}}, "required": ["context"]});
    let question = Elicit::form("What context should the prompt use?", &form).key("user_context");
    let answer = ctx.elicit(question).await?;
    let context =
        answer.accepted().and_then(|content| content["context"].as_str()).unwrap_or("nothing");
    Ok(format!("Use this context: {context}"))
}

/// Is there only now and then
#[prompt]
fn test_extra_prompt() -> &'static str {
    "Here I am."
}
