//! Where the tools come from: asked on every request, and nothing leaks when it fails.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use candor_server::Server;
use candor_server::tool::{JsonTool, Tool, ToolError, ToolSet, provider_fn};
use candor_server::transport::http::Http;
use serde_json::{Value, json};

use crate::room;
use crate::site::{Site, named, sample, server};

/// How often it was asked, over some requests.
async fn counted(make: impl FnOnce(Server, Arc<AtomicUsize>) -> Server) -> (Vec<String>, usize) {
    let asked = Arc::new(AtomicUsize::new(0));
    let site = Site::of(make(server(), asked.clone()));
    let mut bodies = Vec::new();
    for path in ["/tools", "/tools", "/tools/t", "/tools?limit=1"] {
        bodies.push(site.get(path).await.ok().to_string());
    }
    (bodies, asked.load(Ordering::SeqCst))
}

fn listed() -> Vec<Arc<dyn Tool>> {
    vec![named("t"), named("u")]
}

#[tokio::test]
async fn tool_source_is_called_on_every_request() {
    let (fixed, _) = counted(|server, _| server.tools_from(listed())).await;
    let sync = counted(|server, asked| {
        server.tools_from(move || {
            asked.fetch_add(1, Ordering::SeqCst);
            listed()
        })
    });
    let awaited = counted(|server, asked| {
        server.tools_from(move || {
            let asked = asked.clone();
            async move {
                tokio::task::yield_now().await;
                asked.fetch_add(1, Ordering::SeqCst);
                listed()
            }
        })
    });
    let own = counted(|server, asked| {
        let set = Arc::new(ToolSet::new(listed()).unwrap());
        server.tools_from(provider_fn(move |_| {
            asked.fetch_add(1, Ordering::SeqCst);
            Ok(set.clone())
        }))
    });
    for (bodies, asked) in [sync.await, awaited.await, own.await] {
        assert_eq!(asked, 4);
        assert_eq!(bodies, fixed, "every shape gives the same answers");
    }
}

/// A tool that needs another argument in each version of it, and whose name stays.
fn changing(version: usize) -> Arc<dyn Tool> {
    let schema = json!({
        "type": "object",
        "properties": {format!("v{version}"): {"type": "integer"}},
        "required": [format!("v{version}")],
        "additionalProperties": false,
    });
    Arc::new(JsonTool::new("changing", &schema, |_, _| async { Ok::<_, ToolError>("done") }))
}

/// Everything that is said of that tool, and done with it, over one socket, is of this version.
async fn must_be_of(version: usize, site: &Site) {
    let needed = |schema: &Value| schema["required"][0].as_str().unwrap().to_owned();
    let name = format!("v{version}");
    let detail = site.get("/tools/changing").await.ok();
    assert_eq!(needed(&detail["inputSchema"]), name);
    let listed = room::mcp(site, "nobody", "tools/list", json!({})).send().await.ok();
    let tools = listed["result"]["tools"].as_array().unwrap();
    let there = tools.iter().find(|tool| tool["name"] == "changing").unwrap();
    assert_eq!(there["inputSchema"], detail["inputSchema"]);
    for (argument, fits) in [(name.clone(), true), (format!("v{}", version + 1), false)] {
        let arguments = json!({argument: 1});
        let said = site.post("/tools/changing/validate", arguments.clone()).await.ok();
        assert_eq!(said["valid"], fits, "{arguments}: {said}");
        let here = site.post("/tools/changing/call", arguments.clone()).await;
        assert_eq!(here.status, if fits { 200 } else { 422 }, "{arguments}: {}", here.body);
        let params = json!({"name": "changing", "arguments": arguments});
        let there = room::mcp(site, "nobody", "tools/call", params).send().await.ok();
        assert_eq!(there["result"]["isError"] != true, fits, "{arguments}: {there}");
    }
}

#[tokio::test]
async fn tool_source_change_is_visible_in_the_next_request() {
    let version = Arc::new(AtomicUsize::new(0));
    let now = version.clone();
    let tools = move || {
        let version = now.load(Ordering::SeqCst);
        vec![named(&format!("v{version}")), changing(version)]
    };
    let site = room::site(server().tools_from(tools), Http::default());
    let mut tags: Vec<String> = Vec::new();
    for n in 0..3 {
        version.store(n, Ordering::SeqCst);
        let listed = site.get("/tools").await;
        let [renamed, kept] = [format!("v{n}"), "changing".to_owned()]
            .map(|name| json!({"name": name, "description": ""}));
        assert_eq!(listed.ok(), json!([renamed, kept]));
        let sent = tags.last().cloned().unwrap_or_default();
        let asked = site.ask("GET", "/tools").header("if-none-match", &sent).send().await;
        assert_eq!(asked.status, 200, "an old tag is no reason to send nothing");
        tags.push(listed.header("etag").to_owned());
        must_be_of(n, &site).await;
    }
    assert_eq!(site.get("/tools/v1").await.status, 404);
}

/// Cached schemas of one server never reach the next.
#[tokio::test]
async fn restarted_server_uses_its_own_schemas() {
    for version in 0..3 {
        let site = room::site(server().tools([changing(version)]), Http::default());
        must_be_of(version, &site).await;
        must_be_of(version, &site).await;
    }
}

#[tokio::test]
async fn failing_tool_source_leaks_nothing() {
    let fails = || Err::<Vec<Arc<dyn Tool>>, _>("password=hunter2");
    let panics = || -> Vec<Arc<dyn Tool>> { panic!("password=hunter2") };
    for server in [
        server().tools_from(fails),
        server().tools_from(move || async move { fails() }),
        server().tools_from(panics),
    ] {
        let site = Site::of(server);
        for path in ["/tools", "/tools/t", "/openapi.json"] {
            let reply = site.get(path).await;
            reply.problem(500, "internal");
            assert!(!reply.body.contains("hunter2"), "{}", reply.body);
        }
        for verb in ["validate", "annotations", "preview", "call"] {
            let reply = site.post(&format!("/tools/t/{verb}"), json!({})).await;
            reply.problem(500, "internal");
            assert!(!reply.body.contains("hunter2"), "{}", reply.body);
        }
    }
}

#[tokio::test]
async fn problem_carries_the_trace_id_of_the_caller() {
    let site = Site::of(server().tools_from(|| Err::<Vec<Arc<dyn Tool>>, _>("gone")));
    let trace = "0af7651916cd43dd8448eb211c80319c";
    let parent = format!("00-{trace}-00f067aa0ba902b7-01");
    let reply = site.ask("GET", "/tools").header("traceparent", &parent).send().await;
    assert_eq!(reply.problem(500, "internal")["trace_id"], trace);
}

/// The console refuses the same headers as the server, so one request has one trace id.
#[tokio::test]
async fn invalid_traceparent_is_replaced_by_a_new_trace_id() {
    let list = Site::of(server().tools_from(|| Err::<Vec<Arc<dyn Tool>>, _>("gone")));
    let call = Site::of(sample());
    let trace = "0af7651916cd43dd8448eb211c80319c";
    for parent in [
        "00-xyz".to_owned(),
        format!("00-{trace}"),
        format!("00-{trace}-00f067aa0ba902b7"),
        format!("00-{trace}-0000000000000000-01"),
        format!("00-{trace}-00f067aa0ba902b7-01-x"),
        format!("ff-{trace}-00f067aa0ba902b7-01"),
        format!("0-{trace}-00f067aa0ba902b7-01"),
        format!("00-{}-00f067aa0ba902b7-01", trace.to_uppercase()),
    ] {
        let list = list.ask("GET", "/tools").header("traceparent", &parent).send().await;
        let call = call.ask("POST", "/tools/get_weather/call").known();
        let call = call.header("traceparent", &parent).json(&json!({})).send().await;
        for said in [list.problem(500, "internal"), call.problem(422, "invalid_arguments")] {
            let named = said["trace_id"].as_str().unwrap();
            assert!(named.len() == 32 && !parent.contains(named), "{parent}: {said}");
        }
    }
}

/// Never 5xx, and never "valid".
#[tokio::test]
async fn tool_with_an_unreadable_schema_accepts_no_arguments() {
    let site = Site::of(server().tools_from(|| {
        let schema = json!({"type": "object", "properties": {"a": {"$ref": "https://example.invalid/a.json"}}});
        let broken = JsonTool::new("broken", &schema, |_, _| async { Ok::<_, ToolError>("never") });
        let output = JsonTool::open("output", |_, _| async { Ok::<_, ToolError>("never") })
            .output_schema(&json!({"type": "strnig"}));
        vec![named("t"), Arc::new(broken) as Arc<dyn Tool>, Arc::new(output)]
    }));
    let listed = site.get("/tools").await.ok();
    assert_eq!(listed.as_array().map(Vec::len), Some(3), "{listed}");
    let said = site.post("/tools/output/validate", json!({})).await.ok();
    let message = said["errors"][0]["message"].as_str().unwrap();
    assert!(message.starts_with("Invalid schema: output schema: "), "{message}");
    site.post("/tools/t/call", json!({})).await.ok();
    let said = site.post("/tools/broken/validate", json!({"a": 1})).await.ok();
    assert_eq!(said["valid"], json!(false), "{said}");
    assert!(said.to_string().contains("cannot be called"), "{said}");
    // The caller cannot fix the schema.
    let at = |said: &Value| json!([said["errors"][0]["path"], said["errors"][0]["keyword"]]);
    assert_eq!(at(&said), json!(["", "schema"]), "{said}");
    let message = said["errors"][0]["message"].as_str().unwrap();
    assert!(message.starts_with("Invalid schema: "), "{message}");
    let foreseen = site.post("/tools/broken/annotations", json!({"a": 1})).await.ok();
    assert_eq!(at(&foreseen), json!(["", "schema"]), "{foreseen}");
}

#[tokio::test]
async fn duplicate_tool_name_is_listed_once_and_not_callable() {
    let site = Site::of(server().tools_from(|| vec![named("twice"), named("t"), named("twice")]));
    let listed = site.get("/tools").await.ok();
    let names: Vec<_> = listed.as_array().unwrap().iter().map(|tool| &tool["name"]).collect();
    assert_eq!(names, ["twice", "t"], "{listed}");
    site.get("/openapi.json").await.ok();
    site.post("/tools/t/call", json!({})).await.ok();
    let said = site.post("/tools/twice/validate", json!({})).await.ok();
    assert_eq!(said["valid"], json!(false), "{said}");
    let why = "this tool cannot be called: another tool has this name";
    assert!(said.to_string().contains(why), "{said}");
    assert_eq!(said["errors"][0]["keyword"], "validation", "its schema is valid: {said}");
    let refused = site.post("/tools/twice/call", json!({})).await;
    assert!(refused.status.is_client_error() && refused.body.contains(why), "{}", refused.body);
}
