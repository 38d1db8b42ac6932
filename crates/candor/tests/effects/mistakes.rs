//! Mistakes that the compiler cannot see: the server is not built, and says why.

use candor::json;
use candor::prelude::*;

use crate::{both, refused};

#[candor::args]
struct Query {
    text: String,
}

#[tool(effects(text == "a" => read_only, text.one_of("b", "a") => additive, text == "b" => destructive))]
fn shadowed(query: Query) {
    let _ = query.text;
}

#[tool(effects(otherwise => additive, text == "a" => read_only))]
fn closed_too_early(query: Query) {
    let _ = query.text;
}

#[tokio::test]
async fn a_row_that_is_never_reached_is_refused() {
    let reason = refused(tools![shadowed]);
    assert_eq!(
        reason,
        r#"tool "shadowed": row 3 of its effects is never reached: an earlier row asks the same"#
    );
    let reason = refused(tools![closed_too_early]);
    assert!(reason.contains("row 2"), "{reason}");
}

#[tool(effects(txt == "a" => read_only))]
fn misspelt(query: Query) {
    let _ = query.text;
}

#[tool(effects(query.text == "a" => read_only))]
fn one_too_deep(query: Query) {
    let _ = query.text;
}

#[tokio::test]
async fn an_argument_that_there_is_not_is_refused() {
    let reason = refused(tools![misspelt]);
    assert_eq!(reason, r#"tool "misspelt": its effects ask about /txt, which is no argument"#);
}

#[tokio::test]
async fn a_member_of_an_argument_that_there_is_not_is_refused() {
    let reason = refused(tools![one_too_deep]);
    assert!(reason.contains("/query"), "{reason}");
}

#[tool(effects(text == "a" => read_only))]
fn sound(query: Query) {
    let _ = query.text;
}

#[tokio::test]
async fn questions_about_calls_that_cannot_be_made_are_answered_like_the_calls() {
    for client in both(|| tools![sound]) {
        let ask = |params| client.request("tools/annotations", params);
        let unknown = ask(json!({"name": "solid", "arguments": {}})).await.unwrap_err();
        assert_eq!((unknown.code(), &*unknown.message), (-32602, "Unknown tool: solid"));
        for arguments in [json!({}), json!({"text": 1}), json!({"text": "a", "more": 1})] {
            let refused = ask(json!({"name": "sound", "arguments": arguments})).await.unwrap_err();
            assert_eq!(refused.code(), -32602, "{arguments}");
            assert!(client.call("sound", arguments).await.is_error());
        }
    }
}
