//! The approximate size of a result in memory. Only what may be large is counted: texts and encoded bytes.

use candor_protocol::types::{
    CallToolResult, Content, GetPromptResult, ReadResourceResult, ResourceContents,
};
use serde_json::Value;

pub fn of_result(result: &CallToolResult) -> usize {
    let structured = result.structured_content.as_ref().map_or(0, |raw| raw.get().len());
    of_content(&result.content) + structured
}

pub fn of_prompt(result: &GetPromptResult) -> usize {
    result.messages.iter().map(|message| of_block(&message.content)).sum()
}

pub fn of_resource(result: &ReadResourceResult) -> usize {
    result.contents.iter().map(of_contents).sum()
}

pub fn of_content(content: &[Content]) -> usize {
    content.iter().map(of_block).sum()
}

fn of_block(block: &Content) -> usize {
    match block {
        Content::Text(text) => text.text.len(),
        Content::Image(image) => image.data.len(),
        Content::Audio(audio) => audio.data.len(),
        Content::Resource(embedded) => of_contents(&embedded.resource),
        _ => 0,
    }
}

fn of_contents(contents: &ResourceContents) -> usize {
    let length = |text: &Option<String>| text.as_ref().map_or(0, String::len);
    length(&contents.text) + length(&contents.blob)
}

pub fn of_value(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(of_value).sum::<usize>() + size_of_val(&items[..]),
        Value::Object(members) => members
            .iter()
            .map(|(name, value)| name.len() + of_value(value) + size_of::<Value>())
            .sum(),
        _ => 0,
    }
}
