//! Several servers side by side: names, provider formats, and calls that reach the right one.

mod common;

use std::future::IntoFuture as _;

use candor_client::{NameTaken, Servers, Trust};
use serde_json::{Value, json};

use common::scripted::{Scripted, modern, said, tool, tools};
use common::soon;

/// A server whose tools all say its own name.
async fn speaking(name: &'static str, names: &[&str]) -> Scripted {
    let listed: Value =
        names.iter().map(|name| tool(name, &json!({"readOnlyHint": true}))).collect();
    modern(json!({"tools": {}}), move |asked| match asked.method.as_str() {
        "tools/list" => tools(&listed),
        _ => said(name),
    })
    .await
}

#[tokio::test]
async fn unique_tool_names_reach_their_own_servers() {
    let (one, other) = (speaking("one", &["b__c", "x.y/z"]).await, speaking("other", &["c"]).await);
    let mut servers = Servers::new();
    for (name, server) in [("a", &one), ("a__b", &other)] {
        let client = soon(server.client().trust(Trust::Trusted).into_future()).await.unwrap();
        servers.add(name, client.clone()).unwrap();
        assert_eq!(servers.add(name, client), Err(NameTaken(name.to_owned())));
    }
    let tools = soon(servers.tools()).await;
    let names: Vec<_> = tools.iter().map(candor_client::NamedTool::name).collect();
    assert_eq!(names[0], "a__b__c");
    assert!(names[1].starts_with("a-x_y_z-") && names[2].starts_with("a_b-c-"), "{names:?}");
    for (name, says) in names.iter().zip(["one", "one", "other"]) {
        let named = tools.get(name).unwrap();
        let result = soon(named.call_safely(json!({})).into_future()).await.unwrap();
        assert_eq!(result.text(), says, "{name}");
        assert_eq!(soon(named.call(json!({})).into_future()).await.unwrap().text(), says);
    }
    assert_eq!(other.asked("tools/call")[0].params["name"], "c", "as its server knows it");
    assert!(tools.get("a__nothing").is_none() && tools.failed().is_empty());
}

#[tokio::test]
async fn formats_match_the_shape_that_providers_expect() {
    let defined = json!([{"name": "pick", "description": "Picks one.", "inputSchema":
        {"type": "object", "oneOf": [{"properties": {"n": {"type": "integer"}}, "required": ["n"]}]}}]);
    let server = modern(json!({"tools": {}}), move |_| tools(&defined)).await;
    let mut servers = Servers::new();
    servers.add("s", soon(server.client().into_future()).await.unwrap()).unwrap();
    let tools = soon(servers.tools()).await;
    let schema =
        json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
    assert_eq!(
        tools.for_openai(),
        [json!({"type": "function", "function":
            {"name": "s__pick", "description": "Picks one.", "parameters": schema}})]
    );
    assert_eq!(
        tools.for_anthropic(),
        [json!({"name": "s__pick", "description": "Picks one.", "input_schema": schema})]
    );
}

#[tokio::test]
async fn formats_keep_references_valid_and_texts_short() {
    let long = "ä".repeat(1025);
    let defined = json!([{"name": "x".repeat(80), "description": long, "inputSchema": {"type": "object",
        "properties": {"z": {"$ref": "#/anyOf/0"}}, "anyOf": [{"properties": {"n": {"type": "integer"}}}]}}]);
    let server = modern(json!({"tools": {}}), move |_| tools(&defined)).await;
    let mut servers = Servers::new();
    servers.add("s", soon(server.client().into_future()).await.unwrap()).unwrap();
    let tools = soon(servers.tools()).await;
    let (openai, anthropic) = (&tools.for_openai()[0]["function"], &tools.for_anthropic()[0]);
    for (format, schema) in [(openai, "parameters"), (anthropic, "input_schema")] {
        let reference = format[schema]["properties"]["z"]["$ref"].as_str().unwrap();
        let target = format[schema].pointer(reference.trim_start_matches('#')).expect(reference);
        assert_eq!(target["properties"]["n"]["type"], "integer");
        assert!(format["name"].as_str().unwrap().len() <= 64);
    }
    let shortened = openai["description"].as_str().unwrap();
    assert_eq!((shortened.chars().count(), shortened.ends_with("ä…")), (1024, true));
    assert_eq!(anthropic["description"], "ä".repeat(1025), "Anthropic has no such limit");
}

#[tokio::test]
async fn array_without_items_gets_them_for_openai_only() {
    let properties = json!({"pair": {"prefixItems": [{"type": "array"}]}});
    let defined =
        json!([{"name": "t", "inputSchema": {"type": "object", "properties": properties}}]);
    let server = modern(json!({"tools": {}}), move |_| tools(&defined)).await;
    let mut servers = Servers::new();
    servers.add("s", soon(server.client().into_future()).await.unwrap()).unwrap();
    let tools = soon(servers.tools()).await;
    let expected = json!({"prefixItems": [{"type": "array", "items": {}}], "items": {}});
    let openai = &tools.for_openai()[0]["function"]["parameters"];
    assert_eq!(openai["properties"]["pair"], expected);
    assert_eq!(tools.for_anthropic()[0]["input_schema"]["properties"], properties);
}

#[tokio::test]
async fn argument_name_that_anthropic_rejects_is_mapped_both_ways() {
    let nested = json!({"type": "object", "properties": {"also here": {}}});
    let long = "x".repeat(65);
    let defined = json!([{"name": "t", "annotations": {"readOnlyHint": true}, "inputSchema": {
        "type": "object", "additionalProperties": false, "required": ["filter[id]", "plain.key"],
        "properties": {"filter[id]": {"type": "string"}, (&long): {}, "plain.key": nested},
    }}]);
    let server = modern(json!({"tools": {}}), move |asked| match asked.method.as_str() {
        "tools/list" => tools(&defined),
        _ => said("done"),
    })
    .await;
    let mut servers = Servers::new();
    let client = soon(server.client().trust(Trust::Trusted).into_future()).await.unwrap();
    servers.add("s", client).unwrap();
    let tools = soon(servers.tools()).await;
    let schema = tools.for_anthropic()[0]["input_schema"].take();
    let properties = schema["properties"].as_object().unwrap();
    let is_taken = |name: &str| {
        (1..=64).contains(&name.len())
            && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"_.-".contains(&b))
    };
    assert!(properties.keys().all(|name| is_taken(name)), "{schema:#}");
    assert_eq!(properties["plain.key"], nested, "only names at the root are limited");
    let other = schema["required"][0].as_str().unwrap();
    assert!(other.starts_with("filter_id_-"), "{schema:#}");
    assert_eq!(properties[other]["title"], "filter[id]");
    assert!(
        tools.for_openai()[0]["function"]["parameters"]["properties"]["filter[id]"].is_object()
    );

    let mut arguments = json!({"plain.key": {"also here": 1}});
    let own = json!({"plain.key": {"also here": 1}, "filter[id]": "7"});
    arguments[other] = "7".into();
    let tool = tools.iter().next().unwrap();
    for arguments in [arguments, own.clone()] {
        soon(tool.call_safely(arguments.clone()).into_future()).await.unwrap();
        soon(tool.call(arguments).into_future()).await.unwrap();
    }
    let called = server.asked("tools/call");
    assert_eq!(called.len(), 4);
    for call in called {
        assert_eq!(call.params["arguments"], own, "as its server knows them");
    }
}

#[tokio::test]
async fn failing_server_loses_only_its_own_tools() {
    let good = speaking("good", &["look"]).await;
    let bad = modern(json!({}), |_| said("no tools here")).await;
    let mut servers = Servers::new();
    servers.add("bad", soon(bad.client().into_future()).await.unwrap()).unwrap();
    servers.add("good", soon(good.client().into_future()).await.unwrap()).unwrap();
    let tools = soon(servers.tools()).await;
    assert_eq!(tools.iter().len(), 1);
    assert_eq!(tools.failed()[0].0, "bad");
}
