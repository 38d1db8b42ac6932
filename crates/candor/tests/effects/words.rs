//! Effects in words: what is declared is published, exactly and no more; what is asked for is always all four.

use candor::json;
use candor::prelude::*;
use serde_json::Value;

use crate::{Tools, both, foreseen, hints, published, reads, server, worst};

macro_rules! tools_in_words {
    ($($name:ident ($($words:ident),+): $published:expr, $means:expr;)*) => {
        $(
            #[tool($($words),+)]
            fn $name() {}
        )*

        fn in_words() -> Tools {
            tools![depends, $($name),*]
        }

        fn expected() -> Vec<(&'static str, Value, Value)> {
            vec![$((stringify!($name), $published, $means)),*]
        }
    };
}

/// So that there is something to ask at all.
#[tool(effects(dry == true => read_only, dry == false => destructive))]
fn depends(dry: bool) -> bool {
    dry
}

tools_in_words! {
    looks(read_only): json!({"readOnlyHint": true}), reads();
    looks_here(read_only, closed_world):
        json!({"readOnlyHint": true, "openWorldHint": false}), hints(true, false, true, false);
    adds(additive): json!({"readOnlyHint": false, "destructiveHint": false}), hints(false, false, false, true);
    sets(additive, idempotent):
        json!({"readOnlyHint": false, "destructiveHint": false, "idempotentHint": true}),
        hints(false, false, true, true);
    removes(destructive): json!({"readOnlyHint": false, "destructiveHint": true}), worst();
    empties(destructive, idempotent, closed_world):
        json!({"readOnlyHint": false, "destructiveHint": true, "idempotentHint": true, "openWorldHint": false}),
        hints(false, true, true, false);
    in_any_order(closed_world, additive):
        json!({"readOnlyHint": false, "destructiveHint": false, "openWorldHint": false}),
        hints(false, false, false, false);
}

#[tool(unclassified)]
fn anything() {}

#[tokio::test]
async fn what_is_declared_is_published_and_nothing_else() {
    for client in both(in_words) {
        for (tool, annotations, _) in expected() {
            let tool = published(&client, tool).await;
            assert_eq!(tool["annotations"], annotations, "{tool}");
            assert_eq!(tool.get("dynamicAnnotations"), None, "{tool}");
        }
    }
}

#[tokio::test]
async fn who_asks_is_told_all_four() {
    for client in both(in_words) {
        for (tool, _, means) in expected() {
            assert_eq!(foreseen(&client, tool, json!({})).await, means, "{tool}");
        }
    }
}

#[tokio::test]
async fn an_unclassified_tool_publishes_nothing_and_is_the_worst_case() {
    for client in both(|| tools![depends, anything]) {
        assert_eq!(published(&client, "anything").await.get("annotations"), None);
        assert_eq!(foreseen(&client, "anything", json!({})).await, worst());
    }
}

#[tokio::test]
async fn a_server_whose_tools_say_all_at_once_has_nothing_to_be_asked() {
    let client = server(tools![looks, anything]).test();
    let capabilities = client.request("server/discover", ()).await.unwrap()["capabilities"].clone();
    assert_eq!(capabilities["tools"].get("dynamicAnnotations"), None);
    let params = json!({"name": "looks", "arguments": {}});
    assert_eq!(client.request("tools/annotations", params).await.unwrap_err().code(), -32601);
}
