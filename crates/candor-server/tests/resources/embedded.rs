//! Embedded resources: their advice stands inside, and beside for those who look only there.

use candor_server::Server;
use candor_server::prompt::{self, Prompt};
use candor_server::protocol::json::{Decode, Number, raw};
use candor_server::protocol::types::{Annotations, Content, EmbeddedResource, ResourceContents};
use serde_json::{Value, json};

use crate::common::{server, tool};
use crate::{everywhere, everywhere_knowing, knowing};

fn advice(priority: f64) -> Annotations {
    let mut annotations = Annotations::new();
    annotations.priority = Number::from_f64(priority);
    annotations
}

/// A picture with advice outside, inside, or in both places.
fn picture(outside: Option<f64>, inside: Option<f64>) -> EmbeddedResource {
    let mut resource = ResourceContents::of_blob("docs:///dot", "image/png", "AA==");
    resource.name = Some("dot".to_owned());
    resource.annotations = inside.map(advice);
    let mut embedded = EmbeddedResource::new(resource);
    embedded.annotations = outside.map(advice);
    embedded
}

/// Where advice can stand, and which counts then.
const PLACES: [(Option<f64>, Option<f64>, Option<f64>); 4] = [
    (Some(0.25), None, Some(0.25)),
    (None, Some(0.75), Some(0.75)),
    (Some(0.25), Some(0.75), Some(0.75)),
    (None, None, None),
];

/// A tool and a prompt for each way to say it.
fn showing() -> Server {
    let each = PLACES.into_iter().enumerate();
    each.fold(server(), |server, (n, (outside, inside, _))| {
        let name = format!("show{n}");
        let asked = Prompt::new(&name, move |_, _| async move {
            Ok(prompt::user(Content::from(picture(outside, inside))))
        });
        let shown = tool(&name, move |_, _| async move { Ok(picture(outside, inside)) });
        server.tool(shown).prompt(asked)
    })
}

/// The block that a tool and a prompt give.
async fn shown(peer: &mut crate::Peer<'_>, n: usize) -> [Value; 2] {
    let params = json!({"name": format!("show{n}")});
    let mut called = peer.result("tools/call", &params).await;
    let mut prompted = peer.result("prompts/get", &params).await;
    [called["content"][0].take(), prompted["messages"][0]["content"].take()]
}

#[tokio::test(start_paused = true)]
async fn annotations_are_inside_the_embedded_resource() {
    for known in [json!({}), knowing()] {
        everywhere_knowing(&known, showing, async |peer| {
            for (n, (_, _, counts)) in PLACES.into_iter().enumerate() {
                let counts = counts.map(|priority| json!({"priority": priority}));
                for block in shown(peer, n).await {
                    assert_eq!(block["type"], "resource");
                    assert_eq!(block["resource"]["name"], "dot");
                    assert_eq!(block["resource"]["blob"], "AA==");
                    assert_eq!(block["resource"].get("annotations"), counts.as_ref(), "{block}");
                }
            }
        })
        .await;
    }
}

#[tokio::test(start_paused = true)]
async fn annotations_are_also_outside_without_the_extension() {
    everywhere(showing, async |peer| {
        for (n, (_, _, counts)) in PLACES.into_iter().enumerate() {
            let counts = counts.map(|priority| json!({"priority": priority}));
            for block in shown(peer, n).await {
                assert_eq!(block.get("annotations"), counts.as_ref(), "{block}");
            }
        }
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn annotations_are_only_inside_with_the_extension() {
    everywhere_knowing(&knowing(), showing, async |peer| {
        for n in 0..PLACES.len() {
            for block in shown(peer, n).await {
                assert_eq!(block.get("annotations"), None, "{block}");
            }
        }
    })
    .await;
}

/// Annotations of other blocks stay beside their content.
#[tokio::test(start_paused = true)]
async fn annotations_of_text_stay_on_the_block() {
    let noting = || {
        server().tool(tool("note", |_, _| async {
            let mut text = candor_server::protocol::types::TextContent::new("hi");
            text.annotations = Some(advice(0.5));
            Ok(text)
        }))
    };
    for known in [json!({}), knowing()] {
        everywhere_knowing(&known, noting, async |peer| {
            let result = peer.result("tools/call", &json!({"name": "note"})).await;
            let expected = json!({"type": "text", "text": "hi", "annotations": {"priority": 0.5}});
            assert_eq!(result["content"], json!([expected]));
        })
        .await;
    }
}

fn decoded(block: &Value) -> EmbeddedResource {
    let text = raw(block);
    match Content::decode((&*text).into()).unwrap() {
        Content::Resource(embedded) => embedded,
        other => panic!("an embedded resource: {other:?}"),
    }
}

fn written(embedded: &EmbeddedResource) -> Value {
    serde_json::to_value(Content::from(embedded.clone())).unwrap()
}

#[test]
fn annotations_outside_the_resource_are_decoded() {
    let resource = json!({"uri": "docs:///dot", "text": "."});
    let outside =
        json!({"type": "resource", "resource": resource, "annotations": {"priority": 0.2}});
    let mut both = outside.clone();
    both["resource"]["annotations"] = json!({"priority": 0.8});
    let mut inside = both.clone();
    inside.as_object_mut().unwrap().remove("annotations");
    let priority =
        |block: &Value| decoded(block).advice().unwrap().priority.as_ref().unwrap().as_f64();
    assert_eq!(priority(&outside), 0.2);
    assert_eq!(priority(&inside), 0.8);
    assert_eq!(priority(&both), 0.8, "the inner one wins");

    let mut settled = decoded(&outside);
    settled.settle_advice(false);
    let mut expected = inside.clone();
    expected["resource"]["annotations"]["priority"] = json!(0.2);
    assert_eq!(written(&settled), expected);
    settled.settle_advice(true);
    expected["annotations"] = json!({"priority": 0.2});
    assert_eq!(written(&settled), expected);
}
