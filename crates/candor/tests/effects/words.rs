//! Effects in words: all four hints follow from them, and the effect itself is in `_meta`.

use candor::json;
use candor::prelude::*;
use serde_json::Value;

use crate::{Tools, both, foreseen, hints, published, reads, server, worst};

macro_rules! tools_in_words {
    ($($name:ident ($($words:ident),+): $effect:literal, $means:expr;)*) => {
        $(
            #[tool($($words),+)]
            fn $name() {}
        )*

        fn summary() -> Tools {
            tools![depends, $($name),*]
        }

        fn expected() -> Vec<(&'static str, &'static str, Value)> {
            vec![$((stringify!($name), $effect, $means)),*]
        }
    };
}

/// So that there is something to ask at all.
#[tool(effects(dry == true => reads, dry == false => deletes))]
fn depends(dry: bool) -> bool {
    dry
}

tools_in_words! {
    looks(reads): "reads", reads();
    looks_here(reads, closed_world): "reads", hints(true, false, true, false);
    appends(adds): "adds", hints(false, false, false, true);
    makes(adds, idempotent): "adds", hints(false, false, true, true);
    sets(changes): "changes", worst();
    replaces(changes, idempotent, closed_world): "changes", hints(false, true, true, false);
    removes(deletes): "deletes", worst();
    empties(deletes, idempotent, closed_world): "deletes", hints(false, true, true, false);
    in_any_order(closed_world, adds): "adds", hints(false, false, false, false);
}

#[tool(unclassified)]
fn anything() {}

#[tokio::test]
async fn classified_tool_publishes_all_four_hints_and_its_effect() {
    for client in both(summary) {
        for (name, effect, hints) in expected() {
            let tool = published(&client, name).await;
            assert_eq!(tool["annotations"], hints, "{tool}");
            assert_eq!(tool["_meta"]["dev.candor/dynamic-annotations"]["effect"], effect, "{tool}");
            assert_eq!(tool.get("dynamicAnnotations"), None, "{tool}");
        }
    }
}

#[tokio::test]
async fn evaluation_returns_all_four_hints_and_the_effect() {
    for client in both(summary) {
        for (name, effect, hints) in expected() {
            assert_eq!(foreseen(&client, name, json!({})).await, hints, "{name}");
            let told = client.hints(name, json!({})).await;
            assert_eq!(told.effect().as_str(), effect, "{name}");
        }
    }
}

#[tokio::test]
async fn unclassified_tool_publishes_no_hints_and_is_the_worst_case() {
    for client in both(|| tools![depends, anything]) {
        assert_eq!(published(&client, "anything").await.get("annotations"), None);
        assert_eq!(foreseen(&client, "anything", json!({})).await, worst());
    }
}

#[tokio::test]
async fn server_with_only_static_effects_does_not_offer_evaluation() {
    let client = server(tools![looks, anything]).test();
    let capabilities = client.request("server/discover", ()).await.unwrap()["capabilities"].clone();
    assert_eq!(capabilities["tools"].get("dynamicAnnotations"), None);
    let params = json!({"name": "looks", "arguments": {}});
    assert_eq!(client.request("tools/annotations", params).await.unwrap_err().code(), -32601);
}
