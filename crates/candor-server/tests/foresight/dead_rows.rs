//! Rows that no call can match, as authors and the callers of a provider see them.

use std::sync::Arc;

use candor_hints::{Condition, EffectRow, EffectTable, Hints};
use candor_server::tool::{JsonTool, Split, Tool};
use serde_json::json;

use crate::common::{Site, server};
use crate::{errors, files_schema, results};

/// A slip that makes deletions read-only: no call is named `delet`, and everything else only reads.
fn slip() -> JsonTool {
    let table = EffectTable::new()
        .row(EffectRow::when("action", Condition::equals("delet")).then(Hints::DELETES))
        .row(EffectRow::otherwise(Hints::READS));
    JsonTool::new("manage_files", &files_schema(), |_, _| async { Ok("done") }).effects(table)
}

#[test]
fn row_that_no_call_matches_does_not_build() {
    let error = server().tool(slip()).build().expect_err("a dead row is refused").to_string();
    assert_eq!(
        error,
        r#"tool "manage_files": row 1 of its effects (`action is "delet"`) never matches: no call has `action is "delet"`. Values of /action: "read", "append", "replace", "delete"; did you mean "delete"?"#
    );
    assert!(server().tool(slip()).split(Split::Instead).build().is_err());
}

/// A provider's other tools stay, and nothing is promised of this one.
#[tokio::test]
async fn provided_tool_with_a_dead_row_is_listed_and_its_calls_are_refused() {
    let fine = || JsonTool::open("fine", |_, _| async { Ok("done") }).hints(Hints::READS);
    let site =
        Site::of(server().tools_from(move || -> Vec<Arc<dyn Tool>> {
            vec![Arc::new(slip()), Arc::new(fine())]
        }));
    for result in results(&site, "tools/list", &json!({})).await {
        let tools = result["tools"].as_array().unwrap();
        assert_eq!(tools.len(), 2);
        assert!(
            tools[0].get("dynamicAnnotations").is_none() && tools[0].get("annotations").is_none()
        );
    }
    let call = json!({"name": "manage_files", "arguments": {"path": "a", "action": "delete"}});
    for error in errors(&site, "tools/annotations", &call, -32602).await {
        assert!(error["message"].as_str().unwrap().contains("never matches"), "{error}");
    }
    for result in results(&site, "tools/call", &call).await {
        let text = result["content"][0]["text"].as_str().unwrap();
        assert!(result["isError"] == true && text.contains(r#"did you mean "delete"?"#), "{text}");
    }
    let fine = json!({"name": "fine", "arguments": {}});
    for result in results(&site, "tools/call", &fine).await {
        assert_eq!(result["content"][0]["text"], "done");
    }
}
