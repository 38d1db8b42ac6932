//! Where a server listens, and when it refuses to.

use serde_json::json;
use tokio::net::TcpListener;

use crate::http::post;
use crate::messages::modern;
use crate::process::{Program, output};
use crate::{candor_files, folder};

/// Says over HTTP what the server is.
async fn name_at(address: &str) -> String {
    let reply = post(address, &modern(1, "server/discover", &json!({})), &[]).await;
    assert_eq!(reply.status, 200, "{reply:?}");
    assert!(reply.head.contains("content-type: application/json"), "{reply:?}");
    let info = &reply.json()["result"]["_meta"]["io.modelcontextprotocol/serverInfo"];
    info["name"].as_str().unwrap_or_default().to_owned()
}

fn port_of(address: &str) -> u16 {
    let port = address.strip_prefix("127.0.0.1:").expect("this machine");
    port.parse().unwrap()
}

#[tokio::test]
async fn a_server_says_where_it_listens_and_answers_there() {
    let mut program = Program::start(candor_files(&folder("http")).args(["--http", "127.0.0.1:0"]));
    let address = program.listening().await;
    assert_ne!(port_of(&address), 0);
    assert_eq!(name_at(&address).await, "candor-files");
    assert!(program.runs());
}

#[tokio::test]
async fn an_address_may_be_a_port_or_localhost_and_may_come_from_the_environment() {
    let root = folder("addresses");
    for address in ["0", ":0", "localhost:0"] {
        let mut program = Program::start(candor_files(&root).args(["--http", address]));
        assert_eq!(name_at(&program.listening().await).await, "candor-files", "{address}");
    }
    let mut program = Program::start(candor_files(&root).env("CANDOR_HTTP", "127.0.0.1:0"));
    let address = program.listening().await;
    assert_eq!(name_at(&address).await, "candor-files");

    // The flag wins over the environment.
    let taken = address;
    let mut command = candor_files(&root);
    command.env("CANDOR_HTTP", &taken).args(["--http", "127.0.0.1:0"]);
    assert_ne!(Program::start(&mut command).listening().await, taken);

    let ended = output(candor_files(&root).args(["--http", "example.com"])).await;
    assert_eq!(ended.status.code(), Some(2));
    assert!(ended.stderr.join("\n").contains("'example.com'"), "{:?}", ended.stderr);
}

/// Whom a proxy brings is let in only with a token; through a URL of this machine it brings nobody.
#[tokio::test]
async fn a_public_url_of_this_machine_needs_no_tokens() {
    let root = folder("public");
    let command = |url: &str| {
        let mut command = candor_files(&root);
        command.args(["--http", "127.0.0.1:0", "--public-url", url]);
        command
    };
    for url in ["http://localhost:8080/x", "https://127.0.0.2", "http://[::1]:1/"] {
        let mut program = Program::start(&mut command(url));
        assert_eq!(name_at(&program.listening().await).await, "candor-files", "{url}");
    }
    for url in ["https://tools.example/x", "http://10.0.0.1", "http://127.0.0.1.example"] {
        let ended = output(&mut command(url)).await;
        assert_eq!(ended.status.code(), Some(2), "{url}");
        let complaint = ended.stderr.join("\n");
        assert!(complaint.contains(url) && complaint.contains("--tokens FILE"), "{complaint}");
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_folder_whose_name_is_no_text_is_served_like_any_other() {
    use std::os::unix::ffi::OsStrExt as _;
    let root = folder("no text").join(std::ffi::OsStr::from_bytes(b"\xff"));
    std::fs::create_dir(&root).unwrap();
    let mut program = Program::start(candor_files(&root).args(["--http", "0"]));
    assert_eq!(name_at(&program.listening().await).await, "candor-files");
}

#[tokio::test]
async fn without_an_address_a_server_takes_the_next_free_port_after_7332() {
    let root = folder("default");
    // Held until the end, unless another program holds it already: taken it is in any case.
    let _taken = TcpListener::bind("127.0.0.1:7332").await;
    let mut first = Program::start(&mut candor_files(&root));
    let first_address = first.listening().await;
    let mut second = Program::start(&mut candor_files(&root));
    let second_address = second.listening().await;
    let (first_port, second_port) = (port_of(&first_address), port_of(&second_address));
    assert!((7333..7432).contains(&first_port), "{first_port}");
    assert!((first_port + 1..7432).contains(&second_port), "{first_port}, {second_port}");
    assert_eq!(name_at(&first_address).await, "candor-files");
    assert_eq!(name_at(&second_address).await, "candor-files");
}

#[tokio::test]
async fn an_address_that_is_taken_is_an_error_that_names_it() {
    let taken = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let ended = output(candor_files(&folder("taken")).args(["--http", &address])).await;
    assert_eq!(ended.status.code(), Some(1));
    let complaint = ended.stderr.join("\n");
    assert!(complaint.contains(&format!("error: {address} is taken")), "{complaint}");
    assert_eq!(ended.stdout, [""; 0]);
}

#[tokio::test]
async fn a_server_that_others_can_reach_wants_tokens() {
    let ended = output(candor_files(&folder("open")).args(["--http", "0.0.0.0:0"])).await;
    assert_eq!(ended.status.code(), Some(2));
    let complaint = ended.stderr.join("\n");
    assert!(complaint.contains("0.0.0.0:") && complaint.contains("--tokens"), "{complaint}");
    assert!(!complaint.contains("listening on"), "{complaint}");
}

#[tokio::test]
async fn stdio_and_http_together_are_a_usage_error() {
    let mut command = candor_files(&folder("both"));
    let ended = output(command.args(["--stdio", "--http", "127.0.0.1:0"])).await;
    assert_eq!(ended.status.code(), Some(2));
    let complaint = ended.stderr.join("\n");
    assert!(complaint.contains("--stdio and --http cannot be used together"), "{complaint}");
}

#[cfg(unix)]
#[tokio::test]
async fn a_server_that_says_it_listens_can_be_told_to_stop() {
    let root = folder("stop");
    for _ in 0..10 {
        let mut program = Program::start(candor_files(&root).args(["--http", "0"]));
        program.listening().await;
        program.terminate();
        let status = program.ended().await.status;
        assert_eq!(status.code(), Some(0), "{status}");
    }
}

#[cfg(unix)]
#[tokio::test]
async fn a_signal_ends_a_server_in_good_order() {
    let mut program = Program::start(candor_files(&folder("signal")).args(["--http", "0"]));
    let address = program.listening().await;
    assert_eq!(name_at(&address).await, "candor-files");
    program.terminate();
    let ended = program.ended().await;
    assert_eq!(ended.status.code(), Some(0));
    assert_eq!(ended.stdout, [""; 0]);
}
