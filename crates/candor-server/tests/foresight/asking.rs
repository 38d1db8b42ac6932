//! `tools/annotations`: who may ask what, and what is answered.

use std::sync::Arc;
use std::time::{Duration, Instant};

use candor_hints::{Condition, EffectRow, EffectTable, Hints};
use candor_server::Server;
use candor_server::protocol::json::Object;
use candor_server::protocol::types::ToolAnnotations;
use candor_server::tool::{JsonTool, Tool, ToolSet, provider_fn};
use serde_json::{Value, json};

use crate::common::{Call, Session, Site, greet, modern, server};
use crate::lines::{self, Client};
use crate::{Files, OURS, answers, clients, errors, files, four, is, results};

const ASK: &str = "tools/annotations";

fn about(arguments: &Value) -> Value {
    json!({"name": "manage_files", "arguments": arguments})
}

fn seeds_question() -> Value {
    about(&json!({"path": "/home/user/notes.txt", "action": "read"}))
}

#[tokio::test]
async fn tools_annotations_returns_resolved_hints_in_each_era() {
    let [modern, legacy] = results(&Site::of(files()), ASK, &seeds_question()).await;
    let sources = json!({
        "readOnlyHint": "resolved", "destructiveHint": "resolved",
        "idempotentHint": "resolved", "openWorldHint": "resolved",
    });
    let ours =
        json!({"sources": sources, "effect": "reads", "summary": "Reads · safe to retry · local"});
    let hints = four(true, false, true, false);
    let judged = json!({"verdict": "allow"});
    let meta = json!({OURS: ours, "dev.candor/approval": judged});
    assert_eq!(legacy, json!({"annotations": hints, "_meta": meta}));
    let info = json!({"name": "bench", "version": "1.2.3"});
    let mut meta = meta;
    meta["io.modelcontextprotocol/serverInfo"] = info;
    assert_eq!(modern, json!({"resultType": "complete", "annotations": hints, "_meta": meta}));
}

#[tokio::test(start_paused = true)]
async fn tools_annotations_returns_resolved_hints_over_stdio() {
    let mut client = Client::of(files());
    let modern = client.ask(&lines::modern(1, ASK, &seeds_question())).await;
    client.initialize("2025-06-18").await;
    let legacy = client.ask(&lines::request("two", ASK, &seeds_question())).await;
    for answer in [modern, legacy] {
        assert_eq!(answer["result"]["annotations"], four(true, false, true, false), "{answer}");
    }
}

#[tokio::test]
async fn each_row_of_the_table_has_its_hints() {
    for client in clients(files) {
        for (action, expected) in [
            ("read", Hints::new(true, false, true, false)),
            ("append", Hints::new(false, false, false, false)),
            ("replace", Hints::CHANGES.idempotent().closed_world()),
            ("delete", Hints::DELETES.idempotent().closed_world()),
        ] {
            let hints = client.hints("manage_files", json!({"path": "a", "action": action})).await;
            assert_eq!(hints, expected, "{action}");
        }
    }
}

#[tokio::test]
async fn unknown_action_under_an_open_schema_is_the_worst_case() {
    let open = || {
        let tool = JsonTool::open("manage_files", |_, _| async { Ok("") });
        server().tool(tool.effects(crate::files_table()))
    };
    for client in clients(open) {
        let hints = client.hints("manage_files", json!({"action": "shred"})).await;
        assert_eq!(hints, Hints::new(false, true, false, false));
    }
    for result in results(&Site::of(open()), ASK, &about(&json!({"action": "shred"}))).await {
        assert_eq!(result["annotations"], four(false, true, false, false));
    }
}

/// An HTTP API behind one tool: method and path.
#[tokio::test]
async fn table_over_two_arguments_needs_both_to_match() {
    let method = |method: &str| EffectRow::when("method", Condition::equals(method));
    let table = || {
        EffectTable::new().row(method("GET").then(Hints::READS)).row(
            method("POST")
                .and("path", Condition::Glob("/repos/*/*/issues".into()))
                .then(Hints::ADDS),
        )
    };
    let api = || JsonTool::open("github_api", |_, _| async { Ok("") }).effects(table());
    for client in clients(|| server().tool(api())) {
        for (method, path, expected) in [
            ("GET", "/repos/o/r", Hints::READS),
            ("POST", "/repos/o/r/issues", Hints::ADDS),
            ("POST", "/repos/o/r/issues/../../../../admin", Hints::WORST),
            ("DELETE", "/repos/o/r", Hints::WORST),
        ] {
            let arguments = json!({"method": method, "path": path});
            assert_eq!(client.hints("github_api", arguments).await, expected, "{method} {path}");
        }
    }
}

#[tokio::test]
async fn tools_annotations_without_name_or_arguments_is_refused() {
    let site = Site::of(files());
    let fine = json!({"path": "a", "action": "read"});
    for (what, params) in [
        ("no name", json!({"arguments": fine})),
        ("a null for a name", json!({"name": null, "arguments": fine})),
        ("a number for a name", json!({"name": 7, "arguments": fine})),
        ("no arguments", json!({"name": "manage_files"})),
        ("null", about(&Value::Null)),
        ("an array", about(&json!([fine]))),
        ("a string", about(&json!("path"))),
        ("nothing", json!({})),
    ] {
        for error in errors(&site, ASK, &params, -32602).await {
            let message = error["message"].as_str().unwrap();
            assert!(message.starts_with("Invalid params"), "{what}: {message}");
        }
    }
}

#[tokio::test]
async fn unknown_tool_error_names_the_tool() {
    for method in [ASK, "tools/call"] {
        let params = json!({"name": "nope", "arguments": {}});
        for error in errors(&Site::of(files()), method, &params, -32602).await {
            let expected =
                json!({"code": -32602, "message": "Unknown tool: nope", "data": {"tool": "nope"}});
            assert_eq!(error, expected);
        }
    }
}

#[tokio::test]
async fn invalid_arguments_are_refused_with_their_pointers() {
    let params = about(&json!({"path": 7, "action": "shred"}));
    for error in errors(&Site::of(files()), ASK, &params, -32602).await {
        let message = error["message"].as_str().unwrap();
        assert!(message.starts_with("Invalid params: arguments for manage_files: "), "{message}");
        assert_eq!(error["data"]["tool"], "manage_files");
        let mut pointers: Vec<_> = error["data"]["fields"]
            .as_array()
            .unwrap()
            .iter()
            .map(|f| f["pointer"].clone())
            .collect();
        pointers.sort_by_key(Value::to_string);
        assert_eq!(pointers, ["/action", "/path"]);
    }
}

#[tokio::test]
async fn oversized_arguments_are_refused_as_in_a_call() {
    let mut deep = json!(1);
    for _ in 0..70 {
        deep = json!([deep]);
    }
    let site = Site::of(files().limits(|limits| limits.message_bytes = 10_000));
    for odd in [deep, json!("x".repeat(20_000))] {
        let params = about(&json!({"path": "a", "action": "read", "more": odd}));
        let asked = answers(&site, ASK, &params).await;
        let called = answers(&site, "tools/call", &params).await;
        for (asked, called) in asked.iter().zip(&called) {
            assert!(asked["error"]["code"].is_i64(), "{asked}");
            assert_eq!(asked["error"]["code"], called["error"]["code"]);
        }
    }
}

/// A server with tools that say the same of every call, and one that does not, so that there is something to ask.
fn told() -> Server {
    let mut partly = ToolAnnotations::new();
    partly.title = Some("Greet".to_owned());
    partly.read_only_hint = Some(true);
    partly.extra =
        Object::new().with("networkHint", &"none").with("dev.example/cost", &json!({"eur": 1}));
    files().tool(greet().annotations(partly)).tool(JsonTool::open("any", |_, _| async { Ok("") }))
}

#[tokio::test]
async fn static_tool_returns_its_declared_annotations() {
    let params = json!({"name": "greet", "arguments": {"name": "Ada"}});
    for result in results(&Site::of(told()), ASK, &params).await {
        let mut expected = four(true, false, true, true);
        expected["title"] = json!("Greet");
        expected["networkHint"] = json!("none");
        expected["dev.example/cost"] = json!({"eur": 1});
        assert_eq!(result["annotations"], expected);
        let sources = json!({
            "readOnlyHint": "declared", "destructiveHint": "default",
            "idempotentHint": "default", "openWorldHint": "default",
        });
        assert_eq!(result["_meta"][OURS]["sources"], sources);
    }
    let invalid = json!({"name": "greet", "arguments": {}});
    errors(&Site::of(told()), ASK, &invalid, -32602).await;
}

#[tokio::test]
async fn unclassified_tool_is_the_worst_case() {
    let params = json!({"name": "any", "arguments": {}});
    for result in results(&Site::of(told()), ASK, &params).await {
        assert_eq!(result["annotations"], is(Hints::WORST));
        assert_eq!(result["_meta"][OURS]["sources"]["readOnlyHint"], "default");
        assert_eq!(result["_meta"][OURS]["summary"], "Unclassified");
    }
}

#[tokio::test]
async fn title_and_unknown_members_accompany_resolved_hints() {
    let mut more = ToolAnnotations::new();
    more.title = Some("Files".to_owned());
    more.extra = Object::new().with("networkHint", &false);
    let tool = Files::default().tool().annotations(more);
    for result in results(&Site::of(server().tool(tool)), ASK, &seeds_question()).await {
        let mut expected = four(true, false, true, false);
        expected["title"] = json!("Files");
        expected["networkHint"] = json!(false);
        assert_eq!(result["annotations"], expected);
    }
}

#[tokio::test]
async fn argument_order_and_spelling_do_not_change_the_hints() {
    let row = EffectRow::when("n", Condition::equals(1)).and("s", Condition::equals("é"));
    let tool = JsonTool::open("t", |_, _| async { Ok("") })
        .effects(EffectTable::new().row(row.then(Hints::READS)));
    let site = Site::of(server().tool(tool));
    let session = Session::open(&site, "2025-11-25").await;
    for arguments in [
        r#"{"n":1,"s":"é"}"#,
        r#"{"s":"é","n":1}"#,
        "{\"s\" : \"\\u00e9\",\n \"n\": 1.0}",
        r#"{"n":1e0,"s":"é"}"#,
        r#"{"n":10e-1,"s":"\u00E9"}"#,
    ] {
        let message = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/annotations","params":{{"name":"t","arguments":{arguments}}}}}"#
        );
        let result = site.send(session.within(Call::post(&message))).await.result().await;
        assert_eq!(result["annotations"], is(Hints::READS), "{arguments}");
    }
}

#[tokio::test]
async fn hints_depend_only_on_the_arguments() {
    let world = Files::default();
    let engine = world.server().build().unwrap();
    let client = candor_server::testing::TestClient::of(&engine);
    let arguments = json!({"path": "a", "action": "replace", "content": "x"});
    let first = client.hints("manage_files", &arguments).await;
    client.call("manage_files", &arguments).await;
    assert_eq!(client.hints("manage_files", &arguments).await, first);
    assert_eq!(client.by("bob").hints("manage_files", &arguments).await, first);
    let legacy = client.speaking(candor_server::protocol::Revision::LATEST_LEGACY);
    assert_eq!(legacy.hints("manage_files", &arguments).await, first);
}

#[tokio::test]
async fn partial_arguments_are_accepted_only_if_declared_partial() {
    for client in clients(files) {
        let worst = Hints::DELETES.closed_world();
        assert_eq!(client.hints_of_partial("manage_files", ()).await, worst);
        assert_eq!(client.hints_of_partial("manage_files", json!({"path": "a"})).await, worst);
        let reading = client.hints_of_partial("manage_files", json!({"action": "read"})).await;
        assert!(reading.is_read_only());
        // Without `partial`, they are refused.
        let refused = client.try_hints("manage_files", json!({"action": "read"})).await;
        assert_eq!(refused.unwrap_err().code(), -32602);
    }
    let mut params = about(&json!({"action": "read"}));
    for no in [json!({"partial": false}), json!({"partial": "yes"}), json!({}), json!(true)] {
        params["_meta"] = json!({OURS: no});
        errors(&Site::of(files()), ASK, &params, -32602).await;
    }
}

/// Alice may see the files; everybody may be greeted.
fn guarded() -> Server {
    let greet: Arc<dyn Tool> = Arc::new(greet());
    let everyone = Arc::new(ToolSet::new([greet.clone()]).unwrap());
    let alice = Arc::new(ToolSet::new([greet, Arc::new(Files::default().tool())]).unwrap());
    server().tools_from(provider_fn(move |principal| {
        Ok(if principal.as_str() == "alice" { alice.clone() } else { everyone.clone() })
    }))
}

#[tokio::test]
async fn hidden_tool_is_reported_as_unknown() {
    let site = Site::guarded(guarded());
    let ask =
        |name: &str, arguments: &Value| modern(ASK, &json!({"name": name, "arguments": arguments}));
    let fine = json!({"path": "a", "action": "read"});
    let alice = site.send(ask("manage_files", &fine).by("alice")).await.result().await;
    assert_eq!(alice["annotations"]["readOnlyHint"], true);
    site.send(ask("manage_files", &json!({})).by("alice")).await.error(200, -32602).await;

    let nothing = site.send(ask("nothing", &fine).by("bob")).await.error(200, -32602).await;
    for arguments in [fine, json!({})] {
        let hidden = site.send(ask("manage_files", &arguments).by("bob")).await;
        let hidden = hidden.error(200, -32602).await.to_string();
        assert_eq!(hidden.replace("manage_files", "nothing"), nothing.to_string());
    }
    let bob = Session::by(&site, "bob").await;
    let hidden = bob.request(ASK, &about(&json!({}))).await.error(200, -32602).await;
    assert_eq!(hidden["message"], "Unknown tool: manage_files");
    site.send(ask("manage_files", &json!({}))).await.refusal(401, -32600).await;
}

#[tokio::test]
async fn mcp_name_header_must_match_the_body() {
    let site = Site::of(files());
    let lie = modern(ASK, &seeds_question()).header("mcp-name", "greet");
    site.send(lie).await.error(400, -32020).await;
    let silent = modern(ASK, &seeds_question()).without("mcp-name");
    site.send(silent).await.result().await;
}

#[tokio::test]
async fn long_patterns_and_paths_match_in_bounded_time() {
    let pattern = format!("/{}/x", ["**", "*a*a*a*a*b"].repeat(20).join("/"));
    let row = EffectRow::when("path", Condition::Glob(pattern)).then(Hints::READS);
    let tool = JsonTool::open("t", |_, _| async { Ok("") }).effects(EffectTable::new().row(row));
    let client = server().tool(tool).test();
    let arguments = json!({"path": format!("/{}", "aaaaaaaaaaaaaaaa/".repeat(1000))});
    let asked = Instant::now();
    assert_eq!(client.hints("t", &arguments).await, Hints::WORST);
    assert!(asked.elapsed() < Duration::from_secs(2), "{:?}", asked.elapsed());
}
