//! What a description says of the parts of a split tool: what is true of each.

use candor_server::AskLevel;
use candor_server::hints::{Condition, EffectRow, EffectTable, Hints};
use candor_server::testing::TestClient;
use candor_server::tool::{JsonTool, RateLimit, Split, ToolError};
use serde_json::{Value, json};

use crate::{Counter, of, server};

fn files(by: &Counter) -> JsonTool {
    let row =
        |action: &str, hints| EffectRow::when("action", Condition::equals(action)).then(hints);
    let table = EffectTable::new()
        .row(row("read", Hints::READS))
        .row(row("append", Hints::ADDS))
        .row(row("delete", Hints::DELETES.idempotent()));
    let mut schema = of(&["path", "action"]);
    schema["properties"]["action"]["enum"] = json!(["read", "append", "delete"]);
    by.tool("files", &schema).description("Files").effects(table)
}

async fn said(client: &TestClient, tool: &str) -> String {
    client.tool(tool).await.description.unwrap()
}

#[tokio::test]
async fn descriptions_state_only_facts_of_every_call() {
    let counter = Counter::default();
    let client =
        server().tool(files(&counter).rate(RateLimit::per_minute(10))).split(Split::Beside).test();
    assert_eq!(said(&client, "files").await, "Files. Max 10 calls per minute.");
    let read = said(&client, "files_read").await;
    assert!(read.ends_with(") Max 10 calls per minute."), "{read}");
    let append = said(&client, "files_append").await;
    assert!(
        append.ends_with(") Not safe to retry with same inputs. Max 10 calls per minute."),
        "{append}"
    );
    let delete = said(&client, "files_delete").await;
    assert!(
        delete.ends_with(
            ") This cannot be undone. Safe to retry with same inputs. Max 10 calls per minute."
        ),
        "{delete}"
    );
}

#[tokio::test]
async fn generated_sentences_appear_only_in_the_list() {
    let counter = Counter::default();
    let tool = files(&counter).undo("files").preview(|_, _| async { Ok::<_, ToolError>("") });
    let set = candor_server::tool::ToolSet::new([std::sync::Arc::new(tool) as _]).unwrap();
    let kept: Vec<_> = set.definitions().map(|tool| tool.description.clone().unwrap()).collect();
    assert_eq!(kept[0], "Files");
    let tool = files(&counter).undo("files").preview(|_, _| async { Ok::<_, ToolError>("") });
    let client = server().tool(tool).split(Split::Instead).test();
    let names: Vec<_> = client.tools().await.into_iter().map(|tool| tool.name).collect();
    assert_eq!(names, ["files_read", "files_append", "files_delete", "preview_files"]);
    let append = said(&client, "files_append").await;
    assert!(
        append.ends_with(
            ") Call preview_files first to review changes. Can be reverted with `files`. Not safe to retry with same inputs."
        ),
        "{append}"
    );
    assert!(!said(&client, "files_read").await.contains("preview_files"));
}

#[tokio::test]
async fn descriptions_state_which_calls_need_approval() {
    const APPROVAL: &str = "Requires human approval before executing.";
    let counter = Counter::default();
    let of = |ask: AskLevel| server().tool(files(&counter)).split(Split::Beside).ask(ask).test();
    let saying = |ask: AskLevel| {
        let client = of(ask);
        async move {
            let mut names = Vec::new();
            for tool in client.tools().await {
                if tool.description.unwrap().contains(APPROVAL) {
                    names.push(tool.name);
                }
            }
            names
        }
    };
    assert!(saying(AskLevel::Never).await.is_empty());
    assert_eq!(saying(AskLevel::Destructive).await, ["files_delete"]);
    assert_eq!(saying(AskLevel::Writes).await, ["files_append", "files_delete"]);
    assert_eq!(saying(AskLevel::Always).await.len(), 4);
}

#[tokio::test]
async fn reading_call_needs_no_preview() {
    let counter = Counter::default();
    let tool = files(&counter).requires_preview().preview(|_, _| async { Ok::<_, ToolError>("") });
    let client = server().tool(tool).test();
    let schema: Value =
        serde_json::from_str(client.tool("files").await.input_schema.get()).unwrap();
    assert!(schema["properties"]["plan_token"].is_object());
    assert_eq!(schema["required"], json!(["path", "action"]));
    assert!(!client.call("files", json!({"path": "a", "action": "read"})).await.is_error());
    let delete = client.call("files", json!({"path": "a", "action": "delete"})).await;
    assert_eq!(delete.code(), Some("preview_required"));
}
