//! Lists, pages and reads, and how long they may be kept.

use std::sync::Arc;

use candor_server::prompt::{self, Prompt};
use candor_server::protocol::types::{ResourceContents, ResourceTemplate};
use candor_server::tool::Tool;
use candor_server::{CacheHint, CacheScope, Server};
use serde_json::{Value, json};

use crate::common::{Site, call, forgeries, greet, memos, modern, server, tool};

fn hello() -> Prompt {
    Prompt::new("hello", |_, _| async { Ok(prompt::user("Hello")) })
}

/// More tools than two pages hold.
fn crowded() -> Site {
    let tools = (0..2001).map(|i| {
        let tool: Arc<dyn Tool> = Arc::new(tool(&format!("tool-{i}"), |_, _| async { Ok("ran") }));
        tool
    });
    Site::of(server().tools(tools).prompt(hello()))
}

#[tokio::test]
async fn long_list_is_paged_and_has_every_tool_once() {
    let site = crowded();
    let mut names = Vec::new();
    let mut sizes = Vec::new();
    let mut params = json!({});
    loop {
        let page = site.send(modern("tools/list", &params)).await;
        let page = page.result().await;
        let tools = page["tools"].as_array().unwrap();
        sizes.push(tools.len());
        names.extend(tools.iter().map(|t| t["name"].as_str().unwrap().to_owned()));
        match page.get("nextCursor") {
            Some(cursor) => params = json!({"cursor": cursor}),
            None => break,
        }
    }
    assert_eq!(sizes, [1000, 1000, 1]);
    let expected: Vec<_> = (0..2001).map(|i| format!("tool-{i}")).collect();
    assert_eq!(names, expected);
}

#[tokio::test]
async fn forged_or_foreign_cursor_is_refused() {
    let site = crowded();
    let page = site.send(modern("tools/list", &json!({}))).await;
    let cursor = page.result().await["nextCursor"].as_str().unwrap().to_owned();
    let mut useless = vec![("tools/list", ""), ("tools/list", "1000"), ("prompts/list", &cursor)];
    let forged = forgeries(&cursor);
    useless.extend(forged.iter().map(|cursor| ("tools/list", cursor.as_str())));
    for (list, cursor) in useless {
        let call = modern(list, &json!({"cursor": cursor}));
        let error = site.send(call).await.error(200, -32602).await;
        assert_eq!(
            error["message"],
            format!(
                "Invalid cursor: it was not made by this server for {list}; list again from the beginning"
            )
        );
    }
}

#[tokio::test]
async fn missing_resource_error_has_the_uri() {
    let site = Site::of(server().resources(memos()));
    let missing = modern("resources/read", &json!({"uri": "memo:///tomorrow"}));
    let error = site.send(missing).await.error(200, -32602).await;
    assert_eq!(error["data"], json!({"uri": "memo:///tomorrow"}));
    let there = modern("resources/read", &json!({"uri": "memo:///today"}));
    let result = site.send(there).await.result().await;
    assert_eq!(
        result["contents"],
        json!([{
            "uri": "memo:///today",
            "name": "today",
            "mimeType": "text/plain",
            "size": 8,
            "capabilities": {"list": false, "subscribe": true},
            "text": "Buy milk",
            "_meta": {"dev.candor/resource": {
                "name": "today",
                "size": 8,
                "capabilities": {"list": false, "subscribe": true},
            }},
        }])
    );
}

/// A server that offers something of every kind.
fn everything() -> Server {
    let days = ResourceTemplate::new("memo:///{day}", "a day");
    let memos = memos()
        .template(days, |uri, variables, _| async move {
            let text = format!("Nothing on {}", variables["day"]);
            Ok(vec![ResourceContents::of_text(uri, "text/plain", text)])
        })
        .unwrap();
    server().tool(greet()).prompt(hello()).resources(memos).complete_prompt(
        "hello",
        "name",
        |_, _, _| async { vec!["Ada".to_owned()] },
    )
}

const CACHEABLE: [&str; 6] = [
    "server/discover",
    "tools/list",
    "prompts/list",
    "resources/list",
    "resources/templates/list",
    "resources/read",
];

/// The results of all methods whose answers may be kept.
async fn cacheable(site: &Site) -> Vec<(&'static str, Value)> {
    let mut results = Vec::new();
    for method in CACHEABLE {
        let params = match method {
            "resources/read" => json!({"uri": "memo:///monday"}),
            _ => json!({}),
        };
        let result = site.send(modern(method, &params)).await.result().await;
        assert_eq!(result["resultType"], "complete", "{method}");
        results.push((method, result));
    }
    results
}

#[tokio::test]
async fn cacheable_results_have_the_configured_cache_hint() {
    let hint = CacheHint { ttl_ms: 60_000, scope: CacheScope::Public };
    for (method, result) in cacheable(&Site::of(everything().cache(hint))).await {
        assert_eq!(result["ttlMs"], 60_000, "{method}");
        assert_eq!(result["cacheScope"], "public", "{method}");
    }
}

#[tokio::test]
async fn results_are_not_cacheable_by_default() {
    for (method, result) in cacheable(&Site::of(everything())).await {
        assert_eq!(result["ttlMs"], 0, "{method}");
        assert_eq!(result["cacheScope"], "private", "{method}");
    }
}

#[tokio::test]
async fn call_prompt_and_completion_results_have_no_cache_hint() {
    let site = Site::of(everything());
    let completion = json!({
        "ref": {"type": "ref/prompt", "name": "hello"},
        "argument": {"name": "name", "value": "A"},
    });
    for made in [
        call("greet", &json!({"name": "Ada"})),
        modern("prompts/get", &json!({"name": "hello"})),
        modern("completion/complete", &completion),
    ] {
        let result = site.send(made).await.result().await;
        assert_eq!(result["resultType"], "complete");
        assert_eq!(result.get("ttlMs"), None, "{result}");
        assert_eq!(result.get("cacheScope"), None, "{result}");
    }
}

#[tokio::test]
async fn discover_returns_versions_capabilities_and_instructions() {
    let site = Site::of(everything().instructions("Be kind."));
    let result = site.send(modern("server/discover", &json!({}))).await;
    let result = result.result().await;
    assert_eq!(
        result["supportedVersions"],
        json!(["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"])
    );
    assert_eq!(
        result["capabilities"],
        json!({
            "tools": {"listChanged": false},
            "prompts": {},
            "resources": {"subscribe": true},
            "completions": {},
            "logging": {},
            "extensions": {"dev.candor/resource": {"version": 1, "children": false}},
        })
    );
    assert_eq!(result["instructions"], "Be kind.");
}
