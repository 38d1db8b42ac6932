//! `--instance` of a server that is written with `run()`: which replicas share keys, and what clients carry.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::example;
use crate::http::post;
use crate::messages::{call, modern, text};
use crate::process::Program;

fn folder(name: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).unwrap();
    path
}

/// A server of this instance with the ledger, and so the secret, of the folder.
async fn server(name: &str, folder: &Path, instance: &str, more: &[&Path]) -> (Program, String) {
    let mut command = example(name);
    command.args(["--http", "127.0.0.1:0", "--instance", instance, "--ledger"]);
    command.arg(format!("sqlite:{}", folder.join("ledger.db").display())).args(more);
    let mut program = Program::start(&mut command);
    let address = program.listening().await;
    (program, address)
}

#[tokio::test]
async fn replicas_share_keys_if_they_name_one_instance() {
    let folder = folder("instances-keys");
    let [here, there] = ["one.db", "other.db"].map(|name| folder.join(name));
    // Each has invoices of its own: only the name of the instance says that they are the same.
    let data = Path::new("--data");
    let (_one, one) = server("invoices", &folder, "eu", &[data, &here]).await;
    let (_same, same) = server("invoices", &folder, "eu", &[data, &there]).await;
    let (_other, other) = server("invoices", &folder, "us", &[data, &there]).await;
    let create = async |address: &str| {
        let arguments = json!({"customer_id": "6f1d2c3b-4a59-4687-8796-a5b4c3d2e1f0", "amount_cents": 100, "idempotency_key": "k"});
        post(address, &call(1, "create_invoice", &arguments), &[]).await.json()
    };
    let replayed =
        |answer: &Value| answer["result"]["_meta"]["dev.candor/idempotency"]["replayed"] == true;
    let first = create(&one).await;
    assert!(!replayed(&first) && first["result"]["isError"] != true, "{first}");
    let again = create(&same).await;
    assert!(replayed(&again), "{again}");
    assert_eq!(text(&again), text(&first));
    let apart = create(&other).await;
    assert!(!replayed(&apart) && apart["result"]["isError"] != true, "{apart}");
}

#[tokio::test]
async fn sealed_state_is_accepted_within_one_instance() {
    let folder = folder("instances-state");
    let (_one, one) = server("everything", &folder, "eu", &[]).await;
    let (_same, same) = server("everything", &folder, "eu", &[]).await;
    let (_other, other) = server("everything", &folder, "us", &[]).await;
    let tool = "test_input_required_result_elicitation";
    let asked = post(&one, &modern(1, "tools/call", &json!({"name": tool})), &[]).await.json();
    let state = &asked["result"]["requestState"];
    let answers = json!({"user_name": {"action": "accept", "content": {"name": "Ada"}}});
    let params = json!({"name": tool, "inputResponses": answers, "requestState": state});
    let accepted = post(&same, &modern(2, "tools/call", &params), &[]).await;
    assert_eq!((accepted.status, text(&accepted.json())), (200, "Hello, Ada!"));
    let refused = post(&other, &modern(2, "tools/call", &params), &[]).await.json();
    assert_eq!(refused["error"]["code"], -32602, "{refused}");
}
