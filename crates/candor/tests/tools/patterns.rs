//! Patterns that no linear engine runs, in the schemas of tools.

use std::time::{Duration, Instant};

use candor::json;
use candor::testing::TestResult;
use candor::tool::{JsonTool, ToolError};
use serde_json::Value;

use crate::Tools;
use crate::ways::both_ways;

fn takes(pattern: &str) -> JsonTool {
    let text = json!({"type": "string", "pattern": pattern});
    let schema = json!({"type": "object", "properties": {"text": text}, "required": ["text"]});
    JsonTool::new("check", &schema, |_, _| async { Ok::<_, ToolError>("fits") }).unclassified()
}

fn tools(pattern: &str) -> Tools {
    vec![std::sync::Arc::new(takes(pattern))]
}

fn complaint(called: &TestResult) -> Option<&str> {
    let raw = called.raw();
    (raw["isError"] == json!(true)).then(|| raw["content"][0]["text"].as_str().unwrap())
}

#[tokio::test]
async fn look_around_and_back_references_are_enforced() {
    for (pattern, fits, fails) in [
        (r"^(?=.*[A-Z])(?=.*\d).{8,}$", "Abcdefg1", "abcdefg1"),
        (r"^(?!admin$)\w+$", "admins", "admin"),
        (r"^(['\u0022]).*\1$", "'a'", "'a\""),
    ] {
        for ways in both_ways(|| tools(pattern)).await {
            assert_eq!(ways.tool("check").await.input_schema.get().matches("pattern").count(), 1);
            let called = ways.call("check", json!({"text": fits})).await;
            assert_eq!(complaint(&called), None, "{pattern}");
            let called = ways.call("check", json!({"text": fails})).await;
            assert!(complaint(&called).unwrap().contains("/text: "), "{pattern}: {called:?}");
        }
    }
}

#[tokio::test]
async fn value_that_takes_too_many_steps_is_refused_in_time() {
    let text: Value = "a".repeat(100).into();
    for ways in both_ways(|| tools(r"^(?!(a+)+$)|(?=(a+)+b)")).await {
        let begun = Instant::now();
        let called = ways.call("check", json!({"text": text})).await;
        assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", begun.elapsed());
        let said = complaint(&called).unwrap();
        assert!(said.contains("too costly to check"), "{said}");
    }
}
