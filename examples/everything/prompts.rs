//! Prompts of every kind.

use std::sync::Arc;

use candor::prelude::*;
use candor::prompt::{self, PromptSet};
use candor::tool::{Provider, provider_fn};

use crate::changing::Switch;
use crate::content;

pub(crate) fn provider(switch: Switch) -> impl Provider<PromptSet> {
    let set = |more: bool| {
        let extra = more.then(|| {
            Prompt::new("test_extra_prompt", |_, _| async { Ok(prompt::user("Here I am.")) })
                .description("Is there only now and then")
        });
        Arc::new(
            PromptSet::new(usual().into_iter().chain(extra))
                .expect("prompts with names of their own"),
        )
    };
    let (usual, more) = (set(false), set(true));
    provider_fn(move |_| Ok(if switch.prompts_changed() { more.clone() } else { usual.clone() }))
}

fn usual() -> Vec<Prompt> {
    vec![
        Prompt::new("test_simple_prompt", |_, _| async { Ok(prompt::user("This is a simple prompt for testing.")) })
            .description("A prompt without arguments"),
        Prompt::new("test_prompt_with_arguments", |args, _| async move {
            Ok(prompt::user(format!("Prompt with arguments: arg1='{}', arg2='{}'", args["arg1"], args["arg2"])))
        })
        .description("A prompt with two arguments")
        .argument("arg1", "First test argument", true)
        .argument("arg2", "Second test argument", true),
        Prompt::new("test_prompt_with_embedded_resource", |args, _| async move {
            let resource = content::embedded(&args["resourceUri"], "text/plain", "Embedded resource content for testing.");
            let mut result = prompt::user(resource);
            result.messages.extend(prompt::user("Please process the embedded resource above.").messages);
            Ok(result)
        })
        .description("A prompt with a resource in it")
        .argument("resourceUri", "URI of the resource to embed", true),
        Prompt::new("test_prompt_with_image", |_, _| async {
            let mut result = prompt::user(content::image());
            result.messages.extend(prompt::user("Please analyze the image above.").messages);
            Ok(result)
        })
        .description("A prompt with an image in it"),
        Prompt::new("test_input_required_result_prompt", |_, ctx| async move {
            let form = json!({"type": "object", "properties": {"context": {"type": "string"}}, "required": ["context"]});
            let question = Elicit::form("What context should the prompt use?", &form).key("user_context");
            let answer = ctx.elicit(question).await?;
            let context = answer.accepted().and_then(|content| content["context"].as_str()).unwrap_or("nothing");
            Ok(prompt::user(format!("Use this context: {context}")))
        })
        .description("A prompt that asks before it is filled in"),
    ]
}
