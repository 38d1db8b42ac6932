//! What a server says of itself and its tools before anybody asks about a call.

use candor_hints::{Condition, EffectRow, EffectTable, Hints};
use candor_server::protocol::json::{Object, raw};
use candor_server::protocol::types::ToolAnnotations;
use candor_server::tool::{JsonTool, ToolSet, provider_fn};
use serde_json::{Value, json};
use std::sync::Arc;

use crate::common::{Site, greet, initialize, modern, server};
use crate::log::Log;
use crate::{Files, OURS, RESOLUTION, clients, errors, files, four, results};

/// Capabilities as each era gets them.
async fn capabilities(site: &Site) -> [Value; 2] {
    let discovered = site.send(modern("server/discover", &json!({}))).await.result().await;
    let opened = site.send(initialize("2025-11-25", &json!({}))).await.result().await;
    [discovered["capabilities"].clone(), opened["capabilities"].clone()]
}

#[tokio::test]
async fn server_with_dynamic_tools_declares_the_capabilities() {
    for capabilities in capabilities(&Site::of(files())).await {
        assert_eq!(
            capabilities["tools"],
            json!({"listChanged": false, "dynamicAnnotations": true})
        );
        assert_eq!(
            capabilities["extensions"],
            json!({RESOLUTION: {}, OURS: {"version": 1, "partial": true}})
        );
    }
}

#[tokio::test]
async fn server_with_a_tool_source_declares_both_capabilities() {
    let provided = server().tools_from(provider_fn(|_| Ok(Arc::new(ToolSet::default()))));
    for capabilities in capabilities(&Site::of(provided)).await {
        assert_eq!(capabilities["tools"], json!({"listChanged": true, "dynamicAnnotations": true}));
    }
}

#[tokio::test]
async fn server_without_dynamic_tools_lacks_capability_and_methods() {
    let site = Site::of(server().tool(greet()));
    for capabilities in capabilities(&site).await {
        assert_eq!(capabilities["tools"], json!({"listChanged": false}));
        assert_eq!(capabilities.get("extensions"), None);
    }
    let params = json!({"name": "greet", "arguments": {"name": "Ada"}});
    for method in ["tools/annotations", "tools/resolve"] {
        errors(&site, method, &params, -32601).await;
    }
    for list in results(&site, "tools/list", &json!({})).await {
        assert_eq!(list["tools"][0].get("dynamicAnnotations"), None);
    }
}

#[tokio::test]
async fn misspelled_annotations_method_is_not_found() {
    let params = json!({"name": "manage_files", "arguments": {"path": "a", "action": "read"}});
    for method in ["tools/preflight", "tools/annotation", "tools/Annotations"] {
        errors(&Site::of(files()), method, &params, -32601).await;
    }
}

#[tokio::test]
async fn dynamic_tool_is_listed_with_its_worst_case_and_the_flag() {
    for list in results(&Site::of(files()), "tools/list", &json!({})).await {
        let expected = json!([{
            "name": "manage_files",
            "description": "Read, append, replace, or delete file contents",
            "inputSchema": crate::files_schema(),
            "annotations": four(false, true, false, false),
            "dynamicAnnotations": true,
            "_meta": {OURS: {"effect": "deletes", "effects": [
                "action is \"read\": Reads · safe to retry · local",
                "action is \"append\": Adds · not safe to retry · local",
                "action is \"replace\": Changes · safe to retry · local",
                "action is \"delete\": Deletes · safe to retry · local",
            ]}, "dev.candor/undo": {"possible": false}},
        }]);
        assert_eq!(list["tools"], expected);
    }
}

#[tokio::test]
async fn only_dynamic_tools_have_the_flag() {
    let mut reads = ToolAnnotations::new();
    reads.read_only_hint = Some(true);
    let any = || JsonTool::open("any", |_, _| async { Ok("") });
    for client in clients(|| files().tool(any()).tool(greet().annotations(reads.clone()))) {
        assert_eq!(client.tool("manage_files").await.dynamic_annotations, Some(true));
        assert_eq!(client.tool("any").await.dynamic_annotations, None);
        assert_eq!(client.tool("greet").await.dynamic_annotations, None);
    }
}

#[tokio::test]
async fn static_hints_are_listed_as_declared() {
    let mut said = ToolAnnotations::new();
    said.read_only_hint = Some(true);
    let server = || {
        server()
            .tool(greet().annotations(said.clone()))
            .tool(JsonTool::open("any", |_, _| async { Ok("") }))
    };
    for list in results(&Site::of(server()), "tools/list", &json!({})).await {
        assert_eq!(list["tools"][0]["annotations"], json!({"readOnlyHint": true}));
        assert_eq!(list["tools"][1].get("annotations"), None);
    }
}

#[tokio::test]
async fn undeclared_tool_logs_a_warning_once() {
    // `#[tool]` does not compile without hints. A `JsonTool` only logs a warning.
    let named = |name: &str| JsonTool::open(name, |_, _| async { Ok("") }).description("Acts.");
    let mut titled = ToolAnnotations::new();
    titled.title = Some("Mute".to_owned());
    let mut reads = ToolAnnotations::new();
    reads.read_only_hint = Some(true);
    let row = EffectRow::when("action", Condition::equals("read")).then(Hints::READS);
    let said = "it does not say what its calls do, so callers expect the worst: say it (`hints`, `annotations`, `effects`), or \
                say that it cannot be said (`unclassified`)";
    let log = Log::capture();
    for (tool, is_silent) in [
        (named("silent"), true),
        (named("titled").annotations(titled.clone()), true),
        (named("says_so").unclassified(), false),
        (named("says_it_last").hints(Hints::READS).unclassified(), false),
        (named("reads").annotations(reads), false),
        (named("hints").unclassified().hints(Hints::ADDS), false),
        (named("by_table").effects(EffectTable::new().row(row)), false),
        (named("by_function").effects_by(Hints::ADDS, |_| Hints::READS), false),
    ] {
        let name = candor_server::tool::Tool::definition(&tool).name.clone();
        let client = server().tool(tool).test();
        let expected = is_silent.then(|| format!("WARN message={said} tool={name}"));
        assert_eq!(log.take(), Vec::from_iter(expected), "{name}");
        let published = client.tool(&name).await.annotations;
        let hints = |text: &str| match name.as_str() {
            "reads" | "hints" | "by_table" | "by_function" => text.contains("Hint"),
            _ => !text.contains("Hint"),
        };
        assert!(
            hints(&published.map_or(String::new(), |said| raw(&said).get().to_owned())),
            "{name}"
        );
    }
    // A second registration does not log it again.
    drop(server().tool(named("silent")).test());
    assert_eq!(log.take(), Vec::<String>::new());
}

#[tokio::test]
async fn computed_worst_case_overrides_declared_hints() {
    let mut wishful = ToolAnnotations::new();
    wishful.title = Some("Files".to_owned());
    wishful.read_only_hint = Some(true);
    wishful.extra = Object::new().with("dev.example/cost", &3);
    let tool = || Files::default().tool().annotations(wishful.clone());
    for list in results(&Site::of(server().tool(tool())), "tools/list", &json!({})).await {
        let mut expected = four(false, true, false, false);
        expected["title"] = json!("Files");
        expected["dev.example/cost"] = json!(3);
        assert_eq!(list["tools"][0]["annotations"], expected);
    }
}

#[tokio::test]
async fn tool_with_an_evaluator_lists_its_declared_bound() {
    let tool = || {
        JsonTool::open("adds", |_, _| async { Ok("") }).effects_by(Hints::ADDS, |_| Hints::READS)
    };
    for client in clients(|| server().tool(tool())) {
        let annotations = client.tool("adds").await.annotations.unwrap();
        assert_eq!(raw(&annotations).get(), four(false, false, false, true).to_string());
    }
}

#[test]
fn table_with_a_dead_row_is_refused_at_registration() {
    let read = || EffectRow::when("action", Condition::equals("read")).then(Hints::READS);
    let build = |table| {
        let tool =
            JsonTool::new("t", &crate::files_schema(), |_, _| async { Ok("") }).effects(table);
        server().tool(tool).build().err().unwrap().to_string()
    };
    assert_eq!(
        build(EffectTable::new().row(read()).row(read())),
        "tool \"t\": row 2 of its effects (`action is \"read\"`) never matches: row 1 before it takes every such call. Remove it, or move it up"
    );
}
