//! Effects as rows: the first that fits decides, and what fits none is the worst case.

use candor::json;
use candor::prelude::*;

use crate::{adds, expect, expect_static, hints, reads, worst};

#[tool(effects(
    action == "read" => reads,
    action.one_of("append", "touch") => adds,
    action == "set" => adds + idempotent + closed_world,
))]
fn texts(action: String) {
    let _ = action;
}

#[tokio::test]
async fn row_matches_one_or_several_values() {
    let calls = [
        ("read", reads()),
        ("append", adds()),
        ("touch", adds()),
        ("set", hints(false, false, true, false)),
        ("shred", worst()),
        ("READ", worst()),
        ("read ", worst()),
    ];
    expect(|| tools![texts], "texts", calls.map(|(a, said)| (json!({"action": a}), said))).await;
    expect_static(|| tools![texts], "texts", &worst()).await;
}

#[candor::args]
#[derive(Clone, Copy)]
enum Level {
    Low,
    High,
}

#[tool(effects(
    count == 0 => reads,
    ratio == -0.5 => adds,
    dry == true => adds + idempotent,
    level == Level::High => deletes + idempotent,
    count.one_of(7, 8) => reads,
))]
fn literals(count: i64, ratio: f64, dry: bool, level: Level) {
    let _ = (count, ratio, dry, level, Level::Low);
}

#[tokio::test]
async fn row_compares_values_of_any_type() {
    let call = |count, ratio, dry, level: &str| json!({"count": count, "ratio": ratio, "dry": dry, "level": level});
    let calls = [
        (call(0, 1.0, false, "low"), reads()),
        (json!({"level": "low", "dry": false, "ratio": 1, "count": 0.0}), reads()),
        (call(1, -0.5, false, "low"), adds()),
        (call(1, 0.5, true, "low"), hints(false, false, true, true)),
        (call(1, 0.5, false, "high"), hints(false, true, true, true)),
        (call(8, 0.5, false, "low"), reads()),
        (call(9, 0.5, false, "low"), worst()),
    ];
    expect(|| tools![literals], "literals", calls).await;
}

#[tool(effects(
    path.below("/public") => reads,
    path.glob("/repos/*/issues/**") => adds,
    path.below("/tmp") && path.glob("/**/*.log") => deletes + idempotent,
))]
fn paths(path: String) {
    let _ = path;
}

#[tool(effects(path.below("public") => reads, path.glob("*.log") => adds), closed_world)]
fn relative_paths(path: String) {
    let _ = path;
}

#[tokio::test]
async fn path_outside_its_normal_form_is_the_worst_case() {
    let calls = [
        ("/public", reads()),
        ("/public/", reads()),
        ("/public/a/b", reads()),
        ("/publicly", worst()),
        ("/repos/a/issues", adds()),
        ("/repos/a/issues/1/comments", adds()),
        ("/repos/a/b/issues", worst()),
        ("/tmp/x/a.log", hints(false, true, true, true)),
        ("/tmp/x/a.txt", worst()),
    ];
    let unclear = [
        "//public/a",
        "/public//a",
        "/public/a//",
        "/public/./a",
        "/public/link/../x",
        "/x/../public/a",
        "/public/..",
        "/../public",
        "public/a",
        "./public/a",
        "",
        "/public/%2e%2e/etc",
        r"/public/..\etc",
        r"\public\a",
        r"C:\public\a",
        "C:/public/a",
        "/C:/public/a",
        "~/public/a",
        "/public/.. /etc",
        "/public/a.",
        "/public/a?b",
        "/public/a#b",
        "/public/a\0b",
        "/public/a\n",
        "/repos/x/../a/issues/7",
        "/repos//issues/7",
        "repos/a/issues",
    ];
    let calls = calls.into_iter().chain(unclear.map(|path| (path, worst())));
    expect(|| tools![paths], "paths", calls.map(|(path, said)| (json!({"path": path}), said)))
        .await;
    let unknown = || hints(false, true, false, false);
    let calls = [
        ("public", hints(true, false, true, false)),
        ("public/a", hints(true, false, true, false)),
        ("a.log", hints(false, false, false, false)),
        ("x/a.log", unknown()),
        ("/public/a", unknown()),
        ("/a.log", unknown()),
        ("./public/a", unknown()),
        ("public/../a", unknown()),
        ("~/a.log", unknown()),
        ("", unknown()),
    ];
    let calls = calls.map(|(path, said)| (json!({"path": path}), said));
    expect(|| tools![relative_paths], "relative_paths", calls).await;
}

#[tool(effects(
    bytes.at_most(-1) => deletes + idempotent,
    bytes.at_least(0) && bytes.at_most(9) => reads,
    bytes.at_least(5_000_000_000) => deletes,
    share.at_least(0.5) => adds + idempotent,
    otherwise => adds,
))]
fn ranges(bytes: i64, share: f64) {
    let _ = (bytes, share);
}

#[tokio::test]
async fn row_bounds_are_inclusive() {
    let calls = [
        (-1, 0.0, hints(false, true, true, true)),
        (0, 0.0, reads()),
        (9, 0.9, reads()),
        (10, 0.5, hints(false, false, true, true)),
        (10, 0.49, adds()),
        (4_999_999_999, 0.0, adds()),
        (5_000_000_000_i64, 0.0, worst()),
    ];
    let calls = calls.map(|(bytes, share, said)| (json!({"bytes": bytes, "share": share}), said));
    expect(|| tools![ranges], "ranges", calls).await;
}

#[tool(effects(force.is_absent() => reads, force.is_present() => adds))]
fn presence(force: Option<bool>) {
    let _ = force;
}

#[tokio::test]
async fn null_argument_counts_as_absent() {
    let calls = [
        (json!({}), reads()),
        (json!({"force": null}), reads()),
        (json!({"force": false}), adds()),
    ];
    expect(|| tools![presence], "presence", calls).await;
    // Absent and present cover every call.
    expect_static(|| tools![presence], "presence", &adds()).await;
}

#[candor::args]
struct Target {
    method: String,
    #[serde(rename = "type")]
    r#type: Option<String>,
    parts: Vec<String>,
}

#[tool(effects(
    target.method == "GET" => reads,
    (target.method == "POST" && target.parts.0 == "issues") && dry.is_absent() => adds,
    target.r#type.is_present() => deletes + idempotent,
))]
fn nested(target: Target, dry: Option<bool>) {
    let Target { method, r#type, parts } = target;
    let _ = (method, r#type, parts, dry);
}

#[tokio::test]
async fn row_tests_nested_members_and_conjunctions() {
    let target = |method: &str, part: &str| json!({"method": method, "parts": [part]});
    let calls = [
        (json!({"target": target("GET", "x")}), reads()),
        (json!({"target": target("POST", "issues")}), adds()),
        (json!({"target": target("POST", "issues"), "dry": true}), worst()),
        (json!({"target": target("POST", "x")}), worst()),
        (
            json!({"target": {"method": "PUT", "type": "a", "parts": []}}),
            hints(false, true, true, true),
        ),
    ];
    expect(|| tools![nested], "nested", calls).await;
}

#[candor::args]
struct Query {
    text: String,
    #[default(10)]
    limit: u32,
}

#[tool(effects(limit.at_most(10) => reads, otherwise => adds))]
fn of_a_struct(query: Query) {
    let Query { text, limit } = query;
    let _ = (text, limit);
}

#[tokio::test]
async fn rows_test_the_fields_of_a_struct_that_is_the_arguments() {
    let calls = [
        (json!({"text": "a"}), reads()),
        (json!({"text": "a", "limit": 10.0}), reads()),
        (json!({"text": "a", "limit": 11}), adds()),
    ];
    expect(|| tools![of_a_struct], "of_a_struct", calls).await;
    expect_static(|| tools![of_a_struct], "of_a_struct", &adds()).await;
}

#[tool(effects(how == "look" => reads, otherwise => adds))]
fn renamed(#[serde(rename = "r#how/ever")] how: String) {
    let _ = how;
}

#[tool(effects(how == "look" => reads, otherwise => adds))]
fn anything(all: Arguments) {
    let _ = all;
}

#[tool(effects(how == "look" => reads), input_schema = r#"{"type":"object"}"#)]
fn given(#[default(String::new())] other: String) {
    let _ = other;
}

#[tokio::test]
async fn rows_find_arguments_by_their_published_names() {
    let calls = [(json!({"r#how/ever": "look"}), reads()), (json!({"r#how/ever": "x"}), adds())];
    expect(|| tools![renamed], "renamed", calls).await;
    let calls = || [(json!({"how": "look"}), reads()), (json!({"how": "look", "x": 1}), reads())];
    expect(|| tools![anything], "anything", calls()).await;
    expect(|| tools![anything], "anything", [(json!({}), adds())]).await;
    expect(|| tools![given], "given", calls()).await;
}

#[tool(effects(dry == true => reads, dry == false => adds), closed_world)]
fn either(dry: bool) {
    let _ = dry;
}

#[tool(effects(level == "low" => reads, level == "high" => adds + idempotent))]
fn all_named(level: Level) {
    let _ = level;
}

#[tool(effects(level == "low" => reads))]
fn some_named(level: Level) {
    let _ = level;
}

#[tool(effects(level == "low" && dry == true => reads, level == "high" => reads))]
fn with_a_hole(level: Level, dry: bool) {
    let _ = (level, dry);
}

#[tokio::test]
async fn static_hints_are_exact_if_rows_cover_every_call() {
    expect_static(|| tools![either], "either", &hints(false, false, false, false)).await;
    expect_static(|| tools![all_named], "all_named", &hints(false, false, true, true)).await;
    expect_static(|| tools![some_named], "some_named", &worst()).await;
    expect_static(|| tools![with_a_hole], "with_a_hole", &worst()).await;
}
