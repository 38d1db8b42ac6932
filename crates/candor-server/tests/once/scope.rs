//! A key belongs to one caller, one server, one instance, one tool, and stands for one set of arguments.

use candor_hints::{Condition, EffectRow, EffectTable, Hints};
use candor_server::Server;
use candor_server::store::LedgerLimits;
use candor_server::tool::{Idempotency, JsonTool, Split, ToolError, code};
use serde_json::json;

use crate::bench::{KEY, Work, bare, memory, server};
use crate::common::{Site, modern};

#[tokio::test]
async fn key_is_scoped_to_caller_server_instance_and_tool() {
    let work = Work::new();
    let store = memory(LedgerLimits::default());
    let on = |server: Server| {
        server.ledger(store.clone()).tool(work.tool("act")).tool(work.tool("other")).test()
    };
    let client = on(server());
    let elsewhere = on(server().instance("/home/ada"));
    let renamed = on(Server::new("receipts", "1"));
    let upgraded = on(Server::new("invoices", "2"));
    let numbers = [
        client.keyed("k").call("act", json!({})).await,
        client.by("bob").keyed("k").call("act", json!({})).await,
        client.keyed("k").call("other", json!({})).await,
        elsewhere.keyed("k").call("act", json!({})).await,
        renamed.keyed("k").call("act", json!({})).await,
    ];
    for (at, called) in numbers.iter().enumerate() {
        assert_eq!(called.structured().unwrap()["number"], at + 1, "{:#}", called.raw());
        assert!(!called.is_replayed());
    }
    assert!(
        upgraded.keyed("k").call("act", json!({})).await.is_replayed(),
        "the version is not part of the scope"
    );
    assert_eq!(work.starts(), 5);
}

#[tokio::test]
async fn http_token_determines_the_caller_of_a_key() {
    let work = Work::new();
    let site =
        Site::guarded(server().ledger(memory(LedgerLimits::default())).tool(work.tool("act")));
    let send = async |who: &str, arguments| {
        let params = json!({"name": "act", "arguments": arguments, "_meta": {KEY: "k"}});
        site.send(modern("tools/call", &params).by(who)).await.result().await
    };
    let alices = send("alice", json!({"secret": 1})).await;
    let bobs = send("bob", json!({"secret": 2})).await;
    assert_eq!(
        bobs["structuredContent"]["number"], 2,
        "bob does not learn that the key is in use: {bobs}"
    );
    assert_eq!(bare(&send("alice", json!({"secret": 1})).await), bare(&alices));
    assert_eq!(work.starts(), 2);
}

#[tokio::test]
async fn retry_with_other_arguments_is_refused_without_the_result() {
    let work = Work::new();
    let client = server().tool(work.tool("act")).test().keyed("k");
    client.call("act", json!({"amount": 5})).await;
    for arguments in
        [json!({"amount": 6}), json!({}), json!({"amount": "5"}), json!({"amount": 5, "x": null})]
    {
        let refused = client.call("act", arguments.clone()).await;
        assert_eq!(refused.code(), Some(code::KEY_REUSED), "{arguments}");
        assert!(refused.structured().is_none() && !refused.is_replayed());
        assert_eq!(refused.raw()["_meta"]["dev.candor/error"]["retriable"], false);
    }
    assert_eq!(work.starts(), 1);
}

#[tokio::test]
async fn other_arguments_are_refused_while_the_call_runs() {
    let work = Work::new();
    let client = server().tool(work.waiting("act")).test().keyed("k");
    let other = async {
        work.began().await;
        let refused = client.call("act", json!({"amount": 6})).await;
        work.let_go();
        refused
    };
    let (first, refused) = tokio::join!(client.call("act", json!({"amount": 5})), other);
    assert_eq!(refused.code(), Some(code::KEY_REUSED));
    assert!(!first.is_error());
    assert_eq!(work.starts(), 1);
}

#[tokio::test]
async fn spelling_of_the_arguments_does_not_matter() {
    let work = Work::new();
    let site = Site::of(server().ledger(memory(LedgerLimits::default())).tool(work.tool("act")));
    // As text, because a JSON value would lose the spelling.
    let send = async |arguments: &str| {
        let params = json!({"name": "act", "arguments": "HERE", "_meta": {KEY: "k"}});
        let call = modern("tools/call", &params);
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
            "name": "act", "arguments": "HERE", "_meta": {
                KEY: "k",
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": {},
            },
        }});
        let message = message.to_string().replace("\"HERE\"", arguments);
        site.send(call.body(&message)).await.result().await
    };
    let first = send(r#"{"a": 1, "b": {"x": "é", "y": [1, 2.50]}}"#).await;
    for same in [
        r#"{"b":{"y":[1.0,2.5],"x":"é"},"a":1}"#,
        r#"{"a": 1e0, "b": {"x": "\u00e9", "y": [10e-1, 25e-1]}}"#,
        r#"{ "b" : { "x" : "é" , "y" : [ 1 , 2.5 ] } , "a" : 1.000 }"#,
    ] {
        assert_eq!(bare(&send(same).await), bare(&first), "{same}");
    }
    for other in [
        r#"{"a": 1, "b": {"x": "e\u0301", "y": [1, 2.5]}}"#,
        r#"{"a": 1, "b": {"x": "é", "y": [2.5, 1]}}"#,
        r#"{"a": 2, "b": {"x": "é", "y": [1, 2.5]}}"#,
    ] {
        let refused = send(other).await;
        assert_eq!(refused["_meta"]["dev.candor/error"]["code"], code::KEY_REUSED, "{other}");
    }
    assert_eq!(work.starts(), 1);
}

#[tokio::test]
async fn large_integers_are_compared_exactly() {
    let work = Work::new();
    let client = server().tool(work.tool("act")).test().keyed("k");
    client.call("act", json!({"id": 9_007_199_254_740_993_u64})).await;
    let other = client.call("act", json!({"id": 9_007_199_254_740_992_u64})).await;
    assert_eq!(other.code(), Some(code::KEY_REUSED));
    assert!(client.call("act", json!({"id": 9_007_199_254_740_993_u64})).await.is_replayed());
}

#[tokio::test]
async fn split_tool_shares_the_keys_of_the_original() {
    let work = Work::new();
    let schema = json!({
        "type": "object",
        "properties": {"action": {"type": "string", "enum": ["add", "drop"]}, "n": {"type": "integer"}},
        "required": ["action"],
    });
    let row =
        |action: &str, hints| EffectRow::when("action", Condition::equals(action)).then(hints);
    let counted = work.clone();
    let tool = JsonTool::new("stock", &schema, move |args, _| {
        let number = counted.start();
        async move { Ok::<_, ToolError>(json!({"number": number, "args": *args})) }
    })
    .effects(EffectTable::new().row(row("add", Hints::ADDS)).row(row("drop", Hints::DELETES)))
    .idempotency(Idempotency::Required);
    let client = server().tool(tool).split(Split::Beside).test();
    let part = client.call("stock_add", json!({"n": 1, "idempotency_key": "k"})).await;
    let whole =
        client.call("stock", json!({"n": 1.0, "action": "add", "idempotency_key": "k"})).await;
    assert!(whole.is_replayed(), "{:#}", whole.raw());
    assert_eq!(whole.structured(), part.structured());
    let other = client.keyed("k").call("stock_drop", json!({"n": 1})).await;
    assert_eq!(other.code(), Some(code::KEY_REUSED));
    assert_eq!(work.starts(), 1);
}
