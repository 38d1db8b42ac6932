//! Servers that have no ledger, and what those that have one say of it.

use std::sync::Arc;
use std::time::Duration;

use candor_server::BuildError;
use candor_server::store::LedgerLimits;
use candor_server::testing::TestClient;
use candor_server::tool::{Idempotency, Tool, ToolSet, code, provider_fn};
use serde_json::{Value, json};

use crate::bench::{KEY, MARK, Work, memory, raw, server};
use crate::common::{Session, Site, call, modern};

#[test]
fn keyed_tool_does_not_build_without_a_ledger() {
    let work = Work::new();
    for tool in [
        work.tool("pay").idempotency(Idempotency::Argument),
        work.tool("pay").idempotency(Idempotency::Required),
        work.tool("pay").key_by(|_| "k".to_owned()),
    ] {
        let refused = server().tool(work.tool("free")).tool(tool).build().unwrap_err();
        assert!(matches!(&refused, BuildError::NoLedger(name) if name == "pay"), "{refused}");
        let words = refused.to_string();
        assert!(words.contains("\"pay\"") && words.contains(".ledger("), "{words}");
    }
}

#[tokio::test]
async fn undeclared_keys_are_ignored_without_a_ledger() {
    let work = Work::new();
    let site = Site::of(server().tool(work.tool("act")));
    let session = Session::open(&site, "2025-11-25").await;
    for key in [json!("k"), json!("k"), json!(7), json!("")] {
        let params = json!({"name": "act", "idempotencyKey": key, "_meta": {KEY: key}});
        for reply in [
            site.send(modern("tools/call", &params)).await,
            session.request("tools/call", &params).await,
        ] {
            let result = reply.result().await;
            assert_eq!(result["structuredContent"]["key"], Value::Null);
            assert_eq!(result["_meta"].get(MARK), None);
        }
    }
    let reply = site.send(call("act", &json!({})).header("idempotency-key", "k")).await;
    assert_eq!(reply.result().await["structuredContent"]["key"], Value::Null);
    assert_eq!(work.starts(), 9);
    let discovered = site.send(modern("server/discover", &json!({}))).await.result().await;
    assert_eq!(discovered["capabilities"]["extensions"].get(MARK), None);
    assert!(site.engine.store().is_none() && site.engine.recent_calls().is_empty());
}

#[tokio::test]
async fn capability_states_how_long_keys_are_valid() {
    let rules = LedgerLimits {
        retention: Duration::from_secs(60),
        tombstone: Duration::from_secs(30),
        ..LedgerLimits::default()
    };
    let site = Site::of(server().ledger(memory(rules)).tool(Work::new().tool("act")));
    let expected = json!({
        "version": 1, "retentionMs": 60_000, "refusedForMs": 90_000,
        "keySources": ["_meta", "params", "header", "argument"], "maxKeyLength": 255,
    });
    let discovered = site.send(modern("server/discover", &json!({}))).await.result().await;
    assert_eq!(discovered["capabilities"]["extensions"][MARK], expected);
    let hello = crate::common::initialize("2025-11-25", &json!({}));
    let opened = site.send(hello).await.result().await;
    assert_eq!(opened["capabilities"]["extensions"][MARK], expected);
}

#[tokio::test]
async fn server_without_tools_has_no_key_capability() {
    let site = Site::of(
        server().ledger(memory(LedgerLimits::default())).resources(crate::common::memos()),
    );
    let discovered = site.send(modern("server/discover", &json!({}))).await.result().await;
    assert_eq!(discovered["capabilities"]["extensions"].get(MARK), None);
}

#[tokio::test]
async fn keyed_tool_from_a_source_is_refused_without_a_ledger() {
    let work = Work::new();
    let of = |idempotency| -> Arc<dyn Tool> { Arc::new(work.tool("pay").idempotency(idempotency)) };
    for tool in [
        of(Idempotency::Required),
        of(Idempotency::Argument),
        Arc::new(work.tool("pay").key_by(|_| "k".to_owned())),
    ] {
        let set = Arc::new(ToolSet::new([tool]).unwrap());
        let provider = provider_fn(move |_| Ok(set.clone()));
        let engine = server().tools_from(provider).build().unwrap();
        let client = TestClient::of(&engine);
        let told = raw(&client, "pay", json!({"arguments": {"idempotency_key": "k"}})).await;
        assert_eq!(told["_meta"]["dev.candor/error"]["code"], code::LEDGER_UNAVAILABLE, "{told:#}");
        assert_eq!(work.starts(), 0, "a call that cannot be recorded is not started");
    }
}
