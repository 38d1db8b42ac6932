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
async fn a_server_that_foresees_says_so() {
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
async fn a_server_whose_tools_may_change_says_both() {
    let provided = server().tools_from(provider_fn(|_| Ok(Arc::new(ToolSet::default()))));
    for capabilities in capabilities(&Site::of(provided)).await {
        assert_eq!(capabilities["tools"], json!({"listChanged": true, "dynamicAnnotations": true}));
    }
}

#[tokio::test]
async fn a_server_without_such_tools_has_no_such_method() {
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
async fn the_method_is_the_seeds_and_no_other() {
    let params = json!({"name": "manage_files", "arguments": {"path": "a", "action": "read"}});
    for method in ["tools/preflight", "tools/annotation", "tools/Annotations"] {
        errors(&Site::of(files()), method, &params, -32601).await;
    }
}

#[tokio::test]
async fn the_seeds_tool_is_listed_with_its_worst_case_and_the_flag() {
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
async fn only_tools_whose_arguments_make_a_difference_have_the_flag() {
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
async fn static_hints_are_published_as_they_were_declared() {
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
async fn nothing_is_unclassified_by_silence() {
    // `#[tool]` does not compile without; here the author reads it in the log.
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
    // Whoever registers it again has read it already.
    drop(server().tool(named("silent")).test());
    assert_eq!(log.take(), Vec::<String>::new());
}

#[tokio::test]
async fn the_worst_case_is_computed_whatever_was_declared() {
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
async fn a_function_publishes_the_bound_that_it_was_given() {
    let tool = || {
        JsonTool::open("adds", |_, _| async { Ok("") }).effects_by(Hints::ADDS, |_| Hints::READS)
    };
    for client in clients(|| server().tool(tool())) {
        let annotations = client.tool("adds").await.annotations.unwrap();
        assert_eq!(raw(&annotations).get(), four(false, false, false, true).to_string());
    }
}

#[test]
fn a_table_that_cannot_be_meant_refuses_to_be_registered() {
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
