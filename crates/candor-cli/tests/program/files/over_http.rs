//! The same folder over HTTP.

use std::fs;

use serde_json::{Value, json};

use super::{Served, each, manage, manage_with};
use crate::http::{Events, post};
use crate::messages::{call, modern, text};
use crate::process::Program;

async fn ask(address: &str, request: &Value) -> Value {
    let reply = post(address, request, &[]).await;
    assert_eq!(reply.status, 200, "{reply:?}");
    reply.json()
}

#[tokio::test]
async fn tools_resources_and_changes_work_over_http() {
    let served = Served::prepared("over http");
    let mut program = Program::start(served.command(&[]).args(["--http", "127.0.0.1:0"]));
    let address = program.listening().await;
    let listed = ask(&address, &modern(1, "resources/list", &json!({}))).await;
    let root = listed["result"]["resources"][0]["uri"].as_str().unwrap().to_owned();
    let uri = format!("{root}/new.txt");

    let written = call(2, "manage_files", &manage_with("replace", "new.txt", "first"));
    assert_eq!(text(&ask(&address, &written).await), "Wrote 5 bytes to new.txt, which is new");
    assert_eq!(served.text("new.txt"), "first");
    let read = ask(&address, &modern(3, "resources/read", &json!({"uri": uri}))).await;
    assert_eq!(read["result"]["contents"][0]["text"], "first");
    let children = ask(&address, &modern(4, "resources/list", &json!({"uri": root}))).await;
    let names = each(&children["result"]["resources"], "name");
    assert_eq!(names, ["bytes.bin", "hello.txt", "new.txt", "sub"]);
    let found = ask(&address, &call(5, "search_files", &json!({"text": "Inner"}))).await;
    assert_eq!(each(&found["result"]["structuredContent"]["matches"], "path"), ["sub/inner.md"]);

    let filter = json!({"notifications": {"resourceSubscriptions": [uri]}});
    let mut events = Events::post(&address, &modern(6, "subscriptions/listen", &filter)).await;
    let told = events.next().await.unwrap();
    assert_eq!(told["params"]["notifications"]["resourceSubscriptions"], json!([uri]));
    fs::write(served.at("new.txt"), "second").unwrap();
    let told = events.next().await.unwrap();
    assert_eq!(told["method"], "notifications/resources/updated", "{told}");
    assert_eq!(told["params"]["uri"], *uri);

    for path in ["../outside/secret.txt", "/etc/passwd", ".hidden"] {
        let answer = ask(&address, &call(7, "manage_files", &manage("read", path))).await;
        assert_eq!(answer["result"]["isError"], true, "{answer}");
    }
    for path in ["../outside/secret.txt", "%2e%2e/outside/secret.txt", ".hidden"] {
        let asked = modern(8, "resources/read", &json!({"uri": format!("{root}/{path}")}));
        let reply = post(&address, &asked, &[]).await;
        assert_eq!(reply.json()["error"]["code"], -32602, "{reply:?}");
    }
    let deleted = ask(&address, &call(9, "manage_files", &manage("delete", "new.txt"))).await;
    assert_eq!(text(&deleted), "Deleted new.txt");
    assert!(!served.has("new.txt"));
}
