//! The description of the API is that of this very server.

use serde_json::{Value, json};

use crate::site::{Site, delete_record, named, sample, server};
use candor_server::tool::ToolError;

#[tokio::test]
async fn openapi_has_paths_and_a_schema_for_every_tool() {
    let previewed = delete_record().preview(|_, _| async { Ok::<_, ToolError>("") });
    let server =
        server().tool(crate::site::weather()).tool(previewed).tools([named("image/resize é")]);
    let site = Site::of(server);
    let document = site.get("/openapi.json").await.ok();
    assert_eq!(document["openapi"], "3.1.0");
    let paths = document["paths"].as_object().unwrap();
    let body = |path: &str| {
        let at =
            &paths[path]["post"]["requestBody"]["content"]["application/json"]["schema"]["$ref"];
        document.pointer(at.as_str().unwrap().strip_prefix('#').unwrap()).unwrap()
    };
    assert_eq!(body("/tools/get_weather/call")["required"], json!(["city"]));
    assert_eq!(body("/tools/get_weather/validate"), body("/tools/get_weather/call"));
    assert!(!paths.contains_key("/tools/get_weather/preview"), "the tool has no preview");
    assert!(paths.contains_key("/tools/delete_record/preview"));
    assert!(paths.contains_key("/tools/image%2Fresize%20%C3%A9/call"));
    for path in [
        "/tools",
        "/tools/{name}/call",
        "/resources/content",
        "/approvals/{id}/approve",
        "/history/export",
    ] {
        assert!(paths.contains_key(path), "{path}");
    }
}

/// Every reference leads somewhere, every schema is used, every operation has its own id.
#[tokio::test]
async fn openapi_references_resolve_and_operation_ids_are_unique() {
    let recursive = json!({
        "type": "object",
        "properties": {"node": {"$ref": "#/$defs/Node"}},
        "$defs": {"Node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}}}},
    });
    let tree = candor_server::tool::JsonTool::new("tree", &recursive, |_, _| async {
        Ok::<_, ToolError>("")
    });
    let site = Site::of(sample().tool(tree).tools([named("a.b"), named("a/b")]));
    let document = site.get("/openapi.json").await.ok();
    fn references<'a>(value: &'a Value, found: &mut Vec<&'a str>) {
        match value {
            Value::Array(items) => items.iter().for_each(|item| references(item, found)),
            Value::Object(members) => {
                found.extend(members.get("$ref").and_then(Value::as_str));
                members.values().for_each(|member| references(member, found));
            }
            _ => {}
        }
    }
    let mut found = Vec::new();
    references(&document, &mut found);
    assert!(found.len() > 50, "{}", found.len());
    for reference in &found {
        let there = reference.strip_prefix('#').and_then(|pointer| document.pointer(pointer));
        assert!(there.is_some(), "{reference}");
    }
    for name in document["components"]["schemas"].as_object().unwrap().keys() {
        let reference = format!("#/components/schemas/{name}");
        assert!(found.iter().any(|one| *one == reference), "no operation has {name}");
    }
    let operations = document["paths"].as_object().unwrap().values();
    let ids: Vec<&str> = operations
        .flat_map(|path| path.as_object().unwrap().values())
        .map(|operation| operation["operationId"].as_str().unwrap())
        .collect();
    let unique: std::collections::HashSet<&&str> = ids.iter().collect();
    assert_eq!(unique.len(), ids.len());
}

#[tokio::test]
async fn openapi_security_matches_the_guard() {
    let site = Site::of(sample());
    let document = site.get("/openapi.json").await.ok();
    let open = |path: &str, method: &str| {
        let security = document["paths"][path][method]["security"].as_array().unwrap();
        security.contains(&json!({}))
    };
    assert!(open("/tools", "get") && open("/tools/get_weather/validate", "post"));
    assert!(!open("/tools/get_weather/call", "post") && !open("/approvals", "get"));
    for (path, method) in
        [("/tools", "get"), ("/resources", "get"), ("/approvals", "get"), ("/history", "get")]
    {
        let reply = site.ask(&method.to_uppercase(), path).send().await;
        assert_eq!(reply.status == 401, !open(path, method), "{path}");
    }
}

#[tokio::test]
async fn openapi_lists_busy_responses_where_capacity_is_limited() {
    let document = Site::of(sample()).get("/openapi.json").await.ok();
    let full = |path: &str, method: &str| {
        let answers = &document["paths"][path][method]["responses"];
        ["429", "503"].map(|status| answers[status].is_object())
    };
    for (path, method) in [
        ("/tools", "get"),
        ("/tools/get_weather/annotations", "post"),
        ("/tools/get_weather/call", "post"),
        ("/resources/content", "get"),
        ("/resources/events", "get"),
        ("/history/export", "get"),
    ] {
        assert_eq!(full(path, method), [true, true], "{path}");
    }
    // The ledger may be unavailable, but operators use no capacity.
    for (path, method) in [("/approvals", "get"), ("/approvals/{id}/approve", "post")] {
        assert_eq!(full(path, method), [false, true], "{path}");
    }
}
