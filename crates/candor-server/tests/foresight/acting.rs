//! Calls that do what was foreseen, and the harness that shows it.

use std::collections::BTreeSet;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex};

use candor_hints::Hints;
use candor_server::testing::StateSnapshot;
use candor_server::tool::{JsonTool, ToolError};
use futures_util::FutureExt;
use serde_json::{Value, json};

use crate::common::{greet, server};
use crate::{Files, OURS, clients};

fn calls() -> Vec<Value> {
    let call = |action: &str| json!({"path": "a", "action": action, "content": "two"});
    ["read", "append", "replace", "delete"].map(call).into()
}

#[tokio::test]
async fn reference_tool_has_exactly_its_declared_effects() {
    let world = Files::default();
    for client in clients(|| world.server()) {
        let observed =
            client.check_effects("manage_files", calls(), || world.set_up(), || world.look()).await;
        assert_eq!(observed.len(), 4);
        for call in observed {
            assert_eq!(call.seen, call.foreseen, "{}", call.arguments);
        }
    }
    assert_eq!(world.runs(), 16, "two runs per row and client, and none to evaluate");
}

#[tokio::test]
async fn failed_call_still_reports_its_evaluated_effect() {
    let fails = || {
        JsonTool::open("fails", |_, _| async { Err::<String, _>(ToolError::new("No.")) })
            .effects_by(Hints::WORST, |_| Hints::ADDS)
    };
    for client in clients(|| Files::default().server().tool(fails()).tool(greet())) {
        let failed = client.call("fails", ()).await;
        assert!(failed.is_error());
        assert_eq!(failed.foreseen(), Some(Hints::ADDS));
        let meta = failed.raw()["_meta"].as_object().unwrap();
        assert!(meta.contains_key("dev.candor/error") && meta.contains_key(OURS), "{meta:?}");
        let refused = client.call("manage_files", json!({"action": "shred"})).await;
        assert!(refused.is_error());
        assert_eq!(refused.foreseen(), None);
        let fixed = client.call("greet", json!({"name": "Ada"})).await;
        assert_eq!(fixed.foreseen(), None);
    }
}

/// What the harness says of a tool that calls itself this and does that to a list of words.
async fn verdict(said: Hints, act: fn(&mut Vec<String>)) -> Result<Hints, String> {
    let words = Arc::new(Mutex::new(Vec::new()));
    let kept = words.clone();
    let tool = JsonTool::open("acts", move |_, _| {
        act(&mut kept.lock().unwrap());
        async { Ok("") }
    })
    .effects_by(Hints::WORST, move |_| said);
    let client = server().tool(tool).test();
    let checked = client.check_effects(
        "acts",
        [()],
        || *words.lock().unwrap() = vec!["one".to_owned()],
        || words.lock().unwrap().clone(),
    );
    match AssertUnwindSafe(checked).catch_unwind().await {
        Ok(observed) => Ok(observed[0].seen),
        Err(panic) => Err(panic.downcast_ref::<String>().unwrap().clone()),
    }
}

#[tokio::test]
async fn check_effects_fails_for_a_tool_that_exceeds_its_hints() {
    let push = |words: &mut Vec<String>| words.push("two".to_owned());
    for (said, act, found) in [
        (
            Hints::READS,
            push as fn(&mut Vec<String>),
            "but it changed something and its second call had a further effect\n",
        ),
        (Hints::ADDS.idempotent(), push, "but its second call had a further effect\n"),
        (Hints::ADDS, |words| drop(words.pop()), "but it took something away\n"),
        (Hints::ADDS, |words| words[0] = "other".to_owned(), "but it took something away\n"),
    ] {
        let told = verdict(said, act).await.unwrap_err();
        assert!(told.contains(found), "{told}");
        assert!(told.contains(r#""acts" with {} was foreseen as Hints("#), "{told}");
        assert!(told.contains(r#"before     ["one"]"#), "{told}");
        assert!(told.contains("acting.rs:"), "{told}");
    }
}

#[tokio::test]
async fn check_effects_accepts_a_tool_that_stays_below_its_hints() {
    assert_eq!(verdict(Hints::WORST, |_| {}).await, Ok(Hints::READS));
    let set = |words: &mut Vec<String>| words.resize(2, "two".to_owned());
    assert_eq!(verdict(Hints::ADDS.idempotent(), set).await, Ok(Hints::ADDS.idempotent()));
}

#[tokio::test]
async fn check_effects_fails_if_the_call_fails() {
    let fails = || {
        JsonTool::open("fails", |_, _| async { Err::<String, _>(ToolError::new("No.")) })
            .effects_by(Hints::WORST, |_| Hints::ADDS)
    };
    let client = server().tool(fails()).test();
    let checked = client.check_effects("fails", [json!({})], || {}, String::new);
    let panic = AssertUnwindSafe(checked).catch_unwind().await.unwrap_err();
    let told = panic.downcast_ref::<String>().unwrap();
    assert!(told.contains(r#""fails" with {} fails, so nothing can be seen: No."#), "{told}");
}

#[tokio::test]
async fn check_effects_fails_if_the_evaluator_changes_state() {
    let count = Arc::new(Mutex::new(String::new()));
    let counted = count.clone();
    let tool =
        JsonTool::open("nosy", |_, _| async { Ok("") }).effects_by(Hints::WORST, move |_| {
            counted.lock().unwrap().push('|');
            Hints::WORST
        });
    let client = server().tool(tool).test();
    let checked =
        client.check_effects("nosy", [json!({})], || {}, || count.lock().unwrap().clone());
    let panic = AssertUnwindSafe(checked).catch_unwind().await.unwrap_err();
    let told = panic.downcast_ref::<String>().unwrap();
    assert!(told.contains("asking about \"nosy\" with {} changed the world"), "{told}");
}

#[tokio::test]
async fn hints_of_an_unknown_tool_list_the_existing_tools() {
    let client = Files::default().server().test();
    let panic = AssertUnwindSafe(client.hints("manage_file", ())).catch_unwind().await.unwrap_err();
    let told = panic.downcast_ref::<String>().unwrap();
    assert!(
        told.contains(r#"there is no tool "manage_file"; there are: "manage_files""#),
        "{told}"
    );
}

#[test]
fn state_snapshot_detects_removed_data() {
    let set = |members: &[u8]| members.iter().copied().collect::<BTreeSet<_>>();
    assert!(set(&[1]).survives_in(&set(&[1, 2])) && !set(&[1, 2]).survives_in(&set(&[2])));
    assert!("ab".to_owned().survives_in(&"abc".to_owned()));
    assert!(!"ab".to_owned().survives_in(&"bab".to_owned()));
    let world = Files::default();
    world.set_up();
    let before = world.look();
    world.act("b", "append", "x").unwrap();
    world.act("a", "append", "x").unwrap();
    assert!(before.survives_in(&world.look()));
    world.act("a", "replace", "x").unwrap();
    assert!(!before.survives_in(&world.look()));
}
