//! Effects as a function: it sees the typed arguments, and is believed up to its bound.

use candor::hints::Annotations;
use candor::json;
use candor::prelude::*;

use crate::{Tools, adds, both, expect, expect_static, foreseen, hints, published, reads, worst};

// ---- of several parameters

fn by_length(statements: &[String], dry: &bool) -> Hints {
    match (statements.len(), dry) {
        (_, true) => Hints::READS,
        (0 | 1, false) => Hints::ADDS,
        _ => Hints::DELETES,
    }
}

#[tool(effects = |statements: &Vec<String>, dry: &bool| by_length(statements, dry), at_most(deletes))]
fn execute(statements: Vec<String>, #[default(false)] dry: bool, ctx: Ctx) {
    let _ = (statements, dry, ctx);
}

#[tokio::test]
async fn effect_function_gets_the_typed_arguments() {
    let calls = [
        (json!({"statements": ["a", "b"], "dry": true}), reads()),
        (json!({"statements": ["a"]}), adds()),
        (json!({"statements": ["a", "b"]}), worst()),
    ];
    expect(|| tools![execute], "execute", calls).await;
    expect_static(|| tools![execute], "execute", &worst()).await;
}

// ---- with further fields

fn of_host(host: &str) -> Annotations {
    match host {
        "localhost" => Hints::READS.with("networkAccessHint", false),
        _ => Hints::READS.into(),
    }
}

#[tool(effects = of_host, at_most(reads), closed_world)]
fn probe(host: String) {
    let _ = host;
}

#[tokio::test]
async fn effect_function_may_return_fields_beside_the_hints() {
    let mut local = hints(true, false, true, false);
    local["networkAccessHint"] = false.into();
    let calls = [
        (json!({"host": "localhost"}), local),
        (json!({"host": "elsewhere"}), hints(true, false, true, false)),
    ];
    expect(|| tools![probe], "probe", calls).await;
}

// ---- of a struct that is the arguments, and of all arguments

#[candor::args]
struct Query {
    text: String,
    limit: Option<u32>,
}

fn of_query(query: &Query) -> Hints {
    if query.text.starts_with("select") && query.limit.is_some() {
        Hints::READS
    } else {
        Hints::ADDS
    }
}

#[tool(effects = of_query, at_most(adds), closed_world)]
fn ask(query: Query) {
    let _ = query;
}

fn of_all(all: &Arguments) -> Hints {
    if all.get("dry").is_some() { Hints::READS } else { Hints::DELETES.idempotent() }
}

#[tool(effects = of_all, at_most(deletes, idempotent))]
fn anything(all: Arguments) {
    let _ = all;
}

#[tokio::test]
async fn effect_function_may_take_all_arguments() {
    expect(
        || tools![anything],
        "anything",
        [(json!({"dry": 1}), reads()), (json!({"x": 1}), hints(false, true, true, true))],
    )
    .await;
    expect_static(|| tools![anything], "anything", &hints(false, true, true, true)).await;
}

#[tokio::test]
async fn effect_function_of_a_struct_respects_closed_world() {
    let calls = [
        (json!({"text": "select", "limit": 1}), hints(true, false, true, false)),
        (json!({"text": "drop"}), hints(false, false, false, false)),
    ];
    expect(|| tools![ask], "ask", calls).await;
    expect_static(|| tools![ask], "ask", &hints(false, false, false, false)).await;
}

// ---- failures

fn careless(how: &str) -> Hints {
    match how {
        "look" => Hints::READS,
        "break" => Hints::DELETES,
        other => panic!("secret: {other}"),
    }
}

#[tool(effects = |how: &String| careless(how), at_most(adds))]
fn bounded(how: String) -> String {
    how
}

fn bounded_tool() -> Tools {
    tools![bounded]
}

#[tokio::test]
async fn effect_function_that_panics_or_exceeds_its_bound_is_the_worst_case() {
    for client in both(bounded_tool) {
        assert_eq!(foreseen(&client, "bounded", json!({"how": "look"})).await, reads());
        assert_eq!(published(&client, "bounded").await["annotations"], adds());
        for how in ["break", "panic"] {
            let params = json!({"name": "bounded", "arguments": {"how": how}});
            let error = client.request("tools/annotations", params).await.unwrap_err();
            assert_eq!(error.code(), -32603, "{how}");
            assert!(!format!("{error:?}").contains("secret"), "{error:?}");
            // The call still runs, as the worst case.
            let called = client.call("bounded", json!({"how": how})).await;
            assert_eq!((called.text(), called.foreseen()), (how, Some(Hints::WORST)));
        }
    }
}
