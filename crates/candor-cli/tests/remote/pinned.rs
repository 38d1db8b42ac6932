//! What `candor call` decides by, and what `candor explain` says of it: what the user agreed to, what the server promised, and what
//! counts if the server cannot be asked.

use serde_json::{Value, json};

use crate::World;

const READS: &str = r#"{"readOnlyHint": true, "openWorldHint": false}"#;
const DELETES: &str =
    r#"{"destructiveHint": true, "idempotentHint": true, "openWorldHint": false}"#;

fn hints(hints: &str) -> Value {
    serde_json::from_str(hints).unwrap()
}

/// A server with a tool `wipe` that declares this.
fn declaring(annotations: &Value) -> Value {
    json!({"tools": [{"name": "wipe", "inputSchema": {"type": "object"}, "annotations": annotations}]})
}

/// A server whose tool `wipe` depends on its arguments; it declares and answers this.
fn answering(annotations: &Value, answer: &Value) -> Value {
    let schema = json!({"type": "object", "properties": {"action": {"enum": ["read", "delete"]}, "path": {"type": "string"}}});
    let tool = json!({"name": "wipe", "inputSchema": schema, "annotations": annotations, "dynamicAnnotations": true});
    json!({
        "capabilities": {"tools": {"dynamicAnnotations": true}},
        "tools": [tool],
        "answers": {"tools/annotations": answer},
    })
}

fn annotated(hints: &Value) -> Value {
    json!({"result": {"annotations": hints}})
}

fn failing(code: i64) -> Value {
    json!({"error": {"code": code, "message": "cannot say"}})
}

#[cfg(unix)]
mod at_a_terminal {
    use super::*;
    use crate::terminal::Terminal;

    /// Answers the question before a call, and returns all that stood there.
    fn answered(world: &World, canned: &Value, words: &[&str], answer: &str) -> String {
        let mut command = world.candor(words);
        command.args(world.cans(canned));
        let mut terminal = Terminal::of(command);
        terminal.says("May it run? [y/N]");
        terminal.types(answer);
        terminal.ended().1
    }

    #[tokio::test]
    async fn milder_declaration_of_a_pinned_tool_asks_again() {
        let world = World::new("pinned static");
        let (severe, mild) = (declaring(&hints(DELETES)), declaring(&hints(READS)));
        world.canned(&mild, &["call", "wipe"]).await.ended(0);
        answered(&world, &severe, &["call", "wipe"], "y");
        let changed = "You agreed to wipe as: May change or delete · safe to retry · local. The server now says: Reads · safe to retry · local.";
        let text = answered(&world, &mild, &["call", "wipe"], "n");
        assert!(text.contains(changed), "{text}");
        assert!(text.contains("wipe has changed since you last agreed"), "{text}");
        let told = world.canned(&mild, &["call", "wipe"]).await.ended(3);
        told.complains(changed);
        assert_eq!(world.asked("tools/call"), 2);
        let told = world.canned(&mild, &["explain", "wipe"]).await.ended(0);
        told.says("→ Needs confirmation");
        told.says(changed);
        // A user who agreed to the milder one is not asked about it again.
        answered(&world, &mild, &["call", "wipe"], "y");
        world.canned(&mild, &["call", "wipe"]).await.ended(0);
    }

    #[tokio::test]
    async fn milder_answer_for_a_pinned_call_asks_again() {
        let world = World::new("pinned dynamic");
        let delete = ["call", "wipe", "action=delete", "path=a"];
        let severe = answering(&hints(DELETES), &annotated(&hints(DELETES)));
        let mild = answering(&hints(DELETES), &annotated(&hints(READS)));
        answered(&world, &severe, &delete, "y");
        // Another choice among the arguments is another call.
        world.canned(&mild, &["call", "wipe", "action=read", "path=a"]).await.ended(0);
        let told = world.canned(&mild, &["call", "wipe", "action=delete", "path=b"]).await.ended(3);
        told.complains("You agreed to wipe as: May change or delete");
        let text = answered(&world, &mild, &delete, "n");
        assert!(text.contains("The server now says: Reads"), "{text}");
        // Without the choices in its schema the tool is not another one.
        let mut open = mild.clone();
        open["tools"][0]["inputSchema"] = json!({"type": "object"});
        world.canned(&open, &["call", "wipe"]).await.ended(3);
        assert_eq!(world.asked("tools/call"), 2);
    }

    /// A choice that is left out could be any of them.
    #[tokio::test]
    async fn pin_holds_for_calls_that_leave_a_choice_out() {
        let severe = answering(&hints(DELETES), &annotated(&hints(DELETES)));
        let mild = answering(&hints(DELETES), &annotated(&hints(READS)));
        let (open, delete) = (["wipe", "path=a"], ["wipe", "action=delete", "path=a"]);
        let read = ["wipe", "action=read", "path=a"];
        for (agreed, then) in [(&open[..], &delete[..]), (&delete, &open), (&open, &read)] {
            let world = World::new("pinned left out");
            answered(&world, &severe, &[&["call"], agreed].concat(), "y");
            let told = world.canned(&mild, &[&["call"], then].concat()).await.ended(3);
            told.complains("You agreed to wipe as: May change or delete");
            assert_eq!(world.asked("tools/call"), 1, "{agreed:?}, {then:?}");
        }
        // Agreement to the milder answer for one choice does not cover another.
        let world = World::new("pinned left out twice");
        answered(&world, &severe, &["call", "wipe", "path=a"], "y");
        answered(&world, &mild, &["call", "wipe", "action=read", "path=a"], "y");
        world.canned(&mild, &["call", "wipe", "action=read", "path=a"]).await.ended(0);
        world.canned(&mild, &["call", "wipe", "path=a"]).await.ended(3);
        world.canned(&mild, &["call", "wipe", "action=delete", "path=a"]).await.ended(3);
    }

    #[tokio::test]
    async fn confirmation_reports_that_the_server_could_not_evaluate() {
        let world = World::new("pinned confirmation");
        let canned = answering(&hints(DELETES), &failing(-32602));
        let text = answered(&world, &canned, &["call", "wipe", "action=delete"], "n");
        let told = "The server could not explain this call (the server reports error -32602: \"cannot say\"), so the tool's own hints apply.";
        let (_, question) =
            text.split_once("May change or delete · safe to retry · local").unwrap();
        assert!(question.contains(told), "{text}");
    }
}

/// The server promises to ask for approval, checks nothing, and runs the call.
#[tokio::test]
async fn server_that_skips_its_approval_needs_confirmation_from_then_on() {
    let world = World::new("pinned skipped");
    let meta = json!({"dev.candor/approval": {"verdict": "ask"}});
    let tool = json!({"name": "wipe", "inputSchema": {"type": "object"}, "annotations": hints(DELETES), "_meta": meta});
    let extension = json!({"version": 1, "ask": "destructive", "client": true, "expect": true});
    let canned = |result: Value| {
        json!({
            "capabilities": {"extensions": {"dev.candor/approval": extension}},
            "tools": [tool],
            "calls": {"wipe": {"result": result}},
        })
    };
    let done = json!({"content": [{"type": "text", "text": "wiped"}]});
    let approved = json!({"content": [], "_meta": {"dev.candor/approval": {"approved": true}}});
    let told = world.canned(&canned(approved), &["call", "wipe"]).await.ended(0);
    assert!(!told.stderr.contains("announced"), "{told:?}");
    // A call that the server had approved is pinned like a confirmed one.
    let told = world.canned(&declaring(&hints(READS)), &["call", "wipe"]).await.ended(3);
    told.complains("You agreed to wipe as: May change or delete");
    let told = world.canned(&canned(done.clone()), &["explain", "wipe"]).await.ended(0);
    told.says("→ Needs approval");
    let told = world.canned(&canned(done.clone()), &["call", "wipe"]).await.ended(0);
    told.complains(
        "The server said that it would ask for approval of this call, but ran it without asking.",
    );
    let told = world.canned(&canned(done.clone()), &["call", "wipe"]).await.ended(3);
    told.complains("so you must confirm");
    assert_eq!(world.asked("tools/call"), 2, "once with an approval, once without");
    let told = world.canned(&canned(done), &["explain", "wipe"]).await.ended(0);
    told.says("→ Needs confirmation, then approval");
}

/// What a tool declares counts whatever the error is; every error but -32602 is tried again first.
#[tokio::test]
async fn failed_evaluation_falls_back_to_static_hints_with_a_notice() {
    for (code, times) in [(-32602, 1), (-32601, 4), (-32603, 4), (-32000, 4)] {
        let world = World::new(&format!("pinned fallback {code}"));
        let canned = answering(&hints(READS), &failing(code));
        let told = world.canned(&canned, &["call", "wipe", "action=read"]).await.ended(0);
        told.complains(&format!(
            "The server could not explain this call (the server reports error {code}: \"cannot say\"), so the tool's own hints apply.\n"
        ));
        assert_eq!(told.stderr.lines().count(), 1, "{told:?}");
        assert_eq!((world.asked("tools/annotations"), world.asked("tools/call")), (times, 1));
    }
}

/// Whatever is declared and evaluated, a call without a terminal does what `explain` predicts.
#[tokio::test]
async fn explain_predicts_call() {
    let nothing = json!({});
    let (reads, deletes) = (hints(READS), hints(DELETES));
    for (declared, answer, next) in [
        (&nothing, failing(-32603), "confirm"),
        (&nothing, failing(-32602), "confirm"),
        (&nothing, annotated(&reads), "run"),
        (&reads, failing(-32602), "run"),
        (&deletes, failing(-32000), "confirm"),
        (&deletes, annotated(&reads), "run"),
        (&reads, annotated(&deletes), "confirm"),
    ] {
        let world = World::new("pinned predicts");
        let canned = answering(declared, &answer);
        let words = |command: &'static str| [command, "wipe", "action=delete"];
        let told = world.canned(&canned, &[&words("explain")[..], &["--json"]].concat()).await;
        let explained = told.ended(0).result();
        assert_eq!(explained["next"], next, "{canned}");
        let code = if next == "run" { 0 } else { 3 };
        world.canned(&canned, &words("call")).await.ended(code);
        // A user who agrees beforehand is not refused.
        world.canned(&canned, &[&words("call")[..], &["--yes"]].concat()).await.ended(0);
    }
}
