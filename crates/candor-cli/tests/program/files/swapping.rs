//! A folder and a file that are swapped for links to the outside while every tool works on them.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::{Value, json};

use super::{Era, Meanwhile, SECRET, Served, arrange, manage, manage_with};

const INSIDE: &str = "what is inside";

/// What has a name inside has it outside too, so that nothing is refused for want of a name.
fn prepared() -> Served {
    let served = Served::empty("swapped");
    served.write("folder/secret.txt", INSIDE);
    served.write("folder/deep/secret.txt", INSIDE);
    served.write("secret.txt", INSIDE);
    served.write("plain.txt", INSIDE);
    fs::write(served.outside("only outside.txt"), SECRET).unwrap();
    served
}

/// Swaps over and over. What a tool did meanwhile may be in the way of a step; then the next one comes.
fn swapping(served: &Served) -> Meanwhile {
    let (folder, parked) = (served.at("folder"), served.at("parked"));
    let (file, draft) = (served.at("secret.txt"), served.at("draft"));
    Meanwhile::again_and_again(move || {
        let _ = fs::rename(&folder, &parked);
        let _ = symlink("../outside", &folder);
        let _ = symlink("../outside/secret.txt", &draft);
        let _ = fs::rename(&draft, &file);
        std::thread::yield_now();
        let _ = fs::remove_file(&folder);
        let _ = fs::rename(&parked, &folder);
        let _ = fs::write(&draft, INSIDE);
        let _ = fs::rename(&draft, &file);
        std::thread::yield_now();
    })
}

fn calls(round: u32) -> Vec<Value> {
    let new = format!("folder/new-{}", round % 4);
    let call = |tool: &str, arguments: &Value| json!({"name": tool, "arguments": arguments});
    let mut calls = Vec::new();
    for path in ["folder/secret.txt", "folder/deep/secret.txt", "secret.txt"] {
        calls.push(call("manage_files", &manage("read", path)));
        calls.push(call("manage_files", &manage_with("replace", path, INSIDE)));
        calls.push(call("manage_files", &manage_with("append", path, "")));
        calls.push(call("move_files", &arrange("copy_over", path, "copy.txt")));
        calls.push(call("move_files", &arrange("copy_over", "plain.txt", path)));
        calls.push(call("manage_files", &manage("read", "copy.txt")));
    }
    for (tool, arguments) in [
        ("list_files", json!({"path": "folder"})),
        ("list_files", json!({"path": "folder/deep"})),
        ("search_files", json!({"text": "nobody"})),
        ("search_files", json!({"path": "folder", "text": "nobody"})),
        ("search_files", json!({"name": "only outside*"})),
        ("manage_files", manage_with("append", &new, "new")),
        ("make_folder", json!({"path": format!("{new}-folder/deep")})),
        ("move_files", arrange("move", &new, &format!("{new}-moved"))),
        ("move_files", arrange("copy", "plain.txt", &new)),
        ("move_files", arrange("move", "folder/only outside.txt", "taken.txt")),
        ("manage_files", manage("delete", &format!("{new}-moved"))),
        ("manage_files", manage("delete", &format!("{new}-folder/deep"))),
        ("manage_files", manage("delete", &format!("{new}-folder"))),
        ("manage_files", manage("delete", "folder/only outside.txt")),
        ("manage_files", manage("delete", &new)),
    ] {
        calls.push(call(tool, &arguments));
    }
    calls
}

fn assert_inside(asked: &Value, answer: &Value) {
    let told = answer.to_string();
    assert!(!told.contains(SECRET), "{asked}: {answer}");
    // A call may name it, a listing may not.
    let lists = ["matches", "entries"].map(|list| &answer["result"]["structuredContent"][list]);
    assert!(
        !lists.iter().any(|list| list.to_string().contains("only outside")),
        "{asked}: {answer}"
    );
}

#[tokio::test]
async fn links_swapped_during_calls_never_lead_out_of_the_folder() {
    let served = prepared();
    let outside = served.tree_outside();
    let mut hosts = [served.to(Era::Legacy, &[]).await, served.to(Era::Modern, &[]).await];
    let root = hosts[1].root().await;
    let swapping = swapping(&served);
    let (mut done, mut refused) = (0, 0);
    for round in 0..60 {
        for host in &mut hosts {
            for call in calls(round) {
                let answer = host.ask("tools/call", &call).await;
                assert_inside(&call, &answer);
                *if answer["result"]["isError"] == true { &mut refused } else { &mut done } += 1;
            }
            for path in ["", "/folder", "/folder/deep", "/folder/secret.txt", "/secret.txt"] {
                let uri = json!({"uri": format!("{root}{path}")});
                for method in ["resources/read", "resources/list", "resources/metadata"] {
                    let answer = host.ask(method, &uri).await;
                    assert_inside(&uri, &answer);
                    let listed = &answer["result"]["resources"];
                    assert!(!listed.to_string().contains("only%20outside"), "{answer}");
                }
            }
        }
    }
    let swaps = swapping.end();
    assert_eq!(served.tree_outside(), outside, "nothing outside has changed");
    assert!(swaps > 50 && done > 100 && refused > 100, "{swaps}, {done}, {refused}");
}
