//! Definitions from JSON: an optional member that is `null` counts as absent, because the published schemas allow no `null`.

use candor_server::Server;
use candor_server::hints::Hints;
use candor_server::prompt::{self, Prompt};
use candor_server::protocol::json::{Decode, raw};
use candor_server::protocol::types::{
    Implementation, PromptMessage, Resource, ResourceContents, ResourceTemplate,
};
use candor_server::resource::ResourceSet;
use candor_server::tool::{JsonTool, ToolError, ToolSet, provider_fn};
use serde_json::{Value, json};
use std::sync::Arc;

use crate::common::{Session, Site, modern};

fn decoded<T: Decode>(value: &Value) -> T {
    T::decode((&*raw(value)).into()).unwrap()
}

/// A definition as serializers write it that know no absent members.
fn with_nulls() -> JsonTool {
    let definition = json!({
        "name": "plain",
        "title": null,
        "description": null,
        "inputSchema": {"type": "object"},
        "outputSchema": null,
        "annotations": {"title": null, "readOnlyHint": true, "destructiveHint": null, "idempotentHint": null, "openWorldHint": null, "costHint": null},
        "dynamicAnnotations": null,
        "icons": [{"src": "https://example.org/a.png", "mimeType": null, "sizes": null, "theme": null, "mask": null}],
        "execution": {"taskSupport": null, "priority": null},
        "_meta": null,
        "owner": null,
    });
    JsonTool::open("plain", |_, _| async { Ok::<_, ToolError>("ok") })
        .define(|own| *own = decoded(&definition))
}

/// All of a list, in both eras.
async fn lists(site: &Site, method: &str, member: &str) -> [Value; 2] {
    let mut modern = site.send(modern(method, &json!({}))).await.result().await;
    let session = Session::open(site, "2025-11-25").await;
    let request = json!({"jsonrpc": "2.0", "id": 1, "method": method});
    let mut legacy = session.send(&request).await.result().await;
    [modern[member].take(), legacy[member].take()]
}

#[tokio::test]
async fn tool_definition_with_nulls_is_listed_without_them() {
    let set = Arc::new(ToolSet::new([Arc::new(with_nulls()) as _]).unwrap());
    for server in [
        Server::new("plain", "1").tool(with_nulls()),
        Server::new("plain", "1").tools_from(provider_fn(move |_| Ok(set.clone()))),
    ] {
        for list in lists(&Site::of(server), "tools/list", "tools").await {
            let mut tool = list[0].clone();
            // What the server derives from the hints is another subject.
            let annotations = tool["annotations"].take();
            assert_eq!(annotations["readOnlyHint"], true, "{annotations}");
            for known in ["title", "destructiveHint", "idempotentHint", "openWorldHint"] {
                assert!(annotations.get(known).is_none_or(|hint| !hint.is_null()), "{annotations}");
            }
            assert!(annotations.get("costHint").is_some_and(Value::is_null), "{annotations}");
            tool.as_object_mut().unwrap().remove("annotations");
            let expected = json!({
                "name": "plain",
                "inputSchema": {"type": "object"},
                "icons": [{"src": "https://example.org/a.png", "mask": null}],
                "execution": {"priority": null},
                "owner": null,
            });
            assert_eq!(tool, expected);
        }
    }
}

#[tokio::test]
async fn absent_annotations_are_not_listed_as_null() {
    let tool = JsonTool::open("plain", |_, _| async { Ok::<_, ToolError>("ok") })
        .define(|own| *own = decoded(&json!({"name": "plain", "inputSchema": {"type": "object"}, "annotations": null, "execution": null})));
    for list in lists(&Site::of(Server::new("plain", "1").tool(tool)), "tools/list", "tools").await
    {
        assert_eq!(list, json!([{"name": "plain", "inputSchema": {"type": "object"}}]));
    }
}

#[tokio::test]
async fn prompts_and_resources_with_nulls_are_listed_without_them() {
    let prompt = Prompt::new("greet", |_, _| async { Ok(prompt::user("Hello")) }).define(|own| {
        *own = decoded(&json!({"name": "greet", "title": null, "description": null, "icons": null, "_meta": null,
            "arguments": [{"name": "whom", "title": null, "description": null, "required": null, "kind": null}]}));
    });
    let resource: Resource = decoded(
        &json!({"uri": "memo:///a", "name": "a", "title": null, "mimeType": null, "size": null,
        "icons": [{"src": "https://example.org/a.png", "sizes": null}], "annotations": {"audience": null, "priority": 1},
        "_meta": null, "owner": null, "capabilities": {"list": false, "subscribe": null}}),
    );
    let template: ResourceTemplate = decoded(
        &json!({"uriTemplate": "memo:///{name}", "name": "memo", "title": null, "annotations": null}),
    );
    let content =
        json!({"uri": "memo:///a", "text": "A", "blob": null, "title": null, "_meta": null});
    let resources = ResourceSet::new()
        .resource(resource, move |_, _| {
            let content: ResourceContents = decoded(&content);
            async move { Ok(vec![content]) }
        })
        .template(template, |_, _, _| async { Ok(Vec::<ResourceContents>::new()) })
        .unwrap();
    let server = Server::new("plain", "1").prompt(prompt).resources(resources).info(|info| {
        let plain = json!({"name": "plain", "version": "1", "title": null, "websiteUrl": null});
        *info = decoded::<Implementation>(&plain);
    });
    let site = Site::of(server);
    for prompts in lists(&site, "prompts/list", "prompts").await {
        assert_eq!(
            prompts,
            json!([{"name": "greet", "arguments": [{"name": "whom", "kind": null}]}])
        );
    }
    for mut resources in lists(&site, "resources/list", "resources").await {
        resources[0]["_meta"].take();
        let expected = json!([{"uri": "memo:///a", "name": "a", "icons": [{"src": "https://example.org/a.png"}],
            "annotations": {"priority": 1}, "owner": null, "capabilities": {"list": false, "subscribe": false}, "_meta": null}]);
        assert_eq!(resources, expected);
    }
    for templates in lists(&site, "resources/templates/list", "resourceTemplates").await {
        assert_eq!(templates, json!([{"uriTemplate": "memo:///{name}", "name": "memo"}]));
    }
    let read = modern("resources/read", &json!({"uri": "memo:///a"}));
    let read = site.send(read).await.result().await;
    let content = read["contents"][0].as_object().unwrap();
    assert!(!content.contains_key("blob") && !content.contains_key("title"), "{read}");
    assert_eq!(
        read["_meta"]["io.modelcontextprotocol/serverInfo"],
        json!({"name": "plain", "version": "1"})
    );
}

#[test]
fn dynamic_annotations_without_an_evaluator_do_not_build() {
    let flagged = |tool: JsonTool| tool.define(|own| own.dynamic_annotations = Some(true));
    let fixed =
        JsonTool::open("plain", |_, _| async { Ok::<_, ToolError>("ok") }).hints(Hints::READS);
    let error = Server::new("plain", "1").tool(flagged(fixed)).build().unwrap_err();
    let message = error.to_string();
    assert!(message.contains("plain") && message.contains(".effects"), "{message}");
}

#[tokio::test]
async fn dynamic_annotations_bring_the_capability_and_the_method() {
    let tool = JsonTool::open("plain", |_, _| async { Ok::<_, ToolError>("ok") })
        .effects_by(Hints::DELETES, |_| Hints::READS)
        .define(|own| own.dynamic_annotations = Some(true));
    let site = Site::of(Server::new("plain", "1").tool(tool));
    let discovered = site.send(modern("server/discover", &json!({}))).await.result().await;
    assert_eq!(discovered["capabilities"]["tools"]["dynamicAnnotations"], true, "{discovered}");
    let asked = modern("tools/annotations", &json!({"name": "plain", "arguments": {}}));
    let answered = site.send(asked).await.result().await;
    assert_eq!(answered["annotations"]["readOnlyHint"], true, "{answered}");
}

/// A tool source is asked on every request, so the fault costs the tool and not the server.
#[tokio::test]
async fn dynamic_annotations_without_an_evaluator_break_a_provided_tool() {
    let server = Server::new("plain", "1").tools_from(|| {
        let tool = JsonTool::open("plain", |_, _| async { Ok::<_, ToolError>("ok") })
            .hints(Hints::READS)
            .define(|own| own.dynamic_annotations = Some(true));
        vec![Arc::new(tool) as Arc<dyn candor_server::tool::Tool>]
    });
    for list in lists(&Site::of(server), "tools/list", "tools").await {
        assert_eq!(list[0]["name"], "plain", "{list}");
        assert_ne!(list[0]["dynamicAnnotations"], true, "{list}");
    }
}

/// The protocol requires an object for each property; a strict client refuses the whole list otherwise.
#[tokio::test]
async fn property_with_a_boolean_schema_is_listed_as_an_object() {
    let schema = json!({"type": "object", "properties": {"any": true, "none": false}});
    let tool = JsonTool::new("plain", &schema, |_, _| async { Ok::<_, ToolError>("ok") })
        .output_schema(&schema);
    for list in lists(&Site::of(Server::new("plain", "1").tool(tool)), "tools/list", "tools").await
    {
        for role in ["inputSchema", "outputSchema"] {
            let properties = json!({"any": {}, "none": {"not": {}}});
            assert_eq!(list[0][role]["properties"], properties, "{role}");
        }
    }
}

#[tokio::test]
async fn results_with_nulls_are_sent_without_them() {
    let block = json!({"type": "text", "text": "a", "annotations": {"audience": null, "kind": null}, "_meta": null});
    let result =
        json!({"content": [block], "isError": null, "structuredContent": null, "_meta": null});
    let tool = JsonTool::open("plain", move |_, _| {
        let result = result.clone();
        async move { Ok::<_, ToolError>(result) }
    });
    let message = json!({"role": "user", "content": block});
    let prompt = Prompt::new("plain", move |_, _| {
        let message: PromptMessage = decoded(&message);
        async move { Ok(message) }
    });
    let site = Site::of(Server::new("plain", "1").tool(tool).prompt(prompt));
    let plain = json!({"type": "text", "text": "a", "annotations": {"kind": null}});
    let params = json!({"name": "plain", "arguments": {}});
    let mut called = site.send(modern("tools/call", &params)).await.result().await;
    called.as_object_mut().unwrap().retain(|name, _| !["_meta", "resultType"].contains(&&**name));
    assert_eq!(called, json!({"content": [plain]}));
    let filled = site.send(modern("prompts/get", &params)).await.result().await;
    assert_eq!(filled["messages"][0]["content"], plain);
}
