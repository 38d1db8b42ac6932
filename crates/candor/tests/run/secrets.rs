//! Keys that several instances share, so that a client may continue with any of them.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::example;
use crate::http::{Reply, post};
use crate::messages::{modern, text};
use crate::process::{Program, output};

const TOOL: &str = "test_input_required_result_elicitation";

fn key_file(name: &str, text: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.keys"));
    std::fs::write(&path, text).unwrap();
    path
}

/// A server and where it listens.
async fn server(secret: Option<&PathBuf>) -> (Program, String) {
    let mut command = example("everything");
    command.args(["--http", "127.0.0.1:0"]);
    if let Some(path) = secret {
        command.arg("--secret-file").arg(path);
    }
    let mut program = Program::start(&mut command);
    let address = program.listening().await;
    (program, address)
}

/// Asks a server; gives the state that it wants back.
async fn first_round(address: &str) -> Value {
    let reply = post(address, &modern(1, "tools/call", &json!({"name": TOOL})), &[]).await;
    let mut result = reply.json()["result"].take();
    assert_eq!(result["resultType"], "input_required", "{reply:?}");
    result["requestState"].take()
}

/// Brings state and answer to a server.
async fn second_round(address: &str, state: &Value) -> Reply {
    let answers = json!({"user_name": {"action": "accept", "content": {"name": "Ada"}}});
    let params = json!({"name": TOOL, "inputResponses": answers, "requestState": state});
    post(address, &modern(2, "tools/call", &params), &[]).await
}

#[tokio::test]
async fn servers_that_share_a_secret_continue_each_others_rounds() {
    let shared = key_file("shared", &format!("# newest first\n{}\n", "ab".repeat(32)));
    let rotated = key_file("rotated", &format!("{}\n{}\n", "cd".repeat(32), "ab".repeat(32)));
    let (one, other, third) =
        tokio::join!(server(Some(&shared)), server(Some(&shared)), server(Some(&rotated)));
    let state = first_round(&one.1).await;
    for (_, address) in [&other, &third, &one] {
        let reply = second_round(address, &state).await;
        assert_eq!((reply.status, text(&reply.json())), (200, "Hello, Ada!"));
    }
}

#[tokio::test]
async fn servers_with_different_secrets_refuse_each_others_rounds() {
    let (one, other) = (key_file("one", &"12".repeat(32)), key_file("other", &"34".repeat(32)));
    let (one, other, random) = tokio::join!(server(Some(&one)), server(Some(&other)), server(None));
    let state = first_round(&one.1).await;
    for (_, address) in [&other, &random] {
        let answer = second_round(address, &state).await.json();
        assert_eq!(
            answer["error"],
            json!({
                "code": -32602,
                "message": "Invalid requestState: not made by this server for this request, or expired",
            })
        );
    }
    assert_eq!(text(&second_round(&one.1, &state).await.json()), "Hello, Ada!");
}

#[tokio::test]
async fn invalid_secret_file_is_an_error_that_names_file_and_line() {
    let broken = key_file("broken", &format!("# a comment\n{}\nnot a key\n", "ab".repeat(32)));
    for transport in ["--stdio", "--http=127.0.0.1:0"] {
        let ended = output(example("hello").arg(transport).arg("--secret-file").arg(&broken)).await;
        assert_eq!(ended.status.code(), Some(1));
        let complaint = ended.stderr.join("\n");
        assert!(
            complaint.contains(&format!("{}: line 3 is not 64", broken.display())),
            "{complaint}"
        );
    }
    let ended =
        output(example("hello").args(["--stdio", "--secret-file", "/nonexistent/keys"])).await;
    assert_eq!(ended.status.code(), Some(2));
    let complaint = ended.stderr.join("\n");
    assert!(complaint.contains("'/nonexistent/keys' for '--secret-file <FILE>'"), "{complaint}");
}
