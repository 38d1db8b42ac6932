//! `candor files --instance NAME`: which replicas share keys, and what clients carry.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::http::post;
use crate::messages::{call, modern};
use crate::process::Program;
use crate::{candor_files, folder};

/// A server of one folder, with the ledger of another.
async fn serve(folder: &Path, ledger: &Path, instance: &[&str]) -> (Program, String) {
    let ledger = format!("sqlite:{}", ledger.join("ledger.db").display());
    serve_with(folder, &ledger, instance).await
}

async fn serve_with(folder: &Path, ledger: &str, instance: &[&str]) -> (Program, String) {
    fs::create_dir_all(folder).unwrap();
    let mut command = candor_files(folder);
    command.args(["--http", "127.0.0.1:0", "--ledger", ledger]).args(instance);
    let mut program = Program::start(&mut command);
    let address = program.listening().await;
    (program, address)
}

async fn append(address: &str) -> Value {
    let arguments = json!({"path": "log.txt", "action": "append", "content": "a line\n"});
    let mut call = call(1, "manage_files", &arguments);
    call["params"]["_meta"]["dev.candor/idempotencyKey"] = json!("k");
    let answer = post(address, &call, &[]).await.json();
    assert_ne!(answer["result"]["isError"], true, "{answer}");
    answer
}

fn is_replayed(answer: &Value) -> bool {
    answer["result"]["_meta"]["dev.candor/idempotency"]["replayed"] == true
}

#[tokio::test]
async fn replicas_share_keys_if_they_name_one_instance() {
    let around = folder("instance-keys");
    share_keys(&around, &format!("sqlite:{}", around.join("ledger.db").display()), "").await;
}

#[tokio::test]
async fn replicas_share_keys_in_postgresql_if_they_name_one_instance() {
    // `cargo xtask check` starts a database, and names it.
    let Ok(url) = std::env::var("DATABASE_URL") else { return };
    // It keeps the keys of earlier runs.
    let run = format!("{:?}", std::time::SystemTime::now());
    share_keys(&folder("instance-postgres"), &url, &run).await;
}

async fn share_keys(around: &Path, ledger: &str, run: &str) {
    let [here, there] = ["here", "there"].map(|name| around.join(name));
    let [notes, drafts] = ["notes", "drafts"].map(|name| format!("{name}{run}"));
    // Two folders, as two machines have them: only the name says that they hold the same data.
    let (_one, one) = serve_with(&here, ledger, &["--instance", &notes]).await;
    let (_same, same) = serve_with(&there, ledger, &["--instance", &notes]).await;
    let (_other, other) = serve_with(&there, ledger, &["--instance", &drafts]).await;
    assert!(!is_replayed(&append(&one).await));
    assert!(is_replayed(&append(&same).await));
    assert!(!there.join("log.txt").exists(), "a replay runs nothing");
    assert!(!is_replayed(&append(&other).await));
    assert_eq!(fs::read_to_string(there.join("log.txt")).unwrap(), "a line\n");
}

#[tokio::test]
async fn folder_is_the_default_instance() {
    let around = folder("instance-default");
    let [here, there] = ["here", "there"].map(|name| around.join(name));
    let (_one, one) = serve(&here, &around, &[]).await;
    let (_same, same) = serve(&here, &around, &["--instance", ""]).await;
    let (_other, other) = serve(&there, &around, &[]).await;
    assert!(!is_replayed(&append(&one).await));
    assert!(is_replayed(&append(&same).await));
    assert!(!is_replayed(&append(&other).await));
}

#[tokio::test]
async fn cursors_are_accepted_within_one_instance() {
    let around = folder("instance-cursors");
    let served = around.join("served");
    fs::create_dir_all(&served).unwrap();
    for n in 0..1200 {
        fs::write(served.join(format!("{n:04}.txt")), "").unwrap();
    }
    let (_one, one) = serve(&served, &around, &["--instance", "notes"]).await;
    let (_same, same) = serve(&served, &around, &["--instance", "notes"]).await;
    let (_other, other) = serve(&served, &around, &["--instance", "drafts"]).await;
    let list = async |address: &str, params: Value| {
        post(address, &modern(1, "resources/list", &params), &[]).await.json()
    };
    let roots = list(&one, json!({})).await;
    let uri = &roots["result"]["resources"][0]["uri"];
    let first = list(&one, json!({"uri": uri})).await;
    let cursor = &first["result"]["nextCursor"];
    assert!(cursor.is_string(), "{first}");
    let second = list(&same, json!({"uri": uri, "cursor": cursor})).await;
    assert!(second["result"]["resources"][0].is_object(), "{second}");
    let refused = list(&other, json!({"uri": uri, "cursor": cursor})).await;
    assert_eq!(refused["error"]["code"], -32602, "{refused}");
}
