//! What servers claim of a call is not stated as a fact.

use std::fs;

use crate::World;

/// A modern server that answers every call as its first word says, and counts them.
const CLAIMING: &str = r#"
import json, sys
answers = {
    "asks": {"resultType": "input_required", "requestState": "s"},
    "replayed": {"resultType": "complete", "content": [{"type": "text", "text": "here"}], "_meta": {"dev.candor/idempotency": {"replayed": True}}},
    "unanswerable": {"resultType": "input_required", "requestState": "s", "inputRequests": {"q": {"method": "sampling/createMessage", "params": {"messages": [], "maxTokens": 1}}}},
    "in_progress": {"resultType": "complete", "content": [], "isError": True, "_meta": {"dev.candor/error": {"code": "in_progress", "raisedBy": "server", "retriable": True}}},
    "invalid_arguments": {"resultType": "complete", "content": [], "isError": True, "_meta": {"dev.candor/error": {"code": "invalid_arguments", "raisedBy": "server"}}},
    "busy": {"resultType": "complete", "content": [], "isError": True, "_meta": {"dev.candor/error": {"code": "busy", "raisedBy": "server", "retriable": True, "retryAfterMs": 1}}},
}
for line in sys.stdin:
    message = json.loads(line)
    method = message["method"]
    if "id" not in message:
        continue
    if method == "server/discover":
        result = {"resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}, "extensions": {"dev.candor/idempotency": {}}}, "ttlMs": 0, "cacheScope": "private"}
    elif method == "tools/list":
        result = {"resultType": "complete", "tools": [{"name": "wipe", "inputSchema": {"type": "object"}}], "ttlMs": 0, "cacheScope": "private"}
    else:
        open("calls", "a").write(".")
        result = answers[sys.argv[1]]
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"#;

/// Calls it once, and says how often it was called.
async fn wipe(world: &World, flags: &[&str], kind: &str) -> (crate::Told, usize) {
    let _ = fs::remove_file(world.around.join("calls"));
    let words = [&["call", "wipe", "--yes"], flags, &["--", "python3", "-c", CLAIMING, kind]];
    let told = world.run(&words.concat()).await;
    let calls = fs::read_to_string(world.around.join("calls")).unwrap_or_default().len();
    (told, calls)
}

#[tokio::test]
async fn endless_input_requests_warn_that_the_call_may_have_run() {
    let world = World::new("claiming questions");
    let (told, _) = wipe(&world, &[], "asks").await;
    told.ended(1).complains("may have");
    let (told, _) = wipe(&world, &["--json"], "asks").await;
    assert_eq!(told.ended(1).error()["code"], "too_many_rounds");
}

#[tokio::test]
async fn forged_replay_without_a_key_is_not_reported() {
    let world = World::new("claiming replays");
    // A tool that only reads gets no key.
    let script = CLAIMING.replace(
        r#""inputSchema": {"type": "object"}}"#,
        r#""inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}}"#,
    );
    let words = ["--", "python3", "-c", &script, "replayed"];
    let told = world.run(&[&["call", "wipe"], &words[..]].concat()).await.ended(0);
    assert_eq!((told.stdout.as_str(), told.stderr.as_str()), ("here\n", ""));
    let told = world.run(&[&["call", "wipe", "--json"], &words[..]].concat()).await.ended(0);
    let whole: serde_json::Value = serde_json::from_str(&told.stdout).unwrap();
    assert!(whole.get("replayed").is_none(), "{whole}");
}

/// The client makes the key for this very call, so no earlier call had it.
#[tokio::test]
async fn forged_replay_of_a_new_key_is_not_reported() {
    let world = World::new("claiming new keys");
    for trust in ["hints", "none"] {
        let (told, _) = wipe(&world, &["--trust", trust], "replayed").await;
        let told = told.ended(0);
        assert!(!told.stderr.contains("stored result"), "{told:?}");
        let (told, _) = wipe(&world, &["--trust", trust, "--json"], "replayed").await;
        let whole: serde_json::Value = serde_json::from_str(&told.ended(0).stdout).unwrap();
        assert!(whole.get("replayed").is_none(), "{whole}");
    }
}

#[tokio::test]
async fn untrusted_claims_do_not_remove_the_may_have_run_warning() {
    let world = World::new("claiming busy");
    for kind in ["busy", "in_progress", "invalid_arguments"] {
        let (told, calls) = wipe(&world, &["--trust", "none"], kind).await;
        let told = told.ended(5);
        told.complains("The call may have run. Check before you repeat it.");
        assert!(!told.stderr.contains("same call again"), "{told:?}");
        assert_eq!(calls, 1, "{kind}");
    }
}

#[tokio::test]
async fn unanswerable_question_warns_that_the_call_may_have_run() {
    let world = World::new("claiming unanswerable questions");
    for trust in ["hints", "none"] {
        let (told, calls) = wipe(&world, &["--trust", trust], "unanswerable").await;
        told.ended(1).complains("The call may have run.");
        assert_eq!(calls, 1);
    }
}
