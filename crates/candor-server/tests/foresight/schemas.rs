//! The published schema of our extensions, and our messages.

use std::time::Duration;

use candor_hints::Hints;
use candor_server::protocol::types::Resource;
use candor_server::resource::ResourceSet;
use candor_server::tool::{JsonTool, Split, ToolError};
use serde_json::{Value, json};

use crate::common::{Site, greet, initialize, modern, server};
use crate::document::{definition, document, exactly, fits};
use crate::{Files, OURS, answers, clients, files, results};

const ERROR: &str = "dev.candor/error";

/// All messages about resources, in every place.
#[tokio::test]
async fn resource_messages_match_the_published_schema() {
    let folder = Resource::new("memo:///", "memos").formats(["text/plain", "text/html"]);
    let memos = ResourceSet::new().folder(
        folder,
        ResourceSet::new()
            .resource(
                Resource::new("memo:///a", "a").titled("A").described("The first"),
                |_, _| async { Ok("Buy milk") },
            )
            .watched("memo:///a"),
    );
    let site = Site::of(server().resources(memos));
    let ask =
        async |method: &str, params: &Value| site.send(modern(method, params)).await.result().await;

    let discovered = ask("server/discover", &json!({})).await;
    let extensions = &discovered["capabilities"]["extensions"];
    fits(&exactly("ResourceCapability"), &extensions["dev.candor/resource"]);
    let params = json!({"uri": "memo:///"});
    let request = json!({"method": "resources/metadata", "params": params});
    fits(&definition(document(), "ReadResourceMetadataRequest"), &request);
    fits(&definition(document(), "ListResourcesRequestParams"), &params);

    let described = ask("resources/metadata", &params).await;
    fits(&definition(document(), "ReadResourceMetadataResult"), &described);
    let children = ask("resources/list", &params).await;
    for resource in [&described["resource"], &children["resources"][0]] {
        fits(&definition(document(), "Resource"), resource);
        fits(&exactly("ResourceCapabilities"), &resource["capabilities"]);
        fits(&exactly("ResourceMeta"), &resource["_meta"]["dev.candor/resource"]);
    }
    let read = ask("resources/read", &params).await;
    fits(&definition(document(), "ResourceContents"), &read["contents"][0]);
    let mirror = &read["contents"][0]["_meta"]["dev.candor/resource"];
    fits(&exactly("ResourceContentsMeta"), mirror);
    assert_eq!(mirror["description"], "The first");
}

/// The text of the original proposal.
#[test]
fn annotations_definitions_match_the_original_proposal() {
    let request = json!({
        "description": "Request to get refined annotations for a tool with specific arguments.",
        "properties": {
            "method": {"const": "tools/annotations", "type": "string"},
            "params": {
                "properties": {
                    "name": {"description": "The name of the tool to get annotations for.", "type": "string"},
                    "arguments": {
                        "additionalProperties": {},
                        "description": "The arguments that will be passed to the tool.",
                        "type": "object",
                    },
                },
                "required": ["name", "arguments"],
                "type": "object",
            },
        },
        "required": ["method", "params"],
        "type": "object",
    });
    let result = json!({
        "description": "Result of a tools/annotations request.",
        "properties": {"annotations": {"$ref": "#/definitions/ToolAnnotations"}},
        "required": ["annotations"],
        "type": "object",
    });
    let document = document();
    assert_eq!(document["$defs"]["GetToolAnnotationsRequest"], request);
    assert_eq!(document["$defs"]["GetToolAnnotationsResult"], result);
}

#[test]
fn published_schema_is_valid_and_every_definition_compiles() {
    let document = document();
    jsonschema::meta::validate(&document).unwrap();
    for name in document["$defs"].as_object().unwrap().keys() {
        definition(document.clone(), name);
        exactly(name);
    }
}

#[test]
fn schema_rejects_malformed_messages() {
    let not = |name: &str, message: Value| {
        assert!(!definition(document(), name).is_valid(&message), "{name} {message}");
    };
    let ask = |params: Value| json!({"method": "tools/annotations", "params": params});
    not("GetToolAnnotationsRequest", ask(json!({"name": "a"})));
    not("GetToolAnnotationsRequest", ask(json!({"name": 1, "arguments": {}})));
    not("GetToolAnnotationsRequest", ask(json!({"name": "a", "arguments": null})));
    not(
        "GetToolAnnotationsRequest",
        json!({"method": "tools/call", "params": {"name": "a", "arguments": {}}}),
    );
    not("GetToolAnnotationsResult", json!({}));
    not("GetToolAnnotationsResult", json!({"annotations": {"readOnlyHint": "yes"}}));
    not("Tool", json!({"dynamicAnnotations": "yes"}));
    not("Tool", json!({"dynamicAnnotations": true, "annotations": {"readOnlyHint": false}}));
    not("ToolsCapability", json!({"dynamicAnnotations": 1}));
    not("DynamicAnnotationsResultMeta", json!({"summary": "reads"}));
    not("ErrorMeta", json!({}));
    not("ErrorMeta", json!({"code": "busy", "retryAfterMs": 5}));
    fits(&definition(document(), "Tool"), &json!({"name": "t"}));
}

#[tokio::test]
async fn capabilities_match_the_published_schema() {
    let site = Site::of(files());
    let discovered = site.send(modern("server/discover", &json!({}))).await.result().await;
    let opened = site.send(initialize("2025-11-25", &json!({}))).await.result().await;
    for said in [discovered, opened] {
        fits(&exactly("ToolsCapability"), &said["capabilities"]["tools"]);
        fits(&exactly("DynamicAnnotationsCapability"), &said["capabilities"]["extensions"][OURS]);
    }
}

#[tokio::test]
async fn listed_tools_match_the_published_schema() {
    let site = Site::of(files().tool(greet()).split(Split::Beside));
    for list in results(&site, "tools/list", &json!({})).await {
        for tool in list["tools"].as_array().unwrap() {
            fits(&definition(document(), "Tool"), tool);
            if tool["dynamicAnnotations"] == true {
                fits(&exactly("DynamicAnnotationsToolMeta"), &tool["_meta"][OURS]);
            }
        }
    }
}

#[tokio::test]
async fn annotations_requests_and_results_match_the_schema() {
    let site = Site::of(files().tool(greet()));
    for (meta, params) in [
        (
            json!({}),
            json!({"name": "manage_files", "arguments": {"path": "a", "action": "delete"}}),
        ),
        (json!({"partial": true}), json!({"name": "manage_files", "arguments": {}})),
        (json!({"partial": false}), json!({"name": "greet", "arguments": {"name": "Ada"}})),
    ] {
        fits(&exactly("DynamicAnnotationsRequestMeta"), &meta);
        let mut params = params;
        params["_meta"] = json!({OURS: meta});
        let request =
            json!({"jsonrpc": "2.0", "id": 1, "method": "tools/annotations", "params": params});
        fits(&definition(document(), "GetToolAnnotationsRequest"), &request);
        for result in results(&site, "tools/annotations", &params).await {
            fits(&definition(document(), "GetToolAnnotationsResult"), &result);
            fits(&exactly("DynamicAnnotationsResultMeta"), &result["_meta"][OURS]);
            fits(&exactly("AllHints"), &result["annotations"]);
        }
    }
}

#[tokio::test]
async fn invalid_arguments_error_matches_the_published_schema() {
    let params = json!({"name": "manage_files", "arguments": {"path": 1}});
    for answer in answers(&Site::of(files()), "tools/annotations", &params).await {
        fits(&exactly("InvalidArguments"), &answer["error"]["data"]);
    }
}

#[tokio::test]
async fn call_results_match_the_published_schema() {
    let fails = |name: &str, error: fn() -> ToolError| {
        JsonTool::open(name, move |_, _| async move { Err::<String, _>(error()) })
            .effects_by(Hints::WORST, |_| Hints::ADDS)
    };
    let server = || {
        Files::default()
            .server()
            .tool(fails("plain", || ToolError::new("No.")))
            .tool(fails("never", || {
                ToolError::new("No.").code("gone").never_retry().field("/a", "is gone")
            }))
            .tool(fails("busy", || {
                ToolError::new("Busy.")
                    .retry_after(Duration::from_secs(1))
                    .instead("wait", json!({}))
            }))
            .tool(JsonTool::open("panics", |_, _| async {
                panic!("!") as Result<String, ToolError>
            }))
    };
    for client in clients(server) {
        for name in ["plain", "never", "busy", "panics", "manage_files"] {
            let called = client.call(name, ()).await;
            assert!(called.is_error(), "{name}");
            fits(&exactly("ErrorMeta"), &called.raw()["_meta"][ERROR]);
        }
        let called = client.call("busy", ()).await;
        fits(&exactly("DynamicAnnotationsCallMeta"), &called.raw()["_meta"][OURS]);
        let arguments = json!({"path": "a", "action": "read"});
        let called = client.call("manage_files", arguments).await;
        fits(&exactly("DynamicAnnotationsCallMeta"), &called.raw()["_meta"][OURS]);
    }
}
