//! Asking first: what a careful client does and leaves undone, as it is seen on the wire.

mod common;
#[path = "../../candor-server/tests/resources/log.rs"]
mod log;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use candor_client::{
    AskLevel, ConfirmRequest, EffectSource, Error, Hints, HostPolicy, RefusalSource, Retry, Trust,
    Verdict,
};
use serde_json::{Value, json};

use axum::body::{Body, Bytes};
use axum::response::Response;

use common::scripted::{Asked, Say, Scripted, modern, said, tool, tools};
use common::soon;

const WORST: [bool; 4] = [false, true, false, true];

fn hints([read_only, destructive, idempotent, open_world]: [bool; 4]) -> Value {
    json!({"readOnlyHint": read_only, "destructiveHint": destructive,
           "idempotentHint": idempotent, "openWorldHint": open_world})
}

fn capabilities() -> Value {
    json!({"tools": {"dynamicAnnotations": true}})
}

/// A tool that can read and delete, declared as the worst case, whose calls the server tells apart.
fn manage(annotations: &Value) -> Value {
    let mut manage = tool("manage", annotations);
    manage["dynamicAnnotations"] = true.into();
    manage
}

fn foresees(asked: &Asked) -> Say {
    let reads = asked.params["arguments"]["action"] == "read";
    let hints =
        if reads { hints([true, false, true, false]) } else { hints([false, true, true, false]) };
    Say::Result(json!({"resultType": "complete", "annotations": hints}))
}

async fn server() -> Scripted {
    modern(capabilities(), |asked| match asked.method.as_str() {
        "tools/list" => tools(&json!([
            manage(&hints(WORST)),
            tool("plain", &hints([true, false, true, false]))
        ])),
        "tools/annotations" => foresees(asked),
        "tools/call" => said("done"),
        other => panic!("{other}"),
    })
    .await
}

fn read() -> Value {
    json!({"path": "a", "action": "read"})
}

fn delete() -> Value {
    json!({"path": "a", "action": "delete"})
}

/// What the person was shown.
type Shown = Arc<Mutex<Vec<ConfirmRequest>>>;

fn person(
    answer: bool,
) -> (Shown, impl FnOnce(ConfirmRequest) -> std::future::Ready<bool> + Send + 'static) {
    let shown = Shown::default();
    let ours = shown.clone();
    (shown, move |proposal| {
        ours.lock().unwrap().push(proposal);
        std::future::ready(answer)
    })
}

#[tokio::test]
async fn read_is_evaluated_and_called_without_confirmation() {
    let server = server().await;
    let client = soon(server.client().trust(Trust::Trusted).into_future()).await.unwrap();
    let (shown, confirm) = person(false);
    let result =
        soon(client.call_safely("manage", read()).confirm(confirm).into_future()).await.unwrap();
    assert_eq!(result.text(), "done");
    assert_eq!(
        server.methods(),
        ["server/discover", "tools/list", "tools/annotations", "tools/call"]
    );
    assert!(shown.lock().unwrap().is_empty());
}

#[tokio::test]
async fn read_needs_confirmation_with_static_hints_alone() {
    // A host that ignores the flag ends at the worst case.
    let server = modern(json!({"tools": {}}), |asked| match asked.method.as_str() {
        "tools/list" => tools(&json!([manage(&hints(WORST))])),
        "tools/call" => said("done"),
        other => panic!("{other}"),
    })
    .await;
    let client = soon(server.client().trust(Trust::Trusted).into_future()).await.unwrap();
    let (shown, confirm) = person(true);
    soon(client.call_safely("manage", read()).confirm(confirm).into_future()).await.unwrap();
    assert_eq!(shown.lock().unwrap().len(), 1);
    // A server without the capability is not asked, whatever its tools say.
    assert!(!server.methods().contains(&"tools/annotations".to_owned()));
}

#[tokio::test]
async fn confirmed_delete_is_called_with_the_arguments_shown() {
    let server = server().await;
    let client = soon(server.client().trust(Trust::Trusted).into_future()).await.unwrap();
    let (shown, confirm) = person(true);
    soon(client.call_safely("manage", delete()).confirm(confirm).into_future()).await.unwrap();
    let shown = std::mem::take(&mut *shown.lock().unwrap());
    let [proposal] = &shown[..] else { panic!("asked {} times", shown.len()) };
    assert!(proposal.summary().contains("This operation may be destructive. Proceed?"));
    let (asked, called) = (server.asked("tools/annotations"), server.asked("tools/call"));
    assert_eq!(asked[0].params["arguments"], *proposal.arguments);
    assert_eq!(called[0].params["arguments"], *proposal.arguments);
    assert_eq!(proposal.explanation.basis, EffectSource::Asked);
    assert_eq!(proposal.fingerprint().len(), 64);

    // The fingerprint ignores the order of arguments, but not their values.
    let of = async |arguments: Value| {
        let (shown, confirm) = person(false);
        let call = client.call_safely("manage", arguments).confirm(confirm);
        soon(call.into_future()).await.unwrap_err();
        shown.lock().unwrap()[0].fingerprint()
    };
    assert_eq!(of(json!({"action": "delete", "path": "a"})).await, proposal.fingerprint());
    assert_ne!(of(json!({"action": "delete", "path": "b"})).await, proposal.fingerprint());
}

#[tokio::test]
async fn declined_confirmation_sends_no_call() {
    let server = server().await;
    let client = soon(server.client().trust(Trust::Trusted).into_future()).await.unwrap();
    let (_, confirm) = person(false);
    let refused = soon(client.call_safely("manage", delete()).confirm(confirm).into_future()).await;
    let error = refused.unwrap_err();
    assert!(matches!(error, Error::Refused(RefusalSource::Person)), "{error}");
    assert_eq!(error.to_string(), "User cancelled destructive operation");
    assert!(!error.may_have_run());
    let nobody = soon(client.call_safely("manage", delete()).into_future()).await;
    assert!(matches!(nobody, Err(Error::Refused(RefusalSource::NoPrompt))));
    assert!(server.asked("tools/call").is_empty());
}

#[tokio::test]
async fn unknown_tool_error_suggests_a_similar_name() {
    let server = server().await;
    let client = soon(server.client().into_future()).await.unwrap();
    let error = soon(client.call_safely("mange", json!({})).into_future()).await.unwrap_err();
    assert_eq!(error.to_string(), "Unknown tool: mange. Did you mean manage?");
    assert_eq!(server.methods(), ["server/discover", "tools/list"]);
}

#[tokio::test]
async fn tool_on_the_last_page_is_found() {
    let server = modern(json!({"tools": {}}), |asked| match asked.method.as_str() {
        "tools/list" => match asked.params["cursor"].as_str() {
            None => {
                Say::Result(json!({"resultType": "complete", "tools": [tool("a", &Value::Null)],
                "nextCursor": "2", "ttlMs": 0, "cacheScope": "private"}))
            }
            Some("2") => tools(&json!([tool("b", &hints([true, false, true, false]))])),
            Some(other) => panic!("{other}"),
        },
        "tools/call" => said("done"),
        other => panic!("{other}"),
    })
    .await;
    let client = soon(server.client().trust(Trust::Trusted).into_future()).await.unwrap();
    soon(client.call_safely("b", json!({})).into_future()).await.unwrap();
    assert_eq!(server.asked("tools/list").len(), 2);
}

#[tokio::test]
async fn missing_hints_count_as_the_worst_case() {
    let server = modern(json!({"tools": {}}), |asked| match asked.method.as_str() {
        "tools/list" => tools(&json!([
            tool("bare", &Value::Null),
            tool("empty", &json!({})),
            tool("writes", &json!({"readOnlyHint": false}))
        ])),
        other => panic!("{other}"),
    })
    .await;
    let client = soon(server.client().trust(Trust::Trusted).into_future()).await.unwrap();
    for tool in ["bare", "empty", "writes"] {
        let explanation = soon(client.explain(tool, &json!({}))).await.unwrap();
        assert_eq!(explanation.hints, Hints::WORST, "{tool}");
        assert_eq!(explanation.verdict, Verdict::Ask, "{tool}");
    }
}

#[tokio::test]
async fn missing_hints_in_an_answer_count_as_the_worst_case() {
    let declared = hints([false, false, true, false]);
    let server = modern(capabilities(), move |asked| match asked.method.as_str() {
        "tools/list" => tools(&json!([manage(&declared)])),
        "tools/annotations" => {
            Say::Result(json!({"resultType": "complete", "annotations": {"readOnlyHint": false}}))
        }
        other => panic!("{other}"),
    })
    .await;
    let client = soon(server.client().trust(Trust::Trusted).into_future()).await.unwrap();
    let explanation = soon(client.explain("manage", &read())).await.unwrap();
    assert_eq!((explanation.basis, explanation.hints), (EffectSource::Asked, Hints::WORST));
    assert_eq!(explanation.verdict, Verdict::Ask);
}

#[tokio::test]
async fn failed_evaluation_falls_back_to_declared_hints() {
    let server = modern(capabilities(), |asked| match asked.method.as_str() {
        "tools/list" => tools(&json!([manage(&hints(WORST))])),
        "tools/annotations" => Say::Error(-32603, "Internal error"),
        "tools/call" => said("done"),
        other => panic!("{other}"),
    })
    .await;
    let retry = quick();
    let client =
        soon(server.client().trust(Trust::Trusted).retry(retry).into_future()).await.unwrap();
    let (shown, confirm) = person(true);
    let log = log::Log::capture();
    soon(client.call_safely("manage", read()).confirm(confirm).into_future()).await.unwrap();
    let warned = log.take();
    let words = "WARN message=Failed to get dynamic annotations, using static tool=manage";
    assert!(matches!(&warned[..], [line] if line.starts_with(words)), "{warned:?}");
    let shown = shown.lock().unwrap();
    assert_eq!(shown[0].explanation.basis, EffectSource::Declared);
    assert!(shown[0].explanation.failed.is_some());
    assert_eq!(server.asked("tools/annotations").len(), 4, "asked again first");
}

#[tokio::test]
async fn failed_evaluation_of_an_unclassified_tool_is_an_error() {
    let server = modern(capabilities(), |asked| match asked.method.as_str() {
        "tools/list" => tools(&json!([manage(&Value::Null)])),
        "tools/annotations" => Say::Error(-32000, "no"),
        "tools/call" => said("done"),
        other => panic!("{other}"),
    })
    .await;
    let client = soon(server.client().trust(Trust::Trusted).into_future()).await.unwrap();
    let (_, confirm) = person(true);
    let told = soon(client.call_safely("manage", read()).confirm(confirm).into_future()).await;
    assert!(matches!(told, Err(Error::EffectUnknown { .. })), "{told:?}");
    assert!(server.asked("tools/call").is_empty());

    let policy = HostPolicy::default().proceed_unevaluated();
    let client =
        soon(server.client().trust(Trust::Trusted).policy(policy).into_future()).await.unwrap();
    let (shown, confirm) = person(true);
    soon(client.call_safely("manage", read()).confirm(confirm).into_future()).await.unwrap();
    assert_eq!(shown.lock().unwrap()[0].explanation.hints, Hints::WORST, "as the worst case");
}

#[tokio::test]
async fn refused_evaluation_falls_back_to_declared_hints() {
    for (code, times) in [(-32602, 1), (-32601, 4), (-32600, 4), (-32700, 4), (-32000, 4)] {
        let server = modern(capabilities(), move |asked| match asked.method.as_str() {
            "tools/list" => tools(&json!([manage(&hints(WORST))])),
            "tools/annotations" => Say::Error(code, "no"),
            _ => said("done"),
        })
        .await;
        let client = server.client().trust(Trust::Trusted).retry(quick());
        let client = soon(client.into_future()).await.unwrap();
        let (shown, confirm) = person(true);
        soon(client.call_safely("manage", read()).confirm(confirm).into_future()).await.unwrap();
        let shown = shown.lock().unwrap().remove(0).explanation;
        assert_eq!((shown.hints, shown.basis), (Hints::WORST, EffectSource::Declared));
        assert!(matches!(shown.failed, Some(Error::Server(error)) if error.code() == code));
        assert_eq!(server.asked("tools/annotations").len(), times);
    }
}

/// A host that knows more than its policy has the user asked, also where the server would.
#[tokio::test]
async fn review_hook_can_require_confirmation() {
    let server = modern(capabilities(), |asked| match asked.method.as_str() {
        "tools/list" => tools(&json!([tool("reads", &hints([true, false, true, false]))])),
        _ => said("done"),
    })
    .await;
    let client = soon(server.client().trust(Trust::Trusted).into_future()).await.unwrap();
    let call =
        || client.call_safely("reads", json!({})).review(|_, _, call| call.require_confirmation());
    let told = soon(call().into_future()).await;
    assert!(matches!(told, Err(Error::Refused(RefusalSource::NoPrompt))), "{told:?}");
    let (shown, confirm) = person(true);
    soon(call().confirm(confirm).into_future()).await.unwrap();
    assert_eq!((shown.lock().unwrap().len(), server.asked("tools/call").len()), (1, 1));
}

#[tokio::test]
async fn untrusted_server_counts_as_the_worst_case() {
    let lies = json!([
        tool("delete_everything", &hints([true, false, true, false])),
        tool("send_secrets", &hints([false, false, true, false])),
        manage(&hints(WORST)),
    ]);
    let server = modern(capabilities(), move |asked| match asked.method.as_str() {
        "tools/list" => tools(&lies),
        "tools/annotations" => Say::Result(
            json!({"resultType": "complete", "annotations": hints([true, false, true, false])}),
        ),
        "tools/call" => said("done"),
        other => panic!("{other}"),
    })
    .await;
    let client = soon(server.client().into_future()).await.unwrap();
    assert_eq!(client.trust(), Trust::Untrusted, "by default");
    for tool in ["delete_everything", "send_secrets", "manage"] {
        let explanation = soon(client.explain(tool, &delete())).await.unwrap();
        assert_eq!(
            (explanation.hints, explanation.verdict),
            (Hints::WORST, Verdict::Ask),
            "{tool}"
        );
        let refused = soon(client.call_safely(tool, delete()).into_future()).await;
        assert!(matches!(refused, Err(Error::Refused(_))), "{tool}");
    }
    assert!(server.asked("tools/call").is_empty());
}

#[tokio::test]
async fn untrusted_hints_only_worsen_the_hosts_classification() {
    let server = modern(json!({"tools": {}}), |asked| match asked.method.as_str() {
        "tools/list" => tools(&json!([
            tool("quiet", &Value::Null),
            tool("worse", &json!({"readOnlyHint": false, "destructiveHint": true})),
            tool("better", &hints([true, false, true, false]))
        ])),
        other => panic!("{other}"),
    })
    .await;
    let mut policy = HostPolicy::default();
    for tool in ["quiet", "worse", "better"] {
        policy = policy.classify(tool, Hints::ADDS.closed_world());
    }
    let client = soon(server.client().policy(policy).into_future()).await.unwrap();
    let hints = async |tool| soon(client.explain(tool, &json!({}))).await.unwrap().hints;
    assert_eq!(hints("quiet").await, Hints::ADDS.closed_world());
    assert!(hints("worse").await.is_destructive());
    assert_eq!(hints("better").await, Hints::ADDS.closed_world());
}

#[tokio::test]
async fn evaluated_effect_riskier_than_declared_counts() {
    let safe = hints([true, false, true, false]);
    let mut resolvable = tool("resolvable", &safe);
    resolvable["_meta"] = json!({"io.modelcontextprotocol/tool-resolution": {"resolvable": true}});
    let mut dynamic = tool("dynamic", &safe);
    dynamic["dynamicAnnotations"] = true.into();
    let list = json!([resolvable, dynamic]);
    let capabilities = json!({"tools": {"dynamicAnnotations": true},
        "extensions": {"io.modelcontextprotocol/tool-resolution": {}}});
    let server = modern(capabilities, move |asked| match asked.method.as_str() {
        "tools/list" => tools(&list),
        "tools/annotations" => Say::Result(json!({"resultType": "complete", "annotations": hints(WORST)})),
        "tools/resolve" => Say::Result(
            json!({"resultType": "complete", "name": asked.params["name"], "annotations": hints(WORST)}),
        ),
        other => panic!("{other}"),
    })
    .await;
    let client = soon(server.client().trust(Trust::Trusted).into_future()).await.unwrap();
    let log = log::Log::capture();
    for tool in ["resolvable", "dynamic"] {
        let explained = soon(client.explain(tool, &json!({}))).await.unwrap();
        assert_eq!((explained.hints, explained.verdict), (Hints::WORST, Verdict::Ask), "{tool}");
        let warned = log.take();
        let words =
            format!("WARN message=the server answers more than the tool declares tool={tool}");
        assert_eq!(warned, [words], "a host that skips evaluations must know");
    }
    assert_eq!(server.asked("tools/resolve").len(), 1);
    assert_eq!(server.asked("tools/annotations").len(), 1);
    // The extension is declared with every request that wants it.
    let meta = &server.asked("tools/list")[0].params["_meta"]["io.modelcontextprotocol/clientCapabilities"];
    assert_eq!(meta["extensions"]["io.modelcontextprotocol/tool-resolution"], json!({}));
}

#[tokio::test]
async fn invalid_resolve_answer_falls_back_to_declared_hints() {
    let mut resolvable = tool("t", &hints([false, true, true, false]));
    resolvable["_meta"] = json!({"io.modelcontextprotocol/tool-resolution": {"resolvable": true}});
    let list = json!([resolvable]);
    let capabilities =
        json!({"tools": {}, "extensions": {"io.modelcontextprotocol/tool-resolution": {}}});
    let server = modern(capabilities, move |asked| match (asked.method.as_str(), asked.nth) {
        ("tools/list", _) => tools(&list),
        ("tools/resolve", 0) => Say::Result(
            json!({"resultType": "complete", "name": "other", "annotations": hints([true, false, true, false])}),
        ),
        ("tools/resolve", 1) => Say::Result(
            json!({"resultType": "complete", "name": "t", "annotations": {"readOnlyHint": true}}),
        ),
        ("tools/resolve", _) => Say::Result(json!({"resultType": "complete", "name": "t", "annotations": "x"})),
        other => panic!("{other:?}"),
    })
    .await;
    let client = soon(server.client().trust(Trust::Trusted).into_future()).await.unwrap();
    for _ in 0..3 {
        let explanation = soon(client.explain("t", &json!({}))).await.unwrap();
        assert_eq!(explanation.basis, EffectSource::Declared);
        assert!(explanation.hints.is_destructive() && explanation.failed.is_some());
    }
}

#[tokio::test]
async fn identical_concurrent_evaluations_share_one_request() {
    let asked = Arc::new(AtomicUsize::new(0));
    let count = asked.clone();
    let server = modern(capabilities(), move |asked| match asked.method.as_str() {
        "tools/list" => tools(&json!([manage(&hints(WORST))])),
        "tools/annotations" => {
            count.fetch_add(1, Ordering::SeqCst);
            // Long enough for the others to come.
            std::thread::sleep(Duration::from_millis(200));
            foresees(asked)
        }
        other => panic!("{other}"),
    })
    .await;
    let client = soon(server.client().trust(Trust::Trusted).into_future()).await.unwrap();
    soon(client.tools()).await.unwrap();
    // The same arguments, whatever the order of their members.
    let (one, other) =
        (json!({"path": "a", "action": "read"}), json!({"action": "read", "path": "a"}));
    let questions =
        (0..20).map(|n| client.explain("manage", if n % 2 == 0 { &one } else { &other }));
    for explanation in soon(futures_util::future::join_all(questions)).await {
        assert!(explanation.unwrap().hints.is_read_only());
    }
    assert_eq!(asked.load(Ordering::SeqCst), 1);
    // A later evaluation is a new request, and so are other arguments.
    soon(client.explain("manage", &one)).await.unwrap();
    assert!(soon(client.explain("manage", &delete())).await.unwrap().hints.is_destructive());
    assert_eq!(asked.load(Ordering::SeqCst), 3);
}

#[tokio::test]
async fn effect_table_answers_are_cached_only_if_the_host_opts_in() {
    let server = modern(capabilities(), |asked| match asked.method.as_str() {
        "tools/list" => {
            let mut table = manage(&hints(WORST));
            table["name"] = "table".into();
            // As our servers publish it. Later the table has another row.
            let rows = if asked.nth < 4 { json!(["one"]) } else { json!(["one", "two"]) };
            table["_meta"] = json!({"dev.candor/dynamic-annotations": {"effects": rows}});
            tools(&json!([manage(&hints(WORST)), table]))
        }
        "tools/annotations" => foresees(asked),
        other => panic!("{other}"),
    })
    .await;
    let keeping = HostPolicy::default().cache_evaluations();
    let asked = || server.asked("tools/annotations").len();
    let client = soon(server.client().trust(Trust::Trusted).policy(keeping.clone()).into_future())
        .await
        .unwrap();
    // The list may not be cached, so the client reads it each time: the tool is still the same.
    for (tool, arguments, questions) in [
        ("table", read(), 1),
        ("table", json!({"action": "read", "path": "a"}), 1),
        ("table", delete(), 2),
        ("table", read(), 2),
    ] {
        let explanation = soon(client.explain(tool, &arguments)).await.unwrap();
        assert_eq!(explanation.hints.is_read_only(), arguments["action"] == "read");
        assert_eq!((explanation.basis, asked()), (EffectSource::Asked, questions), "{arguments}");
    }
    // The table has changed. A tool without a table may answer differently each time.
    for (tool, questions) in [("table", 3), ("table", 3), ("manage", 4), ("manage", 5)] {
        soon(client.explain(tool, &read())).await.unwrap();
        assert_eq!(asked(), questions, "{tool}");
    }
    // Answers of an untrusted server are not cached, and a host without the setting caches none.
    for client in [
        server.client().policy(keeping),
        server.client().trust(Trust::Trusted).policy(HostPolicy::default()),
    ] {
        let (client, before) = (soon(client.into_future()).await.unwrap(), asked());
        for _ in 0..2 {
            soon(client.explain("table", &read())).await.unwrap();
        }
        assert_eq!(asked() - before, 2);
    }
}

#[tokio::test]
async fn cancelled_evaluation_is_not_reused() {
    let server = modern(capabilities(), |asked| match asked.method.as_str() {
        "tools/list" => tools(&json!([manage(&hints(WORST))])),
        "tools/annotations" if asked.nth == 0 => {
            let never = futures_util::stream::pending::<Result<Bytes, std::io::Error>>();
            let response = Response::builder().header("content-type", "application/json");
            Say::Whole(response.body(Body::from_stream(never)).unwrap())
        }
        "tools/annotations" => foresees(asked),
        other => panic!("{other}"),
    })
    .await;
    let client = soon(server.client().trust(Trust::Trusted).into_future()).await.unwrap();
    soon(client.tools()).await.unwrap();
    let arguments = read();
    // Cancelled after the server has the request and before it answers. No later caller joins it.
    tokio::select! {
        told = client.explain("manage", &arguments) => panic!("{told:?}"),
        () = soon(async {
            while server.asked("tools/annotations").is_empty() {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        }) => {}
    }
    assert!(soon(client.explain("manage", &arguments)).await.unwrap().hints.is_read_only());
    assert_eq!(server.asked("tools/annotations").len(), 2);
    assert!(server.asked("tools/call").is_empty());
}

#[tokio::test]
async fn sufficient_static_hints_skip_the_evaluation() {
    let adds = hints([false, false, false, false]);
    let list = json!([manage(&adds), tool("plain", &hints([true, false, true, false]))]);
    let server = modern(capabilities(), move |asked| match asked.method.as_str() {
        "tools/list" => tools(&list),
        "tools/annotations" => foresees(asked),
        "tools/call" => said("done"),
        other => panic!("{other}"),
    })
    .await;
    let policy = HostPolicy::ask(AskLevel::Destructive).skip_where_static_suffices();
    let client =
        soon(server.client().trust(Trust::Trusted).policy(policy).into_future()).await.unwrap();
    soon(client.call_safely("manage", read()).into_future()).await.unwrap();
    soon(client.call_safely("plain", json!({})).into_future()).await.unwrap();
    assert!(server.asked("tools/annotations").is_empty());
    // Without the switch, a flagged tool is asked about, and an unflagged one is not.
    let client = soon(server.client().trust(Trust::Trusted).into_future()).await.unwrap();
    soon(client.call_safely("manage", read()).into_future()).await.unwrap();
    soon(client.call_safely("plain", json!({})).into_future()).await.unwrap();
    assert_eq!(server.asked("tools/annotations").len(), 1);
}

/// Nothing checks what the switch relies on. A host that sets it takes the declaration as the worst case.
#[tokio::test]
async fn skipped_evaluation_leaves_the_declared_hints() {
    let server = modern(capabilities(), |asked| match asked.method.as_str() {
        "tools/list" => tools(&json!([manage(&hints([false, false, false, false]))])),
        "tools/annotations" => foresees(asked),
        other => panic!("{other}"),
    })
    .await;
    for (policy, questions, verdict) in [
        (HostPolicy::default(), 1, Verdict::Ask),
        (HostPolicy::default().skip_where_static_suffices(), 1, Verdict::Allow),
        // The declaration does not let it run, so the server evaluates the call.
        (HostPolicy::ask(AskLevel::Writes).skip_where_static_suffices(), 2, Verdict::Ask),
    ] {
        let client = server.client().trust(Trust::Trusted).policy(policy);
        let client = soon(client.into_future()).await.unwrap();
        let explained = soon(client.explain("manage", &delete())).await.unwrap();
        assert_eq!(explained.verdict, verdict);
        assert_eq!(server.asked("tools/annotations").len(), questions);
    }
}

#[tokio::test]
async fn invalid_arguments_are_refused_before_sending() {
    let mut strict = tool("strict", &hints([true, false, true, false]));
    strict["inputSchema"] = json!({"type": "object", "properties": {"n": {"type": "integer"}},
        "required": ["n"], "additionalProperties": false});
    let list = json!([strict]);
    let server = modern(json!({"tools": {}}), move |asked| match asked.method.as_str() {
        "tools/list" => tools(&list),
        other => panic!("{other}"),
    })
    .await;
    let client = soon(server.client().trust(Trust::Trusted).into_future()).await.unwrap();
    for wrong in [json!({}), json!({"n": "1"}), json!({"n": 1, "m": 2}), json!([]), json!("x")] {
        let told = soon(client.call_safely("strict", wrong).into_future()).await;
        assert!(matches!(told, Err(Error::InvalidArguments(_))), "{told:?}");
    }
}

#[tokio::test]
async fn model_description_states_the_effect_and_the_verdict() {
    let server = server().await;
    let client = soon(server.client().trust(Trust::Trusted).into_future()).await.unwrap();
    let words = soon(client.describe_for_model("manage", &read())).await.unwrap();
    assert!(words.contains("only reads") && words.contains("exactly these arguments"), "{words}");
    let words = soon(client.describe_for_model("manage", &delete())).await.unwrap();
    assert!(
        words.contains("may change or delete") && words.contains("It needs approval"),
        "{words}"
    );
    let stranger = soon(server.client().into_future()).await.unwrap();
    let words = soon(stranger.describe_for_model("manage", &read())).await.unwrap();
    assert!(words.contains("untrusted") && words.contains("may change or delete"), "{words}");
}

#[tokio::test]
async fn host_policy_can_deny_a_tool() {
    let server = server().await;
    let policy = HostPolicy::default().deny("plain");
    let client =
        soon(server.client().trust(Trust::Trusted).policy(policy).into_future()).await.unwrap();
    let (shown, confirm) = person(true);
    let told = soon(client.call_safely("plain", json!({})).confirm(confirm).into_future()).await;
    assert!(matches!(told, Err(Error::Refused(RefusalSource::Policy))));
    assert!(shown.lock().unwrap().is_empty() && server.asked("tools/call").is_empty());
}

#[tokio::test]
async fn confirmed_call_is_not_resent_after_the_tool_changes() {
    // The server has changed the tool since it was listed: a call is resent only without a confirmation.
    let server = modern(json!({"tools": {}}), |asked| match asked.method.as_str() {
        "tools/list" => {
            let mut moving = tool("moving", &Value::Null);
            if asked.nth > 0 {
                moving["inputSchema"]["properties"] =
                    json!({"region": {"type": "string", "x-mcp-header": "Region"}});
            }
            tools(&json!([moving]))
        }
        _ if asked.headers.contains_key("mcp-param-region") => said("done"),
        _ => Say::Error(-32020, "Header mismatch"),
    })
    .await;
    let arguments = json!({"region": "eu"});
    let client = soon(server.client().into_future()).await.unwrap();
    let (shown, confirm) = person(true);
    let call = client.call_safely("moving", arguments.clone()).confirm(confirm);
    let told = soon(call.into_future()).await.unwrap_err();
    assert!(told.may_have_run(), "only an untrusted server claims that nothing was run: {told}");
    assert_eq!((shown.lock().unwrap().len(), server.asked("tools/call").len()), (1, 1));
    // The next call asks about the tool as it is now.
    let (shown, confirm) = person(true);
    soon(client.call_safely("moving", arguments.clone()).confirm(confirm).into_future())
        .await
        .unwrap();
    assert!(shown.lock().unwrap()[0].tool.input_schema()["properties"]["region"].is_object());
    assert_eq!(soon(client.call("moving", arguments).into_future()).await.unwrap().text(), "done");
}

fn quick() -> Retry {
    let mut retry = Retry::default();
    retry.base = Duration::from_millis(1);
    retry
}

#[tokio::test]
async fn call_with_two_different_keys_is_refused_before_sending() {
    let keys = json!({"tools": {}, "extensions": {"dev.candor/idempotency": {}}});
    let server = modern(keys, |asked| match asked.method.as_str() {
        "tools/list" => tools(&json!([tool("charge", &json!({"readOnlyHint": true}))])),
        _ => said("charged"),
    })
    .await;
    let client = soon(server.client().trust(Trust::Trusted).into_future()).await.unwrap();
    let arguments = json!({"idempotency_key": "a"});
    let plain = soon(client.call("charge", arguments.clone()).key("b").into_future()).await;
    assert!(matches!(plain, Err(Error::TwoKeys)), "{plain:?}");
    let safely = soon(client.call_safely("charge", arguments.clone()).key("b").into_future()).await;
    assert!(matches!(safely, Err(Error::TwoKeys)), "{safely:?}");
    assert!(server.asked("tools/call").is_empty());
    soon(client.call("charge", arguments).key("a").into_future()).await.unwrap();
}
