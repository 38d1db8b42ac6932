//! Hints are promises: what `tools/annotations` foresees of a call is what happens on the disk.

use serde_json::{Value, json};

use super::{ERAS, Era, Host, Served, arrange, each, manage, manage_with};

/// What a call does, in the order of the protocol: read-only, destructive, idempotent, open world.
type Hints = [bool; 4];

const READS: Hints = [true, false, true, false];
const ADDS: Hints = [false, false, false, false];
const ADDS_ONCE: Hints = [false, false, true, false];
const LOSES: Hints = [false, true, false, false];
const LOSES_ONCE: Hints = [false, true, true, false];

fn written([read_only, destructive, idempotent, open_world]: Hints) -> Value {
    json!({
        "readOnlyHint": read_only,
        "destructiveHint": destructive,
        "idempotentHint": idempotent,
        "openWorldHint": open_world,
    })
}

/// What hints say, with the protocol's defaults where they say nothing. What only reads needs to say nothing more.
fn meaning(annotations: &Value) -> Hints {
    let hint = |name: &str, default: bool| annotations[name].as_bool().unwrap_or(default);
    let reads = hint("readOnlyHint", false);
    let (destructive, idempotent) =
        (hint("destructiveHint", !reads), hint("idempotentHint", reads));
    [reads, destructive, idempotent, hint("openWorldHint", true)]
}

/// Calls that succeed in a folder that was prepared, and show all that their action does.
fn calls() -> Vec<(&'static str, Value, Hints)> {
    vec![
        ("manage_files", manage("read", "hello.txt"), READS),
        ("manage_files", manage_with("append", "hello.txt", "more"), ADDS),
        ("manage_files", manage_with("append", "sub/new.txt", "new"), ADDS),
        ("manage_files", manage_with("replace", "hello.txt", "other"), LOSES_ONCE),
        ("manage_files", manage("delete", "sub/inner.md"), LOSES_ONCE),
        ("list_files", json!({}), READS),
        ("list_files", json!({"path": "sub"}), READS),
        ("search_files", json!({"name": "*"}), READS),
        ("search_files", json!({"text": "e", "ignore_case": true}), READS),
        ("make_folder", json!({"path": "sub/new/folder"}), ADDS_ONCE),
        ("move_files", arrange("copy", "hello.txt", "sub/copy.txt"), ADDS),
        ("move_files", arrange("copy_over", "hello.txt", "sub/inner.md"), LOSES_ONCE),
        ("move_files", arrange("move", "sub", "moved"), LOSES),
        ("move_files", arrange("move_over", "hello.txt", "sub/inner.md"), LOSES),
    ]
}

async fn explanation(host: &mut Host, tool: &str, arguments: &Value) -> Value {
    let params = json!({"name": tool, "arguments": arguments});
    host.result("tools/annotations", &params).await["annotations"].take()
}

#[tokio::test]
async fn evaluated_hints_match_the_effect_of_the_call() {
    for era in ERAS {
        for (number, (tool, arguments, hints)) in calls().into_iter().enumerate() {
            let served = Served::prepared(&format!("effect {era:?} {number}"));
            let mut host = served.to(era, &[]).await;
            let before = served.tree();
            assert_eq!(
                explanation(&mut host, tool, &arguments).await,
                written(hints),
                "{arguments}"
            );
            assert_eq!(served.tree(), before, "{tool} {arguments}: evaluation changes nothing");

            host.done(tool, &arguments).await;
            let after = served.tree();
            let [read_only, destructive, idempotent, _] = hints;
            assert_eq!(after == before, read_only, "{tool} {arguments}");
            assert_eq!(!after.keeps(&before), destructive, "{tool} {arguments}");

            let again = host.call(tool, &arguments).await;
            let is_the_same = served.tree().timeless() == after.timeless();
            let repeats = is_the_same && again["result"]["isError"] != true;
            assert_eq!(repeats, idempotent, "{tool} {arguments}: {again}");
        }
    }
}

/// A call that fails has at most the effect of one that succeeds. These calls have none.
#[tokio::test]
async fn refused_calls_and_reads_change_nothing() {
    let served = Served::prepared("no effect");
    let mut host = served.serve().await;
    let before = served.tree();
    for (tool, arguments) in [
        ("manage_files", manage("read", "bytes.bin")),
        ("manage_files", manage("read", "nowhere")),
        ("manage_files", manage("delete", "sub")),
        ("manage_files", manage("delete", "nowhere")),
        ("manage_files", manage_with("append", "sub", "x")),
        ("manage_files", manage_with("replace", "no/where", "x")),
        ("make_folder", json!({"path": "sub/deeper"})),
        ("make_folder", json!({"path": "hello.txt/new"})),
        ("move_files", arrange("copy", "hello.txt", "bytes.bin")),
        ("move_files", arrange("move", "sub", "sub/deeper/sub")),
    ] {
        host.call(tool, &arguments).await;
        assert_eq!(served.tree(), before, "{tool} {arguments}");
    }
}

#[tokio::test]
async fn result_repeats_the_evaluated_hints() {
    let served = Served::prepared("repeated");
    let mut host = served.serve().await;
    for (tool, arguments, hints) in calls().into_iter().filter(|(tool, ..)| *tool == "manage_files")
    {
        let answer = host.call(tool, &arguments).await;
        let told = &answer["result"]["_meta"]["dev.candor/dynamic-annotations"]["annotations"];
        assert_eq!(*told, written(hints), "{answer}");
    }
}

/// A client that reads only static hints sees the worst case of each tool.
#[tokio::test]
async fn listed_hints_are_the_worst_case_of_each_tool() {
    let served = Served::empty("static hints");
    for era in ERAS {
        let mut host = served.to(era, &[]).await;
        let listed = host.result("tools/list", &json!({})).await;
        let tools = listed["tools"].as_array().unwrap();
        assert_eq!(
            each(&listed["tools"], "name"),
            [
                "manage_files",
                "preview_manage_files",
                "list_files",
                "search_files",
                "make_folder",
                "move_files",
                "preview_move_files"
            ]
        );
        for (tool, (hints, varies)) in tools.iter().zip([
            (LOSES, true),
            (READS, false),
            (READS, false),
            (READS, false),
            (ADDS_ONCE, false),
            (LOSES, true),
            (READS, false),
        ]) {
            assert_eq!(meaning(&tool["annotations"]), hints, "{tool}");
            assert_eq!(tool["dynamicAnnotations"] == true, varies, "{tool}");
            assert!(tool["description"].is_string() && tool["inputSchema"].is_object(), "{tool}");
        }
    }
}

#[tokio::test]
async fn split_tool_has_the_exact_hints_of_its_action() {
    for era in ERAS {
        for how in ["--split", "--split=beside"] {
            let served = Served::prepared(&format!("parts {era:?} {how}"));
            let mut host = served.to(era, &[how]).await;
            let listed = host.result("tools/list", &json!({})).await;
            let has_whole = each(&listed["tools"], "name").contains(&"manage_files");
            assert_eq!(has_whole, how == "--split=beside");
            let mut expected = calls();
            expected.retain(|(_, arguments, _)| arguments["action"].is_string());
            for (tool, mut arguments, hints) in expected {
                let action = arguments.as_object_mut().unwrap().remove("action").unwrap();
                let part = format!("{tool}_{}", action.as_str().unwrap());
                let tools = listed["tools"].as_array().unwrap();
                let definition = tools.iter().find(|t| t["name"] == *part).expect(&part);
                assert_eq!(definition["annotations"], written(hints), "{definition}");
                assert_eq!(definition.get("dynamicAnnotations"), None, "{definition}");
                assert_eq!(definition["inputSchema"]["properties"].get("action"), None);
                assert_eq!(explanation(&mut host, &part, &arguments).await, written(hints));
            }
        }
    }
}

#[tokio::test]
async fn split_tools_work_and_refuse_an_action_argument() {
    let served = Served::prepared("parts work");
    let mut host = served.to(Era::Modern, &["--split"]).await;
    let content = json!({"path": "new.txt", "content": "one"});
    host.done("manage_files_append", &content).await;
    host.done("manage_files_append", &content).await;
    assert_eq!(host.done("manage_files_read", &json!({"path": "new.txt"})).await, "oneone");
    host.done("manage_files_replace", &content).await;
    let to = json!({"from": "new.txt", "to": "newer.txt"});
    host.done("move_files_copy", &to).await;
    host.done("move_files_copy_over", &to).await;
    host.done("manage_files_delete", &json!({"path": "newer.txt"})).await;
    host.done("move_files_move", &to).await;
    let over = json!({"from": "newer.txt", "to": "hello.txt"});
    host.done("move_files_move_over", &over).await;
    assert_eq!(served.text("hello.txt"), "one");
    assert!(!served.has("new.txt") && !served.has("newer.txt"));

    let another = json!({"path": "hello.txt", "action": "delete"});
    let told = host.refused("manage_files_read", &another, "invalid_arguments").await;
    assert!(told.contains("/action"), "{told}");
    assert!(served.has("hello.txt"));
}
