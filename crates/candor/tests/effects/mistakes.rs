//! Mistakes that the compiler cannot see: the server is not built, and says why.

use candor::json;
use candor::prelude::*;

use crate::{both, refused, server};

#[candor::args]
struct Query {
    text: String,
}

#[tool(effects(text == "a" => reads, text.one_of("b", "a") => adds, text == "b" => deletes))]
fn shadowed(query: Query) {
    let _ = query.text;
}

#[tool(effects(otherwise => adds, text == "a" => reads))]
fn closed_too_early(query: Query) {
    let _ = query.text;
}

#[tokio::test]
async fn row_that_is_never_reached_is_refused() {
    let reason = refused(tools![shadowed]);
    assert_eq!(
        reason,
        r#"tool "shadowed": row 3 of its effects (`text is "b"`) never matches: row 2 before it takes every such call. Remove it, or move it up"#
    );
    let reason = refused(tools![closed_too_early]);
    assert!(reason.contains("row 2"), "{reason}");
}

#[tool(effects(txt == "a" => reads))]
fn misspelt(query: Query) {
    let _ = query.text;
}

#[tool(effects(query.text == "a" => reads))]
fn one_too_deep(query: Query) {
    let _ = query.text;
}

#[tokio::test]
async fn row_with_an_unknown_argument_is_refused() {
    let reason = refused(tools![misspelt]);
    assert_eq!(
        reason,
        r#"tool "misspelt": row 1 of its effects asks about /txt, which is no argument; did you mean `text`?"#
    );
}

#[tokio::test]
async fn row_with_an_unknown_member_is_refused() {
    let reason = refused(tools![one_too_deep]);
    assert!(reason.contains("/query"), "{reason}");
}

#[candor::args]
#[derive(Clone, Copy)]
enum Action {
    #[effect(reads)]
    Read,
    #[effect(deletes)]
    Delete,
}

#[tool(effects(action == "delet" => deletes, otherwise => reads))]
fn slip(action: Action) {
    let _ = (action, Action::Read, Action::Delete);
}

#[tool(effects(action.one_of("read", "list") => reads))]
fn one_slip(action: Action) {
    let _ = action;
}

#[tool(effects(action == Action::Read => reads, action == Action::Delete => deletes, otherwise => deletes))]
fn said_twice(action: Action) {
    let _ = action;
}

#[tool(effects(count == "1" => reads, otherwise => adds))]
fn another_type(count: u8) {
    let _ = count;
}

#[tool(effects(count.at_least(256) => deletes, otherwise => reads))]
fn out_of_range(count: u8) {
    let _ = count;
}

#[tool(effects(n.at_least(10_000_000_000_000_000_000) => deletes, otherwise => reads))]
fn beyond_64_bits(n: i64) {
    let _ = n;
}

#[tool(effects(n.at_most(-9_300_000_000_000_000_000) => deletes, otherwise => reads))]
fn before_64_bits(n: Option<i64>) {
    let _ = n;
}

#[tool(effects(n.at_least(9_223_372_036_854_775_807) => deletes, otherwise => reads))]
fn largest_64_bits(n: i64) {
    let _ = n;
}

#[tool(effects(text.is_absent() => reads, otherwise => adds))]
fn always_there(text: String) {
    let _ = text;
}

#[tool(effects(text == "a" && text == "b" => reads, otherwise => adds))]
fn contradiction(text: String) {
    let _ = text;
}

#[tool(effects(text.below("/a/../b") => reads))]
fn abnormal(text: String) {
    let _ = text;
}

#[tool(effects(text.below("/a") => reads, text.glob("/a/*.log") => adds))]
fn inside(text: String) {
    let _ = text;
}

/// A row that never matches says what its argument can be; the same slip in a schema from elsewhere is refused alike.
#[test]
fn row_that_no_call_matches_is_refused() {
    for (tools, expected) in [
        (
            tools![slip],
            r#"tool "slip": row 1 of its effects (`action is "delet"`) never matches: no call has `action is "delet"`. Values of /action: "read", "delete"; did you mean "delete"?"#,
        ),
        (
            tools![one_slip],
            r#"tool "one_slip": row 1 of its effects (`action is "read" or "list"`): /action is never "list". Values of /action: "read", "delete""#,
        ),
        (
            tools![said_twice],
            r#"tool "said_twice": row 3 of its effects (`otherwise`) never matches: rows 1, 2 before it take every such call. Remove it, or move it up"#,
        ),
        (
            tools![another_type],
            r#"tool "another_type": row 1 of its effects (`count is "1"`) never matches: no call has `count is "1"`. Values of /count: integers from 0 to 255"#,
        ),
        (
            tools![out_of_range],
            r#"tool "out_of_range": row 1 of its effects (`count is at least 256`) never matches: no call has `count is at least 256`. Values of /count: integers from 0 to 255"#,
        ),
        (
            tools![beyond_64_bits],
            r#"tool "beyond_64_bits": row 1 of its effects (`n is at least 10000000000000000000`) never matches: no call has `n is at least 10000000000000000000`. Values of /n: 64-bit integers"#,
        ),
        (
            tools![before_64_bits],
            r#"tool "before_64_bits": row 1 of its effects (`n is at most -9300000000000000000`) never matches: no call has `n is at most -9300000000000000000`. Values of /n: 64-bit integers, left out"#,
        ),
        (
            tools![always_there],
            r#"tool "always_there": row 1 of its effects (`text is left out`) never matches: no call has `text is left out`. Values of /text: strings"#,
        ),
        (
            tools![contradiction],
            r#"tool "contradiction": row 1 of its effects (`text is "a" and text is "b"`) never matches: its tests of /text exclude each other. Values of /text: strings"#,
        ),
        (
            tools![abnormal],
            r#"tool "abnormal": row 1 of its effects (`text is at or below /a/../b`): the pattern for /text is no path in normal form: a name ends in a dot or a space. Write /a/b for absolute paths, a/b for relative ones"#,
        ),
        (
            tools![inside],
            r#"tool "inside": row 2 of its effects (`text is like /a/*.log`) never matches: row 1 before it takes every such call. Remove it, or move it up"#,
        ),
    ] {
        assert_eq!(refused(tools), expected);
    }
}

#[candor::args]
#[serde(tag = "kind")]
enum Target {
    Alpha { n: u8 },
    Beta { m: u8 },
}

#[tool(effects(target.kind == "alpha" && target.m.is_present() => reads, otherwise => deletes))]
fn two_variants(target: Target) {
    let (Target::Alpha { n: _ } | Target::Beta { m: _ }) = target;
}

#[tool(effects(
    target.kind == "alpha" => reads,
    target.n.is_present() => adds,
    otherwise => deletes,
))]
fn variant_twice(target: Option<Target>) {
    let _ = target;
}

#[tool(effects(
    target.kind == "alpha" && target.n.at_least(5) => reads,
    target.m.is_present() && target.kind == "beta" => adds,
    target.n.is_absent() && target.kind.is_absent() => changes,
    otherwise => deletes,
))]
fn each_variant(target: Option<Target>) {
    let _ = target;
}

#[tool(effects(target.is_absent() && target.kind == "alpha" => reads, otherwise => deletes))]
fn absent_variant(target: Option<Target>) {
    let _ = target;
}

#[test]
fn row_that_combines_two_variants_is_refused() {
    for (tools, expected) in [
        (
            tools![absent_variant],
            r#"tool "absent_variant": row 1 of its effects (`target is left out and target.kind is "alpha"`) never matches: no call passes all of its tests together"#,
        ),
        (
            tools![two_variants],
            r#"tool "two_variants": row 1 of its effects (`target.kind is "alpha" and target.m is given`) never matches: no call passes all of its tests together"#,
        ),
        (
            tools![variant_twice],
            r#"tool "variant_twice": row 2 of its effects (`target.n is given`) never matches: rows before it take every such call. Remove it, or move it up"#,
        ),
    ] {
        assert_eq!(refused(tools), expected);
    }
    assert!(server(tools![each_variant]).build().is_ok());
}

#[test]
fn row_at_the_last_64_bit_integer_is_accepted() {
    assert!(server(tools![largest_64_bits]).build().is_ok());
}

#[tool(effects(text == "a" => reads))]
fn sound(query: Query) {
    let _ = query.text;
}

#[tokio::test]
async fn evaluation_of_an_invalid_call_is_refused_like_the_call() {
    for client in both(|| tools![sound]) {
        let ask = |params| client.request("tools/annotations", params);
        let unknown = ask(json!({"name": "solid", "arguments": {}})).await.unwrap_err();
        assert_eq!((unknown.code(), &*unknown.message), (-32602, "Unknown tool: solid"));
        for arguments in [json!({}), json!({"text": 1}), json!({"text": "a", "more": 1})] {
            let refused = ask(json!({"name": "sound", "arguments": arguments})).await.unwrap_err();
            assert_eq!(refused.code(), -32602, "{arguments}");
            assert!(client.call("sound", arguments).await.is_error());
        }
    }
}
