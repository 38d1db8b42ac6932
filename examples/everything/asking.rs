//! Tools that ask the user, the model or the client. Each is written once and works in both eras.

use std::sync::Arc;

use candor::prelude::*;
use candor::tool::Tool;
use serde_json::Value;

use crate::{shown, simple};

pub(crate) fn tools() -> Vec<Arc<dyn Tool>> {
    let mut tools = vec![test_sampling(), test_elicitation()];
    tools.extend(forms());
    tools.extend(rounds());
    tools
}

fn one_text(name: &str, description: &str) -> Value {
    json!({"type": "object", "properties": {name: {"type": "string", "description": description}}, "required": [name]})
}

fn test_sampling() -> Arc<dyn Tool> {
    let schema = one_text("prompt", "What to ask the model");
    let tool = JsonTool::new("test_sampling", &schema, |args, ctx| async move {
        let prompt = args["prompt"].as_str().unwrap_or_default();
        let said = ctx.sample(Sample::new(prompt, 100)).await?;
        Ok(format!("LLM response: {}", said.content.text()))
    });
    shown(tool.description("Asks the model"))
}

fn test_elicitation() -> Arc<dyn Tool> {
    let schema = one_text("message", "What to ask the person");
    let tool = JsonTool::new("test_elicitation", &schema, |args, ctx| async move {
        let message = args["message"].as_str().unwrap_or_default();
        let form = json!({
            "type": "object",
            "properties": {
                "username": {"type": "string", "description": "User's response"},
                "email": {"type": "string", "description": "User's email address"},
            },
            "required": ["username", "email"],
        });
        Ok(format!("User response: {}", summary(&ctx.elicit(Elicit::form(message, &form)).await?)))
    });
    shown(tool.description("Asks the person"))
}

fn summary(answer: &ElicitAnswer) -> String {
    let content = answer.accepted().map_or_else(|| "{}".to_owned(), Value::to_string);
    format!("action={}, content={content}", answer.action())
}

fn forms() -> Vec<Arc<dyn Tool>> {
    let ask = |ctx: Ctx, form: Value| async move {
        let answer = ctx.elicit(Elicit::form("Please check these values", &form)).await?;
        Ok::<_, ToolError>(format!("Elicitation completed: {}", summary(&answer)))
    };
    let defaults = json!({
        "type": "object",
        "properties": {
            "name": {"type": "string", "description": "User name", "default": "John Doe"},
            "age": {"type": "integer", "description": "User age", "default": 30},
            "score": {"type": "number", "description": "User score", "default": 95.5},
            "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
            "verified": {"type": "boolean", "description": "Verification status", "default": true},
        },
        "required": [],
    });
    let titled = |first: &str| {
        json!([
            {"const": "value1", "title": format!("First {first}")},
            {"const": "value2", "title": format!("Second {first}")},
            {"const": "value3", "title": format!("Third {first}")},
        ])
    };
    let enums = json!({
        "type": "object",
        "properties": {
            "untitledSingle": {"type": "string", "enum": ["option1", "option2", "option3"]},
            "titledSingle": {"type": "string", "oneOf": titled("Option")},
            "legacyEnum": {"type": "string", "enum": ["opt1", "opt2", "opt3"], "enumNames": ["Option One", "Option Two", "Option Three"]},
            "untitledMulti": {"type": "array", "items": {"type": "string", "enum": ["option1", "option2", "option3"]}},
            "titledMulti": {"type": "array", "items": {"anyOf": titled("Choice")}},
        },
        "required": [],
    });
    vec![
        simple("test_elicitation_sep1034_defaults", "Asks with default values", move |ctx| {
            ask(ctx, defaults.clone())
        }),
        simple("test_elicitation_sep1330_enums", "Asks with every kind of choice", move |ctx| {
            ask(ctx, enums.clone())
        }),
    ]
}

/// Asks for one value under a key.
async fn ask(
    ctx: &Ctx,
    key: &str,
    message: &str,
    property: &str,
    kind: &str,
) -> Result<ElicitAnswer, ToolError> {
    let form =
        json!({"type": "object", "properties": {property: {"type": kind}}, "required": [property]});
    Ok(ctx.elicit(Elicit::form(message, &form).key(key)).await?)
}

fn text<'a>(answer: &'a ElicitAnswer, property: &str) -> &'a str {
    answer.accepted().and_then(|content| content[property].as_str()).unwrap_or("stranger")
}

/// Round trips of the modern era.
fn rounds() -> Vec<Arc<dyn Tool>> {
    vec![
        simple("test_input_required_result_elicitation", "Asks for a name", |ctx| async move {
            let answer = ask(&ctx, "user_name", "What is your name?", "name", "string").await?;
            Ok(format!("Hello, {}!", text(&answer, "name")))
        }),
        simple(
            "test_input_required_result_sampling",
            "Asks the model for a capital",
            |ctx| async move {
                let said = ctx
                    .sample(
                        Sample::new("What is the capital of France?", 100).key("capital_question"),
                    )
                    .await?;
                Ok(said.content.text())
            },
        ),
        simple(
            "test_input_required_result_list_roots",
            "Asks for the client's folders",
            |ctx| async move {
                let roots: Vec<String> =
                    ctx.roots().await?.into_iter().map(|root| root.uri).collect();
                Ok(format!("Roots: {}", roots.join(", ")))
            },
        ),
        simple(
            "test_input_required_result_request_state",
            "Asks for a confirmation",
            |ctx| async move {
                ask(&ctx, "confirm", "Please confirm", "ok", "boolean").await?;
                // Getting here means that the state came back unchanged.
                Ok("state-ok")
            },
        ),
        simple(
            "test_input_required_result_tampered_state",
            "Asks for a confirmation",
            |ctx| async move {
                ask(&ctx, "confirm", "Please confirm", "ok", "boolean").await?;
                Ok("Confirmed.")
            },
        ),
        simple(
            "test_input_required_result_multiple_inputs",
            "Asks three questions at once",
            |ctx| async move {
                let greeting = Sample::new("Generate a greeting", 50).key("greeting");
                let (name, greeting, roots) = tokio::join!(
                    ask(&ctx, "user_name", "What is your name?", "name", "string"),
                    ctx.sample(greeting),
                    ctx.roots(),
                );
                let (name, greeting, roots) = (name?, greeting?, roots?);
                Ok(format!(
                    "{} {} ({} roots)",
                    greeting.content.text(),
                    text(&name, "name"),
                    roots.len()
                ))
            },
        ),
        simple(
            "test_input_required_result_multi_round",
            "Asks one question after another",
            |ctx| async move {
                let name =
                    ask(&ctx, "step1", "Step 1: What is your name?", "name", "string").await?;
                let color =
                    ask(&ctx, "step2", "Step 2: What is your favorite color?", "color", "string")
                        .await?;
                Ok(format!("{} likes {}.", text(&name, "name"), text(&color, "color")))
            },
        ),
        simple(
            "test_input_required_result_capabilities",
            "Asks only what the client can answer",
            |ctx| async move {
                if ctx.client().can_elicit() {
                    let answer =
                        ask(&ctx, "user_name", "What is your name?", "name", "string").await?;
                    return Ok(format!("Hello, {}!", text(&answer, "name")));
                }
                let said =
                    ctx.sample(Sample::new("Generate a greeting", 50).key("greeting")).await?;
                Ok(said.content.text())
            },
        ),
        simple(
            "test_missing_capability",
            "Needs a client that can ask its model",
            |ctx| async move { Ok(ctx.sample(Sample::new("Hello", 10)).await?.content.text()) },
        ),
        simple(
            "test_streaming_elicitation",
            "Asks after it has said something",
            |ctx| async move {
                ctx.progress(0, 1, "about to ask").await;
                let answer = ask(&ctx, "user_name", "What is your name?", "name", "string").await?;
                Ok(format!("Hello, {}!", text(&answer, "name")))
            },
        ),
    ]
}
