//! Fields of annotations beside the four hints reach the host, from servers that know nothing of ours and from ours.

mod common;

use std::future::IntoFuture as _;

use candor::Server;
use candor::tool::{JsonTool, ToolError};
use candor_client::{EffectSource, Hints, HostPolicy, Trust, Verdict};
use serde_json::{Value, json};

use common::scripted::{Say, Scripted, modern, tools};
use common::{everywhere, soon};

const OURS: &str = "dev.candor/dynamic-annotations";

fn worst() -> Value {
    json!({"readOnlyHint": false, "destructiveHint": true, "idempotentHint": false, "openWorldHint": true,
           "networkAccessHint": true, "title": "Manage"})
}

/// A server whose tool is declared as the worst case, and that answers this of its calls.
async fn server(capabilities: Value, meta: Value, answer: Value) -> Scripted {
    modern(capabilities, move |asked| match asked.method.as_str() {
        "tools/list" => tools(&json!([{
            "name": "manage", "inputSchema": {"type": "object"}, "annotations": worst(),
            "dynamicAnnotations": true, "_meta": meta,
        }])),
        "tools/annotations" | "tools/resolve" => Say::Result(answer.clone()),
        other => panic!("{other}"),
    })
    .await
}

fn hints(read_only: bool) -> Value {
    json!({"readOnlyHint": read_only, "destructiveHint": !read_only, "idempotentHint": true, "openWorldHint": false})
}

/// An answer with these hints, fields in annotations, and fields in metadata.
fn answer(fields: &Value, mirror: &Value) -> Value {
    let mut annotations = hints(true);
    annotations.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    json!({
        "resultType": "complete", "name": "manage", "annotations": annotations,
        "_meta": {OURS: {"fields": mirror}},
    })
}

#[tokio::test]
async fn extra_fields_of_an_answer_reach_the_host() {
    let fields = json!({"networkAccessHint": false, "costHint": {"credits": [1.50, null]}});
    let annotates = json!({"tools": {"dynamicAnnotations": true}});
    let resolution = "io.modelcontextprotocol/tool-resolution";
    let resolves = json!({"tools": {}, "extensions": {resolution: {}}});
    let resolvable = json!({resolution: {"resolvable": true}});
    let nothing = json!({});
    for (capabilities, meta) in [(annotates, json!({})), (resolves, resolvable)] {
        for (said, expected) in [
            (answer(&fields, &nothing), &fields),
            // A proxy has dropped the members that it does not know.
            (answer(&nothing, &fields), &fields),
            (answer(&fields, &json!({"networkAccessHint": true})), &fields),
            (answer(&nothing, &nothing), &nothing),
        ] {
            let server = server(capabilities.clone(), meta.clone(), said).await;
            let client = soon(server.client().trust(Trust::Trusted).into_future()).await.unwrap();
            let explanation = soon(client.explain("manage", &json!({}))).await.unwrap();
            assert_eq!(
                (explanation.basis, explanation.hints),
                (EffectSource::Asked, Hints::READS.closed_world())
            );
            assert_eq!(&json!(explanation.fields), expected);

            let client = soon(server.client().into_future()).await.unwrap();
            let explanation = soon(client.explain("manage", &json!({}))).await.unwrap();
            assert_eq!(&json!(explanation.fields), expected, "of an untrusted server, too");
            assert_eq!((explanation.hints, explanation.verdict), (Hints::WORST, Verdict::Ask));
        }
    }
}

#[tokio::test]
async fn extra_fields_never_make_a_call_safer() {
    let lies = json!({"readOnlyHint": true, "destructiveHint": false, "effect": "reads"});
    let mut said = answer(&json!({}), &lies);
    said["annotations"] = hints(false);
    let server = server(json!({"tools": {"dynamicAnnotations": true}}), json!({}), said).await;
    let client = soon(server.client().trust(Trust::Trusted).into_future()).await.unwrap();
    let explanation = soon(client.explain("manage", &json!({}))).await.unwrap();
    assert!(explanation.hints.is_destructive() && explanation.verdict == Verdict::Ask);
    assert_eq!(json!(explanation.fields), json!({"effect": "reads"}), "a hint is no field");
}

#[tokio::test]
async fn extra_fields_without_an_answer_are_those_of_the_tool() {
    let server = modern(json!({"tools": {}}), |asked| match asked.method.as_str() {
        "tools/list" => tools(&json!([{
            "name": "manage", "inputSchema": {"type": "object"}, "annotations": worst(),
        }])),
        other => panic!("{other}"),
    })
    .await;
    let client = soon(server.client().trust(Trust::Trusted).into_future()).await.unwrap();
    let explanation = soon(client.explain("manage", &json!({}))).await.unwrap();
    assert_eq!(explanation.basis, EffectSource::Declared);
    assert_eq!(json!(explanation.fields), json!({"networkAccessHint": true, "title": "Manage"}));
}

#[tokio::test]
async fn extra_fields_of_our_server_reach_the_host_in_both_eras() {
    let server = || {
        let tool = JsonTool::open("sync", |_, _| async { Ok::<_, ToolError>("done") });
        Server::new("s", "1").tool(tool.effects_by(Hints::DELETES, |args| {
            let local = args["local"] == true;
            if local { Hints::READS } else { Hints::DELETES }.with("networkAccessHint", !local)
        }))
    };
    everywhere(server, |way, connect| async move {
        let connect =
            connect.trust(Trust::Trusted).policy(HostPolicy::default().cache_evaluations());
        let client = soon(connect.into_future()).await.expect(&way);
        for local in [true, false, true] {
            let explanation =
                soon(client.explain("sync", &json!({"local": local}))).await.expect(&way);
            assert_eq!(json!(explanation.fields), json!({"networkAccessHint": !local}), "{way}");
            assert_eq!(explanation.hints.is_read_only(), local, "{way}");
        }
    })
    .await;
}
