//! Effects per variant: `#[effect(…)]` on an enum, and `effects(by = …)` on the tool.

use candor::json;
use candor::prelude::*;

use crate::{adds, expect, expect_static, hints, reads, worst};

fn replaces() -> serde_json::Value {
    hints(false, true, true, true)
}

// ---- unit variants

#[candor::args]
enum Action {
    /// Looks at it
    #[effect(reads)]
    Read,
    /// Adds to it
    #[effect(adds)]
    Append,
    /// Takes it away
    #[effect(deletes, idempotent)]
    Delete,
}

#[tool(effects(by = action))]
fn required(path: String, action: Action) {
    let _ = (path, action);
}

#[tokio::test]
async fn each_variant_has_its_own_effect() {
    let calls = [("read", reads()), ("append", adds()), ("delete", replaces())];
    let calls = calls.map(|(action, said)| (json!({"path": "a", "action": action}), said));
    expect(|| tools![required], "required", calls).await;
    expect_static(|| tools![required], "required", &worst()).await;
}

#[candor::args]
enum Harmless {
    /// Only looks
    #[effect(reads, closed_world)]
    Look,
    #[effect(adds, idempotent)]
    Touch,
}

#[tool(effects(by = how))]
fn harmless(how: Harmless) {
    let _ = how;
}

#[tokio::test]
async fn static_hints_are_the_worst_of_the_variants() {
    let changes = hints(false, false, true, true);
    let calls = [
        (json!({"how": "look"}), hints(true, false, true, false)),
        (json!({"how": "touch"}), changes.clone()),
    ];
    expect(|| tools![harmless], "harmless", calls).await;
    expect_static(|| tools![harmless], "harmless", &changes).await;
}

#[tool(effects(by = how), closed_world)]
fn inside(how: Harmless) {
    let _ = how;
}

#[tokio::test]
async fn closed_world_applies_to_every_variant() {
    let calls = [(json!({"how": "touch"}), hints(false, false, true, false))];
    expect(|| tools![inside], "inside", calls).await;
    expect_static(|| tools![inside], "inside", &hints(false, false, true, false)).await;
}

/// The same type in several places.
#[tool(effects(by = second))]
fn twice(first: Harmless, second: Harmless) {
    let _ = (first, second);
}

#[tokio::test]
async fn only_the_named_parameter_decides_the_effect() {
    let calls = [
        (json!({"first": "touch", "second": "look"}), hints(true, false, true, false)),
        (json!({"first": "look", "second": "touch"}), hints(false, false, true, true)),
    ];
    expect(|| tools![twice], "twice", calls).await;
    expect_static(|| tools![twice], "twice", &hints(false, false, true, true)).await;
}

// ---- left out

#[tool(effects(by = action))]
fn option(action: Option<Action>) {
    let _ = action;
}

#[tool(effects(by = action))]
fn optional(#[optional] action: Option<Action>) {
    let _ = action;
}

#[tokio::test]
async fn omitted_deciding_argument_is_the_worst_case() {
    let calls = || [(json!({"action": "read"}), reads()), (json!({}), worst())];
    expect(|| tools![option], "option", calls()).await;
    expect(|| tools![option], "option", [(json!({"action": null}), worst())]).await;
    expect(|| tools![optional], "optional", calls()).await;
    expect_static(|| tools![option], "option", &worst()).await;
}

#[tool(effects(by = how))]
fn with_default(#[default(Harmless::Look)] how: Harmless) {
    let _ = how;
}

#[tokio::test]
async fn omitted_argument_has_the_effect_of_its_default() {
    let calls = [
        (json!({}), hints(true, false, true, false)),
        (json!({"how": "touch"}), hints(false, false, true, true)),
    ];
    expect(|| tools![with_default], "with_default", calls).await;
    expect_static(|| tools![with_default], "with_default", &hints(false, false, true, true)).await;
}

#[tool(effects(by = action))]
fn option_with_default(#[default(Some(Action::Read))] action: Option<Action>) {
    let _ = action;
}

#[tokio::test]
async fn default_applies_to_omitted_arguments_but_not_to_null() {
    let calls = [(json!({}), reads()), (json!({"action": null}), worst())];
    expect(|| tools![option_with_default], "option_with_default", calls).await;
}

// ---- names

#[candor::args]
#[serde(rename_all = "kebab-case")]
enum Named {
    #[effect(reads)]
    LookAround,
    #[effect(adds)]
    #[serde(rename = "ADD IT")]
    AddIt,
    #[effect(deletes)]
    #[serde(rename(serialize = "out", deserialize = "in"), alias = "throw")]
    ThrowAway,
}

#[tool(effects(by = how))]
fn named(how: Named) {
    let _ = how;
}

#[tokio::test]
async fn variants_match_by_their_published_names() {
    let calls = [
        (json!({"how": "look-around"}), reads()),
        (json!({"how": "ADD IT"}), adds()),
        (json!({"how": "in"}), worst()),
    ];
    expect(|| tools![named], "named", calls).await;
}

#[candor::args]
#[serde(rename_all(serialize = "lowercase", deserialize = "SCREAMING_SNAKE_CASE"))]
enum ReadAsWritten {
    #[effect(reads)]
    LookAround,
    #[effect(adds)]
    AddIt,
}

#[tool(effects(by = r#type))]
fn renamed(
    #[serde(rename = "op/kind")] r#type: ReadAsWritten,
    #[serde(rename = "type")] other: u32,
) {
    let _ = (r#type, other);
}

#[tokio::test]
async fn parameter_matches_by_its_published_name() {
    let calls = [
        (json!({"op/kind": "LOOK_AROUND", "type": 1}), reads()),
        (json!({"op/kind": "ADD_IT", "type": 1}), adds()),
    ];
    expect(|| tools![renamed], "renamed", calls).await;
}

// ---- with data

#[candor::args]
#[serde(tag = "kind")]
enum Tagged {
    #[effect(reads)]
    List,
    #[effect(adds)]
    Create { title: String },
    #[effect(deletes)]
    Remove { id: u64 },
}

#[tool(effects(by = change))]
fn tagged(change: Tagged) {
    let _ = change;
}

#[tokio::test]
async fn tag_selects_the_variant() {
    let calls = [
        (json!({"kind": "list"}), reads()),
        (json!({"kind": "create", "title": "a"}), adds()),
        (json!({"kind": "remove", "id": 1}), worst()),
    ];
    let calls = calls.map(|(change, said)| (json!({"change": change}), said));
    expect(|| tools![tagged], "tagged", calls).await;
    expect_static(|| tools![tagged], "tagged", &worst()).await;
}

#[candor::args]
#[serde(tag = "kind", content = "of")]
enum Adjacent {
    #[effect(reads)]
    List,
    #[effect(adds)]
    Create(String),
}

#[tool(effects(by = change))]
fn adjacent(change: Adjacent) {
    let _ = change;
}

#[candor::args]
enum External {
    #[effect(reads)]
    List,
    #[effect(adds)]
    Create { title: String },
    #[effect(deletes, idempotent)]
    Rename(String),
    #[effect(deletes)]
    Move(u64, u64),
}

#[tool(effects(by = change))]
fn external(change: External) {
    let _ = change;
}

#[tokio::test]
async fn adjacent_and_external_tags_select_the_variant() {
    let calls = [
        (json!({"change": {"kind": "list"}}), reads()),
        (json!({"change": {"kind": "create", "of": "a"}}), adds()),
    ];
    expect(|| tools![adjacent], "adjacent", calls).await;
    let calls = [
        (json!({"change": "list"}), reads()),
        (json!({"change": {"create": {"title": "a"}}}), adds()),
        (json!({"change": {"rename": "b"}}), replaces()),
        (json!({"change": {"move": [1, 2]}}), worst()),
    ];
    expect(|| tools![external], "external", calls).await;
}

#[candor::args]
enum Of<T> {
    #[effect(reads)]
    Look,
    #[effect(adds)]
    Add(T),
}

#[tool(effects(by = change))]
fn generic(change: Of<u32>) {
    let _ = change;
}

#[tokio::test]
async fn generic_enum_may_decide_the_effect() {
    let calls = [(json!({"change": "look"}), reads()), (json!({"change": {"add": 1}}), adds())];
    expect(|| tools![generic], "generic", calls).await;
}

#[candor::args]
#[cfg(test)]
enum Conditional {
    #[effect(reads)]
    Look,
}

#[candor::args]
#[cfg(not(test))]
enum Conditional {
    #[effect(adds)]
    Look,
}

#[candor::args]
#[cfg(test)]
struct WithoutVariants {
    how: Conditional,
}

#[tool(effects(by = how: Conditional))]
fn conditional(given: WithoutVariants) {
    let _ = given.how;
}

#[tokio::test]
async fn conditionally_compiled_enum_may_decide_the_effect() {
    expect(|| tools![conditional], "conditional", [(json!({"how": "look"}), reads())]).await;
    expect_static(|| tools![conditional], "conditional", &reads()).await;
}

// ---- a struct that is the arguments

#[candor::args]
struct Request {
    path: String,
    action: Action,
}

#[tool(effects(by = action: Action))]
fn of_a_struct(request: Request) {
    let Request { path, action } = request;
    let _ = (path, action);
}

#[tokio::test]
async fn field_of_a_struct_that_is_the_arguments_may_decide_the_effect() {
    let calls = [("read", reads()), ("append", adds()), ("delete", replaces())];
    let calls = calls.map(|(action, said)| (json!({"path": "a", "action": action}), said));
    expect(|| tools![of_a_struct], "of_a_struct", calls).await;
    expect_static(|| tools![of_a_struct], "of_a_struct", &worst()).await;
}
