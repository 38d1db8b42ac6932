//! One check of `story.json`: the request and the expected result.

use rmcp::service::ServiceError;
use serde_json::{Map, Value, json};

use crate::Client;
use crate::check::{Checked, Mismatch, holds};

/// Runs the step and compares its result.
pub(crate) async fn follow(step: &Value, client: &mut Client, era: &str) -> Checked {
    client.asked();
    while client.progress.try_recv().is_ok() {}

    let answer = ask(step, client).await;
    if let Some(fails) = step.get("fails") {
        let Err(Failure::Sdk(ServiceError::McpError(error))) = answer else {
            return Err(Mismatch(format!("it did not fail as it should: {answer:?}")));
        };
        equal(&json!(error.code), &fails["code"][era])?;
        return equal(&json!(error.message), &fails["message"]);
    }
    equal(&answer.map_err(Failure::into_mismatch)?, &step["gives"])?;

    let first = step.get("firstProgress").into_iter();
    for expected in step["progress"].as_array().into_iter().flatten().chain(first) {
        let said = client.progress.recv().await;
        equal(&json!(said), expected)?;
    }
    if step.get("progress").is_some() {
        holds(client.progress.try_recv().is_err(), "more progress than there should be")?;
    }
    if let Some(questions) = step.get("asks") {
        equal(&json!(client.asked()), questions)?;
    }
    Ok(())
}

/// Why there is no answer: the SDK failed, or the story is invalid.
#[derive(Debug)]
enum Failure {
    Sdk(ServiceError),
    Story(serde_json::Error),
}

impl From<ServiceError> for Failure {
    fn from(error: ServiceError) -> Self {
        Self::Sdk(error)
    }
}

impl From<serde_json::Error> for Failure {
    fn from(error: serde_json::Error) -> Self {
        Self::Story(error)
    }
}

impl Failure {
    fn into_mismatch(self) -> Mismatch {
        match self {
            Self::Sdk(error) => error.into(),
            Self::Story(error) => error.into(),
        }
    }
}

/// Sends the request of the step. Returns the part of the result that the check compares.
async fn ask(step: &Value, client: &Client) -> Result<Value, Failure> {
    let sdk = &client.sdk;
    let named = |name: &Value| present([("name", name), ("arguments", &step["arguments"])]);
    if let Some(kind) = step.get("list").and_then(Value::as_str) {
        let items = match kind {
            "tools" => json!(sdk.list_all_tools().await?),
            "resources" => json!(sdk.list_all_resources().await?),
            "resourceTemplates" => json!(sdk.list_all_resource_templates().await?),
            "prompts" => json!(sdk.list_all_prompts().await?),
            _ => Value::Null,
        };
        if kind == "resources" && step.get("each").is_none() {
            return Ok(expected_members(items, &step["gives"]));
        }
        return Ok(chosen(items, step));
    }
    if let Some(name) = step.get("call") {
        let result = sdk.call_tool(serde_json::from_value(named(name))?).await?;
        return Ok(some(&json!(result), &["content", "structuredContent", "isError"]));
    }
    if let Some(uri) = step.get("read") {
        let result = sdk.read_resource(serde_json::from_value(json!({"uri": uri}))?).await?;
        let contents = json!(result)["contents"].take();
        return Ok(json!({"contents": expected_members(contents, &step["gives"]["contents"])}));
    }
    if let Some(name) = step.get("prompt") {
        let result = sdk.get_prompt(serde_json::from_value(named(name))?).await?;
        return Ok(some(&json!(result), &["messages"]));
    }
    if let Some(reference) = step.get("complete") {
        let asked = json!({"ref": reference, "argument": step["argument"]});
        let result = sdk.complete(serde_json::from_value(asked)?).await?;
        return Ok(some(&json!(result), &["completion"]));
    }
    Ok(Value::Null)
}

/// Returns all of a list, one member of each item, or the item with a name.
fn chosen(items: Value, step: &Value) -> Value {
    if let Some(member) = step.get("each").and_then(Value::as_str) {
        return items.as_array().into_iter().flatten().map(|item| item[member].clone()).collect();
    }
    if let Some(name) = step.get("named") {
        let named = items.as_array().and_then(|all| all.iter().find(|item| item["name"] == *name));
        return named.cloned().unwrap_or_default();
    }
    items
}

/// Keeps the expected members: resources have members beyond the published protocol, and each SDK drops other ones.
fn expected_members(items: Value, expected: &Value) -> Value {
    let Value::Array(items) = items else {
        return items;
    };
    let expected = |(i, item): (usize, Value)| match expected[i].as_object() {
        Some(expected) => some(&item, &expected.keys().map(String::as_str).collect::<Vec<_>>()),
        None => item,
    };
    items.into_iter().enumerate().map(expected).collect()
}

fn some(document: &Value, members: &[&str]) -> Value {
    let of = |name: &&str| Some(((*name).to_owned(), document.get(*name)?.clone()));
    members.iter().filter_map(of).collect::<Map<_, _>>().into()
}

fn present<const N: usize>(members: [(&str, &Value); N]) -> Value {
    let there = members.into_iter().filter(|(_, value)| !value.is_null());
    there.map(|(name, value)| (name.to_owned(), value.clone())).collect::<Map<_, _>>().into()
}

pub(crate) fn equal(actual: &Value, expected: &Value) -> Checked {
    holds(actual == expected, format!("expected {expected}\n     got {actual}"))
}
