//! What arrives on the stdin of a server that speaks HTTP.

use serde_json::{Value, json};

use crate::http::post;
use crate::messages::{initialize, modern};
use crate::process::{Program, bounded};
use crate::{candor_files, folder};

async fn http_server(name: &str) -> (Program, String) {
    let mut program = Program::start(candor_files(&folder(name)).args(["--http", "127.0.0.1:0"]));
    let address = program.listening().await;
    (program, address)
}

async fn assert_serves(address: &str) {
    let reply = post(address, &modern(1, "server/discover", &json!({})), &[]).await;
    assert_eq!(reply.status, 200, "{reply:?}");
}

#[tokio::test]
async fn host_without_the_stdio_flag_gets_an_error() {
    let (mut program, address) = http_server("forgot").await;
    let answer = program.ask(&initialize(17)).await;
    assert_eq!(answer["error"]["code"], -32600);
    let message = answer["error"]["message"].as_str().unwrap();
    assert!(message.contains("--stdio"), "{message}");
    assert!(program.complaint().await.contains("--stdio"), "the user at the terminal sees it, too");
    // A client of both eras asks twice and gets two responses.
    let again = program.ask(&modern(18, "server/discover", &json!({}))).await;
    assert_eq!((&again["error"]["code"], &again["id"]), (&json!(-32600), &json!(18)));
    assert_serves(&address).await;
}

#[tokio::test]
async fn misplaced_notification_gets_an_error_without_an_id() {
    let (mut program, _address) = http_server("notification").await;
    program.write(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
    let answer = program.next().await;
    assert_eq!((&answer["error"]["code"], &answer["id"]), (&json!(-32600), &Value::Null));
}

#[tokio::test]
async fn stdin_that_is_not_json_rpc_is_ignored() {
    let (mut program, address) = http_server("noise").await;
    for line in ["hello?", "{\"key\": \"value\"}", "", "\u{7f}"] {
        program.write(line).await;
    }
    program.close_stdin();
    assert_serves(&address).await;
    assert!(program.runs());
    #[cfg(unix)]
    {
        program.terminate();
        let ended = bounded("the server ends", program.ended()).await;
        assert_eq!(ended.stdout, [""; 0]);
    }
}

#[tokio::test]
async fn closed_stdin_does_not_end_an_http_server() {
    let mut command = candor_files(&folder("closed stdin"));
    let mut program = Program::start(command.args(["--http", "127.0.0.1:0"]));
    program.close_stdin();
    let address = program.listening().await;
    assert_serves(&address).await;
    assert_serves(&address).await;
    assert!(program.runs());
}
