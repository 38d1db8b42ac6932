//! Forms that come from types, in both eras.

use candor_server::tool::{JsonTool, ToolError};
use candor_server::{AskError, FormAnswer};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::common::{CAPABILITIES_KEY, Session, Site, modern, server, text, tool};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Size {
    Small,
    Large,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Order {
    /// How many pieces
    #[schemars(range(min = 1, max = 9))]
    count: i32,
    size: Size,
    /// Letters only
    #[schemars(regex(pattern = "^[a-z]+$"))]
    code: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[allow(dead_code)]
struct Nested {
    order: Order,
}

fn order() -> JsonTool {
    tool("order", |_, ctx| async move {
        Ok(match ctx.elicit_as::<Order>("What shall it be?").await? {
            FormAnswer::Accepted(Order { count, size, code }) => {
                format!("{count} {size:?} {code:?}")
            }
            FormAnswer::Declined => "declined".to_owned(),
            FormAnswer::Cancelled => "cancelled".to_owned(),
        })
    })
}

/// What a client is asked: only what the protocol allows in a form.
fn question() -> Value {
    json!({"method": "elicitation/create", "params": {"message": "What shall it be?", "requestedSchema": {
        "type": "object",
        "properties": {
            "count": {"type": "integer", "description": "How many pieces", "minimum": 1, "maximum": 9},
            "size": {"type": "string", "enum": ["small", "large"]},
            "code": {"type": "string", "description": "Letters only"},
        },
        "required": ["count", "size"],
    }}})
}

/// Calls the tool, in the modern era, with the members of a retry.
async fn call(site: &Site, name: &str, retry: Option<(&Value, &Value)>) -> crate::common::Reply {
    let mut params = json!({"name": name, "_meta": {CAPABILITIES_KEY: {"elicitation": {}}}});
    if let Some((first, answer)) = retry {
        let (key, _) = first["inputRequests"].as_object().unwrap().iter().next().unwrap();
        params["inputResponses"] = json!({key: answer});
        params["requestState"] = first["requestState"].clone();
    }
    site.send(modern("tools/call", &params)).await
}

fn answers() -> [(Value, &'static str); 3] {
    let content = json!({"count": 2, "size": "large", "code": "abc"});
    [
        (json!({"action": "accept", "content": content}), "2 Large Some(\"abc\")"),
        (json!({"action": "decline"}), "declined"),
        (json!({"action": "cancel"}), "cancelled"),
    ]
}

#[tokio::test]
async fn modern_client_fills_in_the_form_of_a_type() {
    let site = Site::of(server().tool(order()));
    let first = call(&site, "order", None).await.result().await;
    let questions = first["inputRequests"].as_object().unwrap();
    assert_eq!(questions.values().collect::<Vec<_>>(), [&question()]);
    for (answer, expected) in answers() {
        let result = call(&site, "order", Some((&first, &answer))).await.result().await;
        assert_eq!(text(&result), expected);
    }
}

#[tokio::test]
async fn answer_that_is_not_of_the_type_is_refused() {
    let site = Site::of(server().tool(order()));
    let first = call(&site, "order", None).await.result().await;
    for (content, place) in [
        (json!({"count": 99, "size": "large"}), "count"),
        (json!({"count": 1, "size": "huge"}), "size"),
        (json!({"count": 1}), "size"),
        // The type has a pattern; the form does not.
        (json!({"count": 1, "size": "small", "code": "A1"}), "code"),
        (json!({"count": 1, "size": "small", "more": true}), "more"),
    ] {
        let answer = json!({"action": "accept", "content": content});
        let error = call(&site, "order", Some((&first, &answer))).await.error(200, -32602).await;
        assert!(error.to_string().contains(place), "{content}: {error}");
    }
}

#[tokio::test]
async fn legacy_client_fills_in_the_form_of_a_type() {
    let site = Site::of(server().tool(order()));
    let session = Session::able(&site, &json!({"elicitation": {}})).await;
    for (answer, expected) in answers() {
        let mut events = session.call("order").await.events();
        events.next().await.unwrap();
        let asked = events.message().await;
        assert_eq!(asked["params"], question()["params"]);
        session.answer(&asked, &answer).await;
        assert_eq!(text(&events.message().await["result"]), expected);
    }
}

#[tokio::test]
async fn nested_form_type_error_names_the_type_and_field() {
    let nested = || {
        tool("nested", |_, ctx| async move {
            let refused = ctx.elicit_as::<Nested>("?").await.unwrap_err();
            assert!(matches!(refused, AskError::NotAForm(_)));
            Err::<(), _>(ToolError::from(refused))
        })
    };
    let client = server().tool(nested()).test();
    let called = client.call("nested", ()).await;
    let reason = called.internal_reason().unwrap();
    assert!(
        reason.contains("Nested") && reason.contains("its field `order` is an object"),
        "{reason}"
    );
    let result = call(&Site::of(server().tool(nested())), "nested", None).await.result().await;
    assert!(!text(&result).contains("Nested"), "{result}");
}
