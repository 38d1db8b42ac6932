//! `tools/resolve`, as the draft of the working group has it.

use candor_server::protocol::json::Object;
use candor_server::protocol::types::ToolAnnotations;
use candor_server::tool::Split;
use serde_json::{Value, json};

use crate::common::{CAPABILITIES_KEY, Call, SERVER_INFO_KEY, Session, Site, greet, modern};
use crate::lines::{self, Client};
use crate::{Files, OURS, RESOLUTION, files, four};

const RESOLVE: &str = "tools/resolve";

fn able() -> Value {
    json!({"extensions": {RESOLUTION: {}}})
}

fn site() -> Site {
    let mut titled = ToolAnnotations::new();
    titled.title = Some("Files".to_owned());
    titled.extra = Object::new().with("networkHint", &true);
    let files = Files::default().tool().annotations(titled);
    Site::of(crate::common::server().tool(files).tool(greet()))
}

fn reading() -> Value {
    json!({"name": "manage_files", "arguments": {"path": "a", "action": "read"}})
}

/// A modern request of a client that can do this.
fn by(capabilities: &Value, method: &str, params: &Value) -> Call {
    let mut params = params.clone();
    params["_meta"][CAPABILITIES_KEY] = capabilities.clone();
    modern(method, &params)
}

#[tokio::test]
async fn tools_resolve_returns_the_name_and_four_hints() {
    let site = site();
    let resolved = site.send(by(&able(), RESOLVE, &reading())).await.result().await;
    let info = json!({"name": "bench", "version": "1.2.3"});
    let expected = json!({
        "resultType": "complete",
        "name": "manage_files",
        "annotations": four(true, false, true, false),
        "_meta": {OURS: {"effect": "reads"}, SERVER_INFO_KEY: info},
    });
    assert_eq!(resolved, expected);

    let session = Session::able(&site, &able()).await;
    let resolved = session.request(RESOLVE, &reading()).await.result().await;
    let expected = json!({
        "resultType": "complete",
        "name": "manage_files",
        "annotations": four(true, false, true, false),
        "_meta": {OURS: {"effect": "reads"}},
    });
    assert_eq!(resolved, expected);
}

#[tokio::test]
async fn tools_resolve_requires_the_declared_extension() {
    let site = site();
    let needed = json!({"requiredCapabilities": able()});
    for undeclared in [
        json!({}),
        json!({"extensions": {}}),
        json!({"extensions": {OURS: {}}}),
        json!({"extensions": {RESOLUTION: {"version": 2}}}),
    ] {
        let error = site.send(by(&undeclared, RESOLVE, &reading())).await.error(400, -32021).await;
        assert_eq!(error["data"], needed);
        let session = Session::able(&site, &undeclared).await;
        let error = session.request(RESOLVE, &reading()).await.error(200, -32021).await;
        assert_eq!(error["data"], needed);
    }
    // A declaration holds for its own request only.
    site.send(by(&able(), RESOLVE, &reading())).await.result().await;
    site.send(by(&json!({}), RESOLVE, &reading())).await.error(400, -32021).await;
}

#[tokio::test]
async fn unresolvable_request_is_refused() {
    let site = site();
    let session = Session::able(&site, &able()).await;
    let fine = &reading()["arguments"];
    for (what, params) in [
        ("an unknown tool", json!({"name": "nope", "arguments": fine})),
        ("an unmarked tool", json!({"name": "greet", "arguments": {"name": "Ada"}})),
        ("no arguments", json!({"name": "manage_files"})),
        ("null", json!({"name": "manage_files", "arguments": null})),
        ("incomplete ones", json!({"name": "manage_files", "arguments": {"action": "read"}})),
        (
            "invalid ones",
            json!({"name": "manage_files", "arguments": {"path": "a", "action": "shred"}}),
        ),
        (
            "incomplete ones with `partial`, which this extension lacks",
            json!({"name": "manage_files", "arguments": {"action": "read"}, "_meta": {OURS: {"partial": true}}}),
        ),
    ] {
        let error = site.send(by(&able(), RESOLVE, &params)).await.error(200, -32602).await;
        assert!(error["message"].is_string(), "{what}");
        session.request(RESOLVE, &params).await.error(200, -32602).await;
    }
}

#[tokio::test(start_paused = true)]
async fn stdio_client_declares_the_extension_once_or_per_request() {
    let mut client = Client::of(files());
    let mut question = lines::modern(1, RESOLVE, &reading());
    assert_eq!(lines::code(&client.ask(&question).await), -32021);
    question["params"]["_meta"][CAPABILITIES_KEY] = able();
    assert_eq!(client.ask(&question).await["result"]["name"], "manage_files");

    let mut hello = lines::initialize(2, "2025-11-25");
    hello["params"]["capabilities"] = able();
    client.ask(&hello).await;
    client.send(&lines::notification("notifications/initialized", &json!({}))).await;
    let resolved = client.ask(&lines::request(3, RESOLVE, &reading())).await;
    assert_eq!(resolved["result"]["annotations"], four(true, false, true, false));
}

fn markers(list: &Value) -> Vec<(String, Option<Value>)> {
    let tools = list["tools"].as_array().unwrap().iter();
    let marker = |tool: &Value| tool.get("_meta").and_then(|meta| meta.get(RESOLUTION)).cloned();
    tools.map(|tool| (tool["name"].as_str().unwrap().to_owned(), marker(tool))).collect()
}

#[tokio::test]
async fn resolvable_mark_is_listed_only_with_the_extension() {
    let site = site();
    let mark = Some(json!({"resolvable": true}));
    let marked = [("manage_files".to_owned(), mark), ("greet".to_owned(), None)];
    let unmarked = [("manage_files".to_owned(), None), ("greet".to_owned(), None)];
    let list = |capabilities: &Value| by(capabilities, "tools/list", &json!({}));
    for (capabilities, expected) in [
        (able(), &marked),
        (json!({}), &unmarked),
        (json!({"extensions": {RESOLUTION: {"x": 1}}}), &unmarked),
    ] {
        let listed = site.send(list(&capabilities)).await.result().await;
        assert_eq!(markers(&listed), expected, "{capabilities}");
        let session = Session::able(&site, &capabilities).await;
        let listed = session.request("tools/list", &json!({})).await.result().await;
        assert_eq!(markers(&listed), expected, "{capabilities}");
    }
}

#[tokio::test]
async fn resolvable_mark_keeps_the_meta_of_the_author() {
    let tool = Files::default().tool().define(|tool| {
        tool.meta = Some(Object::new().with("dev.example/owner", &"ops"));
    });
    let site = Site::of(crate::common::server().tool(tool));
    let listed = site.send(by(&able(), "tools/list", &json!({}))).await.result().await;
    let meta = &listed["tools"][0]["_meta"];
    assert_eq!(meta["dev.example/owner"], "ops");
    assert_eq!(meta[RESOLUTION], json!({"resolvable": true}));
}

#[tokio::test]
async fn split_tool_with_exact_hints_is_not_resolvable() {
    let site = Site::of(files().split(Split::Beside));
    let listed = site.send(by(&able(), "tools/list", &json!({}))).await.result().await;
    for (name, mark) in markers(&listed) {
        assert_eq!(mark.is_some(), name == "manage_files", "{name}");
    }
    let params = json!({"name": "manage_files_read", "arguments": {"path": "a"}});
    site.send(by(&able(), RESOLVE, &params)).await.error(200, -32602).await;
}
