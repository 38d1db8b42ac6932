//! The tools of `examples/schemas.rs`: what is published, byte for byte, and what calls of them answer in both eras.

#[path = "../../../examples/schemas.rs"]
#[allow(dead_code)]
mod example;

use candor::json;
use candor::testing::TestClient;
use serde_json::Value;

fn clients() -> [TestClient; 2] {
    [example::server().test(), example::server().test_legacy()]
}

/// What is published of a tool, as text: the order of members counts.
async fn published(name: &str) -> (String, Option<String>) {
    let [modern, legacy] = clients();
    let of = |tool: &candor::protocol::types::Tool| {
        let text = |raw: &candor::protocol::json::RawValue| raw.get().to_owned();
        (text(&tool.input_schema), tool.output_schema.as_deref().map(text))
    };
    let schemas = of(&modern.tool(name).await);
    assert_eq!(schemas, of(&legacy.tool(name).await), "both eras publish the same");
    schemas
}

macro_rules! publishes {
    ($($test:ident: $tool:literal, $input:expr, $output:expr;)*) => {$(
        #[tokio::test]
        async fn $test() {
            let (input, output) = published($tool).await;
            assert_eq!(input, $input);
            assert_eq!(output.unwrap_or_default(), $output);
        }
    )*};
}

const BOXED_STRING: &str = r#"{"type":"object","properties":{"result":{"type":"string"}},"required":["result"],"x-dedalus-box":{"field":"result"}}"#;
const BOXED_STRINGS: &str = r#"{"type":"object","properties":{"result":{"type":"array","items":{"type":"string"}}},"required":["result"],"x-dedalus-box":{"field":"result"}}"#;

publishes! {
    integer_result_is_boxed: "answer",
        r#"{"type":"object","properties":{},"additionalProperties":false}"#,
        r#"{"type":"object","properties":{"result":{"type":"integer"}},"required":["result"],"x-dedalus-box":{"field":"result"}}"#;

    primitives_publish_their_types_and_a_default: "greet",
        r#"{"type":"object","properties":{"name":{"type":"string","description":"Parameter name"},"age":{"type":"integer","description":"Parameter age"},"active":{"type":"boolean","description":"Parameter active","default":true}},"required":["name","age"],"additionalProperties":false}"#,
        BOXED_STRING;

    containers_publish_the_types_of_their_items: "analyze",
        r#"{"type":"object","properties":{"values":{"type":"array","items":{"type":"integer"},"description":"Parameter values"},"metadata":{"type":"object","additionalProperties":{"type":"string"},"description":"Parameter metadata"}},"required":["values","metadata"],"additionalProperties":false}"#,
        r#"{"type":"object","additionalProperties":{"type":"number"}}"#;

    choice_publishes_its_values: "set_mode",
        r#"{"type":"object","properties":{"mode":{"type":"string","enum":["fast","accurate","balanced"],"description":"Parameter mode"}},"required":["mode"],"additionalProperties":false}"#,
        BOXED_STRING;

    option_publishes_null_and_a_default: "find",
        r#"{"type":"object","properties":{"query":{"type":"string","description":"Parameter query"},"limit":{"anyOf":[{"type":"integer"},{"type":"null"}],"description":"Parameter limit","default":null}},"required":["query"],"additionalProperties":false}"#,
        BOXED_STRINGS;

    single_struct_becomes_the_arguments: "search",
        r#"{"type":"object","properties":{"query":{"type":"string","description":"Parameter query"},"max_results":{"type":"integer","description":"Parameter max_results"}},"required":["query"],"additionalProperties":false}"#,
        BOXED_STRINGS;

    nested_structs_publish_nested_objects: "create_profile",
        r#"{"type":"object","properties":{"name":{"type":"string","description":"Parameter name"},"street":{"type":"string","description":"Parameter street"},"city":{"type":"string","description":"Parameter city"}},"required":["name","street","city"],"additionalProperties":false}"#,
        r#"{"type":"object","properties":{"name":{"type":"string"},"address":{"type":"object","properties":{"street":{"type":"string"},"city":{"type":"string"},"postal_code":{"type":"integer"}},"required":["street","city","postal_code"],"additionalProperties":false},"tags":{"type":"array","items":{"type":"string"}}},"required":["name","address","tags"],"additionalProperties":false}"#;

    constraints_appear_in_the_schema: "register_user",
        r#"{"type":"object","properties":{"username":{"type":"string","minLength":3,"maxLength":20,"description":"Parameter username"},"email":{"type":"string","pattern":"^[\\w\\.-]+@[\\w\\.-]+\\.\\w+$","description":"Parameter email"},"age":{"type":"integer","minimum":0,"maximum":120,"description":"Parameter age"}},"required":["username","email","age"],"additionalProperties":false}"#,
        BOXED_STRING;

    union_result_publishes_each_object: "choose_action",
        r#"{"type":"object","properties":{"chat":{"type":"boolean","description":"Parameter chat"}},"required":["chat"],"additionalProperties":false}"#,
        r#"{"type":"object","anyOf":[{"type":"object","properties":{"kind":{"type":"string","const":"chat"},"message":{"type":"string"}},"required":["kind","message"],"additionalProperties":false},{"type":"object","properties":{"kind":{"type":"string","const":"navigate"},"url":{"type":"string"}},"required":["kind","url"],"additionalProperties":false}]}"#;

    default_and_option_are_not_required: "analyze_dataset",
        r#"{"type":"object","properties":{"dataset":{"type":"string","description":"Parameter dataset"},"limit":{"type":"integer","description":"Parameter limit","default":100},"filters":{"anyOf":[{"type":"object","additionalProperties":{"type":"string"}},{"type":"null"}],"description":"Parameter filters","default":null}},"required":["dataset"],"additionalProperties":false}"#,
        r#"{"type":"object","additionalProperties":{"type":"integer"}}"#;

    number_result_is_boxed: "get_temperature",
        r#"{"type":"object","properties":{"city":{"type":"string","description":"Parameter city"}},"required":["city"],"additionalProperties":false}"#,
        r#"{"type":"object","properties":{"result":{"type":"number"}},"required":["result"],"x-dedalus-box":{"field":"result"}}"#;

    optional_result_field_is_required_and_nullable: "weather",
        r#"{"type":"object","properties":{"city":{"type":"string","description":"Parameter city"}},"required":["city"],"additionalProperties":false}"#,
        r#"{"type":"object","properties":{"temperature":{"type":"number"},"location":{"type":"object","properties":{"latitude":{"type":"number"},"longitude":{"type":"number"}},"required":["latitude","longitude"],"additionalProperties":false},"humidity":{"anyOf":[{"type":"number"},{"type":"null"}]}},"required":["temperature","location","humidity"],"additionalProperties":false}"#;

    struct_fields_publish_their_constraints: "create_user",
        r#"{"type":"object","properties":{"username":{"type":"string","minLength":3,"maxLength":20,"pattern":"^[a-zA-Z0-9_]+$","description":"Parameter username"},"email":{"type":"string","format":"email","description":"Parameter email"},"age":{"type":"integer","minimum":13,"maximum":120,"description":"Parameter age"},"bio":{"anyOf":[{"type":"string","maxLength":500},{"type":"null"}],"description":"Parameter bio","default":null}},"required":["username","email","age"],"additionalProperties":false}"#,
        r#"{"type":"object","additionalProperties":{"type":"string"}}"#;

    handwritten_schema_is_published_byte_for_byte: "custom_tool",
        r#"{"type": "object", "properties": {"custom_field": {"type": "string", "enum": ["a", "b", "c"]}}, "required": ["custom_field"], "additionalProperties": false}"#,
        BOXED_STRING;
}

/// One call of each tool, and what programs get.
fn calls() -> Vec<(&'static str, Value, Value)> {
    vec![
        ("answer", json!({}), json!({"result": 7})),
        ("greet", json!({"name": "Ada", "age": 36}), json!({"result": "Hello Ada, age 36"})),
        ("analyze", json!({"values": [1, 2], "metadata": {"a": "b"}}), json!({"mean": 1.5})),
        ("set_mode", json!({"mode": "fast"}), json!({"result": "Mode set to fast"})),
        ("find", json!({"query": "x", "limit": null}), json!({"result": []})),
        ("search", json!({"query": "x", "max_results": 3}), json!({"result": []})),
        (
            "create_profile",
            json!({"name": "Ada", "street": "1 Main", "city": "Bern"}),
            json!({"name": "Ada", "address": {"street": "1 Main", "city": "Bern", "postal_code": 94107}, "tags": ["new"]}),
        ),
        (
            "register_user",
            json!({"username": "ada", "email": "a@b.ch", "age": 36}),
            json!({"result": "Registered ada"}),
        ),
        ("choose_action", json!({"chat": true}), json!({"kind": "chat", "message": "hi"})),
        (
            "choose_action",
            json!({"chat": false}),
            json!({"kind": "navigate", "url": "https://example.com"}),
        ),
        (
            "analyze_dataset",
            json!({"dataset": "d", "filters": {"a": "b"}}),
            json!({"records": 42, "filtered": 10}),
        ),
        ("get_temperature", json!({"city": "Bern"}), json!({"result": 72.5})),
        (
            "weather",
            json!({"city": "Bern"}),
            json!({"temperature": 72.5, "location": {"latitude": 37.7749, "longitude": -122.4194}, "humidity": null}),
        ),
        (
            "create_user",
            json!({"username": "ada_1", "email": "ada@example.org", "age": 36}),
            json!({"user_id": "usr_123", "status": "created"}),
        ),
        ("custom_tool", json!({"custom_field": "b"}), json!({"result": "b"})),
    ]
}

#[tokio::test]
async fn every_result_matches_its_output_schema_in_both_eras() {
    for client in clients() {
        for (tool, arguments, expected) in calls() {
            let result = client.call(tool, arguments).await;
            assert!(!result.is_error(), "{tool}: {}", result.text());
            assert_eq!(result.structured(), Some(&expected), "{tool}");
            let schema = client.tool(tool).await.output_schema.unwrap();
            let schema: Value = serde_json::from_str(schema.get()).unwrap();
            assert!(jsonschema::is_valid(&schema, &expected), "{tool}");
        }
    }
}

#[tokio::test]
async fn published_input_schema_is_enforced() {
    let [modern, _] = clients();
    for (tool, arguments) in [
        ("greet", json!({"name": "Ada"})),
        ("greet", json!({"name": "Ada", "age": 1, "extra": 1})),
        ("set_mode", json!({"mode": "slow"})),
        ("search", json!({"query": "x", "max_results": null})),
        ("register_user", json!({"username": "ad", "email": "a@b.ch", "age": 36})),
        ("register_user", json!({"username": "ada", "email": "nobody", "age": 36})),
        ("register_user", json!({"username": "ada", "email": "a@b.ch", "age": 121})),
        ("create_user", json!({"username": "ada 1", "email": "ada@example.org", "age": 36})),
        ("create_user", json!({"username": "ada", "email": "nobody", "age": 36})),
        ("create_user", json!({"username": "ada", "email": "a@b.ch", "age": 36, "bio": 7})),
        ("custom_tool", json!({"custom_field": "z"})),
        ("custom_tool", json!({"custom_field": "a", "more": 1})),
    ] {
        let result = modern.call(tool, arguments.clone()).await;
        assert!(result.is_error(), "{tool} took {arguments}");
    }
}

#[tokio::test]
async fn result_that_violates_its_schema_is_not_sent() {
    // The mean of an empty list is NaN, which JSON cannot represent.
    for client in clients() {
        let result = client.call("analyze", json!({"values": [], "metadata": {}})).await;
        assert!(result.is_error() && result.structured().is_none());
        assert!(result.text().contains("does not match the output schema"), "{}", result.text());
    }
}
