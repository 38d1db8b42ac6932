//! Where keys stand, what they may be, and who gets to see them.

use candor_server::protocol::Revision;
use candor_server::tool::{Idempotency, JsonTool, ToolError, code};
use serde_json::{Value, json};

use crate::bench::{KEY, Work, mark, raw, remembering, server};
use crate::common::{Call, Reply, Session, Site, call, modern};

fn coded(result: &Value) -> &str {
    result["_meta"]["dev.candor/error"]["code"].as_str().unwrap_or_else(|| panic!("{result:#}"))
}

#[tokio::test]
async fn key_is_the_same_in_meta_params_header_and_argument() {
    let work = Work::new();
    let site = Site::of(remembering().tool(work.tool("act").idempotency(Idempotency::Argument)));
    let session = Session::open(&site, "2025-11-25").await;
    let ways = [
        json!({"name": "act", "_meta": {KEY: "k-1"}}),
        json!({"name": "act", "idempotencyKey": "k-1"}),
        json!({"name": "act", "arguments": {"idempotency_key": "k-1"}}),
        json!({"name": "act", "idempotencyKey": "k-1", "_meta": {KEY: "k-1"}, "arguments": {"idempotency_key": "k-1"}}),
    ];
    for params in &ways {
        for reply in [
            site.send(modern("tools/call", params)).await,
            session.request("tools/call", params).await,
            site.send(modern("tools/call", params).header("idempotency-key", "k-1")).await,
        ] {
            let result = reply.result().await;
            assert_eq!(result["structuredContent"], json!({"number": 1, "key": "k-1"}), "{params}");
        }
    }
    let plain =
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "act"}});
    for value in ["k-1", "\"k-1\"", "  k-1 "] {
        let legacy = session.within(Call::post(&plain)).header("idempotency-key", value);
        let modern = call("act", &json!({})).header("Idempotency-Key", value);
        for sent in [legacy, modern] {
            let result = site.send(sent).await.result().await;
            assert_eq!(result["structuredContent"]["key"], "k-1", "{value}");
        }
    }
    assert_eq!(work.starts(), 1);
}

#[tokio::test]
async fn duplicate_key_header_or_one_for_a_batch_is_a_bad_request() {
    let work = Work::new();
    let site = Site::of(remembering().tool(work.tool("act")));
    let session = Session::open(&site, "2025-03-26").await;
    let message =
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "act"}});
    let twice = |call: Call| call.also("idempotency-key", "k").also("idempotency-key", "k");
    for sent in [
        twice(call("act", &json!({}))),
        twice(session.within(Call::post(&message))),
        session.within(Call::post(&json!([message]))).header("idempotency-key", "k"),
    ] {
        assert_eq!(site.send(sent).await.status, 400);
    }
    // In `_meta`, each message of a batch has its own key.
    let with = |id: u32, key: &str| json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "act", "_meta": {KEY: key}}});
    let batch = json!([with(1, "a"), with(2, "b"), with(3, "a")]);
    let answers = session.send(&batch).await.json().await;
    assert_eq!(answers.as_array().unwrap().len(), 3);
    assert_eq!(work.starts(), 2);
}

#[tokio::test]
async fn conflicting_keys_are_refused_in_every_combination() {
    let work = Work::new();
    let derived = work.tool("derived").key_by(|_| "made".to_owned());
    let site = Site::of(
        remembering().tool(work.tool("act").idempotency(Idempotency::Argument)).tool(derived),
    );
    let places = ["meta", "params", "header", "argument"];
    let send = async |tool: &str, keys: &[(&str, &str)]| -> Reply {
        let mut params = json!({"name": tool, "arguments": {}});
        let mut header = None;
        for (place, key) in keys {
            match *place {
                "meta" => params["_meta"] = json!({KEY: key}),
                "params" => params["idempotencyKey"] = json!(key),
                "argument" => params["arguments"]["idempotency_key"] = json!(key),
                _ => header = Some(*key),
            }
        }
        let call = modern("tools/call", &params);
        let call = header.into_iter().fold(call, |call, key| call.header("idempotency-key", key));
        site.send(call).await
    };
    for (at, one) in places.iter().enumerate() {
        for other in &places[at + 1..] {
            let answer = send("act", &[(one, "a"), (other, "b")]).await.json().await;
            if *other == "argument" {
                assert_eq!(coded(&answer["result"]), code::KEY_INVALID, "{one} and {other}");
            } else {
                assert_eq!(answer["error"]["code"], -32602, "{one} and {other}: {answer}");
            }
            assert_eq!(work.starts(), 0, "{one} and {other}");
        }
    }
    for place in &places[..3] {
        let refused = send("derived", &[(place, "other")]).await.result().await;
        assert_eq!(coded(&refused), code::KEY_INVALID, "{place}");
    }
    assert_eq!(work.starts(), 0);
    let same = send("derived", &[("meta", "made"), ("params", "made"), ("header", "made")]).await;
    assert_eq!(mark(&same.result().await)["key"], "made");
    let again = send("derived", &[]).await.result().await;
    assert_eq!((mark(&again)["replayed"].as_bool(), work.starts()), (Some(true), 1));
}

#[tokio::test]
async fn malformed_key_is_refused_before_the_start() {
    let work = Work::new();
    let server = server().tool(work.tool("act").idempotency(Idempotency::Argument));
    let modern = server.test();
    let legacy = modern.speaking(Revision::LATEST_LEGACY);
    let bad = [
        json!(""),
        json!("k".repeat(256)),
        json!("a\nb"),
        json!("two words"),
        json!("ключ"),
        json!("a\u{7f}"),
        json!(7),
        json!(["k"]),
        json!({"k": 1}),
    ];
    for client in [&modern, &legacy] {
        for key in bad.iter().chain([&Value::Null, &json!(true)]) {
            for params in [json!({"_meta": {KEY: key}}), json!({"idempotencyKey": key})] {
                let answer = raw(client, "act", params.clone()).await;
                assert_eq!(answer["protocolError"], -32602, "{params}: {answer}");
            }
        }
        for key in &bad {
            let answer = raw(client, "act", json!({"arguments": {"idempotency_key": key}})).await;
            assert_eq!(coded(&answer), code::INVALID_ARGUMENTS, "{key}: {answer}");
            let fields = &answer["_meta"]["dev.candor/error"]["fields"];
            assert_eq!(fields[0]["pointer"], "/idempotency_key", "{answer}");
        }
    }
    assert_eq!(work.starts(), 0);
    let site = Site::of(remembering().tool(work.tool("act")));
    for value in ["", "two words", &"k".repeat(256)] {
        let reply = site.send(call("act", &json!({})).header("idempotency-key", value)).await;
        assert_eq!(reply.json().await["error"]["code"], -32602, "{value:?}");
    }
    assert_eq!(work.starts(), 0);
    let longest = "k".repeat(255);
    let called = modern.keyed(&longest).call("act", json!({})).await;
    assert_eq!(called.structured().unwrap()["key"], longest);
}

#[tokio::test]
async fn calls_without_the_optional_key_run_each_time() {
    let work = Work::new();
    let tool = work.tool("act").idempotency(Idempotency::Argument);
    let client = server().tool(tool).test();
    for arguments in [json!({}), json!({}), json!({"idempotency_key": null})] {
        let called = client.call("act", arguments).await;
        assert_eq!(mark(called.raw()), &Value::Null);
        assert_eq!(called.structured().unwrap()["key"], Value::Null);
    }
    assert_eq!(work.starts(), 3);
}

#[tokio::test]
async fn required_key_must_be_in_the_arguments_or_in_meta() {
    let work = Work::new();
    let seen = JsonTool::open("act", {
        let work = work.clone();
        move |args, ctx| {
            work.start();
            async move { Ok::<_, ToolError>(json!({"args": *args, "key": ctx.key()})) }
        }
    });
    let modern = server().tool(seen.idempotency(Idempotency::Required)).test();
    for client in [modern.by("tester"), modern.speaking(Revision::LATEST_LEGACY)] {
        for arguments in [json!({}), json!({"idempotency_key": null})] {
            let refused = client.call("act", arguments).await;
            assert_eq!(refused.code(), Some(code::KEY_REQUIRED));
            let details = &refused.raw()["_meta"]["dev.candor/error"];
            assert_eq!(details["fields"][0]["pointer"], "/idempotency_key");
            assert!(refused.text().contains("`idempotency_key`"), "{}", refused.text());
        }
    }
    assert_eq!(work.starts(), 0);
    for called in [
        modern.call("act", json!({"n": 1, "idempotency_key": "k"})).await,
        modern.keyed("k").call("act", json!({"n": 1})).await,
    ] {
        let expected = json!({"args": {"n": 1}, "key": "k"});
        assert_eq!(
            called.structured(),
            Some(&expected),
            "the handler does not see the framework's argument"
        );
    }
    assert_eq!(work.starts(), 1);
}

/// A tool that takes the key itself, as its own argument.
fn own(required: bool) -> JsonTool {
    let mut schema = json!({
        "type": "object",
        "properties": {
            "amount": {"type": "integer"},
            "idempotency_key": {"type": "string", "description": "Prevents duplicate invoices."},
        },
        "required": ["amount"],
        "additionalProperties": false,
    });
    if required {
        schema["required"] = json!(["amount", "idempotency_key"]);
    }
    JsonTool::new("act", &schema, |args, ctx| async move {
        Ok::<_, ToolError>(json!({"args": *args, "key": ctx.key()}))
    })
    .idempotency(Idempotency::Required)
}

#[tokio::test]
async fn own_key_argument_of_the_author_receives_the_key() {
    for required in [true, false] {
        let modern = server().tool(own(required)).test();
        for client in [modern.by("tester"), modern.speaking(Revision::LATEST_LEGACY)] {
            let expected = json!({"args": {"amount": 5, "idempotency_key": "k"}, "key": "k"});
            let among = client.call("act", json!({"amount": 5, "idempotency_key": "k"})).await;
            assert_eq!(among.structured(), Some(&expected));
            let beside = client.keyed("k").call("act", json!({"amount": 5})).await;
            assert_eq!(beside.structured(), Some(&expected), "{:#}", beside.raw());
            assert!(beside.is_replayed(), "the key is not one of the compared arguments");
            let fresh = client.keyed("other").call("act", json!({"amount": 5})).await;
            let args = &fresh.structured().unwrap()["args"];
            assert_eq!(args["idempotency_key"], "other");
            assert_eq!(
                client.call("act", json!({"amount": 5})).await.code(),
                Some(code::KEY_REQUIRED)
            );
        }
    }
}

#[tokio::test]
async fn undeclared_key_argument_is_an_ordinary_argument() {
    let work = Work::new();
    let client = server().tool(work.tool("act")).test().keyed("k");
    let first = client.call("act", json!({"idempotency_key": "one"})).await;
    assert_eq!(first.structured().unwrap()["key"], "k");
    let other = client.call("act", json!({"idempotency_key": "two"})).await;
    assert_eq!(other.code(), Some(code::KEY_REUSED), "{:#}", other.raw());
    assert_eq!(work.starts(), 1);
}

#[tokio::test]
async fn derived_key_identifies_the_call() {
    let work = Work::new();
    let tool = work.tool("act").key_by(|args| args["order"].as_str().unwrap().to_owned());
    let modern = server().tool(tool).test();
    let legacy = modern.speaking(Revision::LATEST_LEGACY);
    let first = modern.call("act", json!({"order": "o-1"})).await;
    assert_eq!(first.structured(), Some(&json!({"number": 1, "key": "o-1"})));
    assert!(legacy.call("act", json!({"order": "o-1"})).await.is_replayed());
    let changed = modern.call("act", json!({"order": "o-1", "amount": 7})).await;
    assert_eq!(changed.code(), Some(code::KEY_REUSED));
    for order in [json!("two words"), json!(""), json!(7)] {
        let refused = modern.call("act", json!({"order": order})).await;
        assert_eq!(refused.code(), Some(code::KEY_INVALID), "{order}: {:#}", refused.raw());
        assert!(refused.text().contains("Nothing was run."), "{}", refused.text());
    }
    assert_eq!(work.starts(), 1);
}
