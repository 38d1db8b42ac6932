//! Fields of annotations beside the four hints, refined by the arguments, as raw JSON peers of both eras see them.

use std::sync::Arc;

use candor_hints::{Annotations, Condition, EffectRow, EffectTable, Hints};
use candor_server::Server;
use candor_server::protocol::json::Object;
use candor_server::protocol::types::ToolAnnotations;
use candor_server::tool::{JsonTool, Split, Tool};
use serde_json::{Value, json};

use crate::common::{CAPABILITIES_KEY, Session, Site, modern, server};
use crate::lines::{self, Client};
use crate::{OURS, RESOLUTION, errors, results};

const ASK: &str = "tools/annotations";

/// What is declared for all calls.
fn declared() -> ToolAnnotations {
    let mut annotations = ToolAnnotations::new();
    annotations.title = Some("Sync".to_owned());
    annotations.extra =
        Object::new().with("networkAccessHint", &true).with("vendorHint", &json!({"tier": 1}));
    annotations
}

/// Fields that a function refines.
fn by_function() -> JsonTool {
    let schema = json!({"type": "object", "properties": {"mode": {"type": "string"}}});
    JsonTool::new("sync", &schema, |_, _| async { Ok("done") }).annotations(declared()).effects_by(
        Hints::DELETES,
        |args| match args["mode"].as_str() {
            Some("local") => Hints::READS
                .closed_world()
                .with("networkAccessHint", false)
                .with("costHint", json!({"credits": [0, null]})),
            Some("renamed") => Hints::ADDS.with("title", "Sync, adding"),
            Some("plain") => Annotations::from(Hints::ADDS),
            Some("lies") => Hints::DELETES.with("readOnlyHint", true),
            Some("numbered") => Hints::ADDS.with("title", 7),
            _ => Hints::DELETES.into(),
        },
    )
}

/// The same fields from rows.
fn by_table() -> JsonTool {
    let schema = json!({
        "type": "object", "required": ["mode"],
        "properties": {"mode": {"type": "string", "enum": ["local", "remote"]}},
    });
    let row = |mode: &str| EffectRow::when("mode", Condition::equals(mode));
    let local = Hints::READS
        .with("networkAccessHint", false)
        .with("costHint", json!({"credits": [0, null]}));
    let table = EffectTable::new()
        .row(row("local").then(local))
        .row(row("remote").then(Hints::DELETES))
        .closed_world();
    JsonTool::new("sync", &schema, |_, _| async { Ok("done") })
        .annotations(declared())
        .effects(table)
}

fn about(mode: &str) -> Value {
    json!({"name": "sync", "arguments": {"mode": mode}})
}

/// The annotations of the local call.
fn local() -> Value {
    json!({
        "title": "Sync",
        "readOnlyHint": true, "destructiveHint": false, "idempotentHint": true, "openWorldHint": false,
        "networkAccessHint": false,
        "vendorHint": {"tier": 1},
        "costHint": {"credits": [0, null]},
    })
}

/// The same without the hints.
fn local_fields() -> Value {
    let mut fields = local();
    let members = fields.as_object_mut().unwrap();
    members.retain(|name, _| !candor_hints::HINT_NAMES.contains(&name.as_str()));
    fields
}

#[tokio::test]
async fn refined_fields_are_in_annotations_and_in_meta() {
    let provided = || {
        let tool: Arc<dyn Tool> = Arc::new(by_function());
        server().tools_from(move || vec![tool.clone()])
    };
    let servers: [fn() -> Server; 2] =
        [|| server().tool(by_function()), || server().tool(by_table())];
    for site in [Site::of(servers[0]()), Site::of(servers[1]()), Site::of(provided())] {
        // The same request has the same result.
        for _ in 0..2 {
            for result in results(&site, ASK, &about("local")).await {
                assert_eq!(result["annotations"], local());
                assert_eq!(result["_meta"][OURS]["fields"], local_fields());
            }
        }
        for result in results(&site, ASK, &about("remote")).await {
            let declared =
                json!({"title": "Sync", "networkAccessHint": true, "vendorHint": {"tier": 1}});
            assert_eq!(result["annotations"]["destructiveHint"], true);
            assert_eq!(result["_meta"][OURS]["fields"], declared, "what every call has");
        }
    }
    for server in servers {
        let mut client = Client::of(server());
        let modern = client.ask(&lines::modern(1, ASK, &about("local"))).await;
        client.initialize("2025-06-18").await;
        let legacy = client.ask(&lines::request("two", ASK, &about("local"))).await;
        for answer in [modern, legacy] {
            assert_eq!(answer["result"]["annotations"], local());
            assert_eq!(answer["result"]["_meta"][OURS]["fields"], local_fields());
        }
    }
}

#[tokio::test]
async fn title_of_a_call_replaces_the_declared_one() {
    for result in results(&Site::of(server().tool(by_function())), ASK, &about("renamed")).await {
        assert_eq!(result["annotations"]["title"], "Sync, adding");
        assert_eq!(result["annotations"]["networkAccessHint"], true);
    }
}

/// The draft has only the four hints, so what is declared for all calls is not repeated there.
#[tokio::test]
async fn resolved_tool_has_the_refined_fields_and_no_others() {
    let site = Site::of(server().tool(by_function()));
    let able = json!({"extensions": {RESOLUTION: {}}});
    let session = Session::able(&site, &able).await;
    for (mode, refined) in [
        ("local", json!({"networkAccessHint": false, "costHint": {"credits": [0, null]}})),
        ("plain", json!({})),
    ] {
        let mut params = about(mode);
        let legacy = session.request("tools/resolve", &params).await.result().await;
        params["_meta"][CAPABILITIES_KEY] = able.clone();
        let modern = site.send(modern("tools/resolve", &params)).await.result().await;
        for mut result in [legacy, modern] {
            let members = result["annotations"].as_object_mut().unwrap();
            for hint in candor_hints::HINT_NAMES {
                assert!(members.remove(hint).is_some_and(|hint| hint.is_boolean()), "{hint}");
            }
            assert_eq!(result["annotations"], refined);
            let mirror = result["_meta"][OURS].get("fields").cloned();
            assert_eq!(mirror.unwrap_or_else(|| json!({})), refined);
        }
    }
}

#[tokio::test]
async fn hint_among_the_fields_is_refused() {
    let site = Site::of(server().tool(by_function()));
    for mode in ["lies", "numbered"] {
        for error in errors(&site, ASK, &about(mode), -32603).await {
            assert!(!error["message"].as_str().unwrap().contains("Hint"), "{error}");
        }
    }
    let refused = |row: EffectRow| {
        let tool =
            JsonTool::open("t", |_, _| async { Ok("") }).effects(EffectTable::new().row(row));
        server().tool(tool).build().expect_err("an invalid row").to_string()
    };
    assert_eq!(
        refused(EffectRow::otherwise(Hints::DELETES.with("destructiveHint", false))),
        "tool \"t\": row 1 of its effects (`otherwise`): the field `destructiveHint` is one of the four hints: set it with `Hints`"
    );
    let title =
        refused(EffectRow::when("a", Condition::Present).then(Hints::READS.with("title", 7)));
    assert!(title.contains("`title` is 7, but it must be a string"), "{title}");
}

#[tokio::test]
async fn partial_arguments_have_no_refined_fields() {
    let site = Site::of(server().tool(by_table()));
    let mut partial = json!({"name": "sync", "arguments": {}});
    partial["_meta"] = json!({OURS: {"partial": true}});
    for result in results(&site, ASK, &partial).await {
        assert_eq!(result["annotations"]["networkAccessHint"], true);
        assert!(result["annotations"].get("costHint").is_none());
    }
}

#[tokio::test]
async fn split_tool_lists_the_fields_of_its_row() {
    let site = Site::of(server().tool(by_table()).split(Split::Instead));
    for result in results(&site, "tools/list", &json!({})).await {
        assert_eq!(result["tools"][0]["name"], "sync_local");
        assert_eq!(result["tools"][0]["annotations"]["networkAccessHint"], false);
        assert_eq!(result["tools"][1]["annotations"]["networkAccessHint"], true);
    }
}
