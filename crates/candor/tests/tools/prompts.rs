//! Prompts from functions: what `#[prompt]` and `prompts![…]` make of a signature, as raw clients of both eras see it.

use std::sync::atomic::{AtomicU32, Ordering};

use candor::json;
use candor::prelude::*;
use candor::protocol::types::GetPromptResult;
use serde_json::Value;

use crate::ways::Ways;

struct House(&'static str);

#[candor::args]
enum Tone {
    Kind,
    Blunt,
    Brief,
}

/// Asks for a review of a file
#[prompt(title = "Review")]
async fn review(
    /// File to review
    path: String,
    /// How it should sound
    tone: Option<Tone>,
    #[default(3)]
    #[range(min = 1, max = 9)]
    most: u8,
    strict: Option<bool>,
    ctx: Ctx,
    house: State<House>,
) -> String {
    let tone = match tone {
        None => "in any tone",
        Some(Tone::Kind) => "kindly",
        Some(Tone::Blunt) => "bluntly",
        Some(Tone::Brief) => "briefly",
    };
    let (by, house) = (ctx.principal().as_str(), house.0);
    format!("{by} of {house}: review {path} {tone}, {most} points, strict: {strict:?}")
}

#[candor::args]
struct Trip {
    /// Where to
    city: String,
    #[optional]
    nights: Option<u32>,
}

#[prompt(name = "plan_trip", description = "Plans a trip")]
fn trip(trip: Trip) -> Result<Vec<PromptMessage>, ToolError> {
    if trip.city == "Atlantis" {
        return Err(ToolError::new("There is no such city"));
    }
    let nights = trip.nights.unwrap_or(1);
    Ok(vec![
        PromptMessage::user(format!("Plan {nights} nights in {}.", trip.city)),
        PromptMessage::assistant(Content::image(b"i", "image/png")),
    ])
}

mod other {
    use super::{GetPromptResult, IntoPrompt, prompt};

    #[prompt]
    pub(super) fn bare() -> GetPromptResult {
        let mut result = "Hello".into_prompt();
        result.description = Some("For now".to_owned());
        result
    }
}

use candor::prompt::IntoPrompt;

fn house() -> Server {
    Server::new("house", "1.0.0").state(House("Gryffindor")).prompts(prompts![
        review,
        trip,
        other::bare
    ])
}

async fn both_ways() -> [Ways; 2] {
    [Ways::modern(house()).await, Ways::legacy(house()).await]
}

async fn ask(client: &Ways, method: &str, params: Value) -> Value {
    serde_json::from_str(&client.ask(method, &params).await).unwrap()
}

async fn get(client: &Ways, name: &str, arguments: Value) -> Value {
    ask(client, "prompts/get", json!({"name": name, "arguments": arguments})).await
}

#[tokio::test]
async fn prompt_list_describes_the_parameters() {
    for client in both_ways().await {
        let listed = ask(&client, "prompts/list", json!({})).await;
        assert_eq!(
            listed["result"]["prompts"],
            json!([
                {
                    "name": "review",
                    "title": "Review",
                    "description": "Asks for a review of a file",
                    "arguments": [
                        {"name": "path", "description": "File to review", "required": true},
                        {"name": "tone", "description": "How it should sound", "required": false},
                        {"name": "most", "required": false},
                        {"name": "strict", "required": false},
                    ],
                },
                {
                    "name": "plan_trip",
                    "description": "Plans a trip",
                    "arguments": [
                        {"name": "city", "description": "Where to", "required": true},
                        {"name": "nights", "required": false},
                    ],
                },
                {"name": "bare"},
            ])
        );
    }
}

#[tokio::test]
async fn prompts_are_filled_in_with_typed_arguments() {
    for client in both_ways().await {
        for (arguments, said) in [
            (json!({"path": "a.rs"}), "review a.rs in any tone, 3 points, strict: None"),
            (
                json!({"path": "7", "tone": "blunt", "most": "9", "strict": "true"}),
                "review 7 bluntly, 9 points, strict: Some(true)",
            ),
            // What hosts send for fields that the user left empty.
            (
                json!({"path": "", "tone": "", "most": "", "strict": ""}),
                "review  in any tone, 3 points, strict: None",
            ),
        ] {
            let filled = get(&client, "review", arguments).await;
            let text = format!("tester of Gryffindor: {said}");
            let message = json!({"role": "user", "content": {"type": "text", "text": text}});
            assert_eq!(filled["result"]["messages"], json!([message]), "{filled}");
        }
        let filled = get(&client, "plan_trip", json!({"city": "Oslo", "nights": "2"})).await;
        assert_eq!(
            filled["result"]["messages"],
            json!([
                {"role": "user", "content": {"type": "text", "text": "Plan 2 nights in Oslo."}},
                {"role": "assistant", "content": {"type": "image", "data": "aQ==", "mimeType": "image/png"}},
            ])
        );
        let filled = ask(&client, "prompts/get", json!({"name": "bare"})).await;
        assert_eq!(filled["result"]["description"], "For now");
        assert_eq!(filled["result"]["messages"][0]["content"]["text"], "Hello");
    }
}

#[tokio::test]
async fn invalid_prompt_arguments_are_refused() {
    for client in both_ways().await {
        for (arguments, pointer) in [
            (json!({"path": "a", "tone": "rude"}), "/arguments/tone"),
            (json!({"path": "a", "most": "10"}), "/arguments/most"),
            (json!({"path": "a", "most": "many"}), "/arguments/most"),
            (json!({"path": "a", "strict": "yes"}), "/arguments/strict"),
            (json!({"path": "a", "pth": "b"}), "/arguments/pth"),
        ] {
            let refused = get(&client, "review", arguments).await;
            assert_eq!(refused["error"]["code"], -32602, "{refused}");
            let field = &refused["error"]["data"]["dev.candor/error"]["fields"][0];
            assert_eq!(field["pointer"], pointer, "{refused}");
            assert!(refused["error"]["message"].as_str().unwrap().contains(pointer), "{refused}");
        }
        let missing = get(&client, "review", json!({})).await;
        assert_eq!(missing["error"]["code"], -32602);
        let failed = get(&client, "plan_trip", json!({"city": "Atlantis"})).await;
        let message = failed["error"]["message"].as_str().unwrap();
        assert!(message.contains("There is no such city"), "{failed}");
    }
}

#[tokio::test]
async fn completion_proposes_enum_and_boolean_values() {
    for client in both_ways().await {
        for (argument, typed, values) in [
            ("tone", "", json!(["kind", "blunt", "brief"])),
            ("tone", "B", json!(["blunt", "brief"])),
            ("strict", "t", json!(["true"])),
            ("path", "a", json!([])),
        ] {
            let reference = json!({"type": "ref/prompt", "name": "review"});
            let argument = json!({"name": argument, "value": typed});
            let params = json!({"ref": reference, "argument": argument});
            let completed = ask(&client, "completion/complete", params).await;
            assert_eq!(completed["result"]["completion"]["values"], values, "{completed}");
        }
    }
}

/// Refers to itself beside its own values, not in a member or an item.
#[candor::args]
#[serde(untagged)]
enum Again {
    Tone(Tone),
    Same(Box<Again>),
}

/// Refers to itself in a member.
#[candor::args]
struct Folder {
    name: String,
    #[optional]
    inside: Option<Box<Folder>>,
}

#[prompt]
fn repeated(again: Again, #[optional] folder: Option<Folder>) -> String {
    let mut again = &again;
    while let Again::Same(inner) = again {
        again = inner;
    }
    let Again::Tone(tone) = again else { unreachable!() };
    let depth = std::iter::successors(folder.as_ref(), |folder| folder.inside.as_deref());
    let names: Vec<&str> = depth.map(|folder| folder.name.as_str()).collect();
    format!("blunt: {}, folders: {names:?}", matches!(tone, Tone::Blunt))
}

#[tokio::test]
async fn prompt_takes_arguments_of_types_that_refer_to_themselves() {
    let server = || Server::new("house", "1.0.0").prompts(prompts![repeated]);
    for client in [Ways::modern(server()).await, Ways::legacy(server()).await] {
        let folder = json!({"name": "a", "inside": {"name": "b"}}).to_string();
        let filled = get(&client, "repeated", json!({"again": "blunt", "folder": folder})).await;
        let text = &filled["result"]["messages"][0]["content"]["text"];
        assert_eq!(text, "blunt: true, folders: [\"a\", \"b\"]", "{filled}");
        let params = json!({
            "ref": {"type": "ref/prompt", "name": "repeated"},
            "argument": {"name": "again", "value": "b"},
        });
        let completed = ask(&client, "completion/complete", params).await;
        let values = &completed["result"]["completion"]["values"];
        assert_eq!(values, &json!(["blunt", "brief"]), "{completed}");
    }
}

#[test]
fn server_without_the_state_of_its_prompts_does_not_build() {
    let error = Server::new("house", "1.0.0").prompts(prompts![review]).build().unwrap_err();
    let text = error.to_string();
    assert!(text.contains("\"review\"") && text.contains("House"), "{text}");
}

#[tokio::test]
async fn prompt_function_stays_callable() {
    static CALLS: AtomicU32 = AtomicU32::new(0);

    #[prompt]
    fn counted() -> String {
        format!("call {}", CALLS.fetch_add(1, Ordering::Relaxed))
    }

    assert_eq!(counted(), "call 0");
    assert_eq!(prompts![counted].len(), 1);
}
