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
async fn server_answers_at_the_address_that_it_prints() {
    let mut program = Program::start(candor_files(&folder("http")).args(["--http", "127.0.0.1:0"]));
    let address = program.listening().await;
    assert_ne!(port_of(&address), 0);
    assert_eq!(name_at(&address).await, "candor-files");
    assert!(program.runs());
}

#[tokio::test]
async fn http_address_comes_from_a_flag_or_a_variable() {
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

/// A proxy may bring callers of other machines, who need tokens. A URL of this machine brings none.
#[tokio::test]
async fn public_url_of_this_machine_needs_no_tokens() {
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
async fn folder_with_a_name_that_is_not_utf8_is_served() {
    use std::os::unix::ffi::OsStrExt as _;
    let root = folder("no text").join(std::ffi::OsStr::from_bytes(b"\xff"));
    std::fs::create_dir(&root).unwrap();
    let mut program = Program::start(candor_files(&root).args(["--http", "0"]));
    assert_eq!(name_at(&program.listening().await).await, "candor-files");
}

#[tokio::test]
async fn server_without_an_address_takes_the_next_free_port() {
    let root = folder("default");
    // Held until the end. If another program holds the port already, it is in use as well.
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
async fn address_in_use_is_an_error_that_names_it() {
    let taken = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let ended = output(candor_files(&folder("taken")).args(["--http", &address])).await;
    assert_eq!(ended.status.code(), Some(1));
    let complaint = ended.stderr.join("\n");
    assert!(complaint.contains(&format!("error: {address} is taken")), "{complaint}");
    assert_eq!(ended.stdout, [""; 0]);
}

#[tokio::test]
async fn server_on_a_public_address_requires_tokens() {
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
async fn server_stops_cleanly_as_soon_as_it_listens() {
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
async fn signal_ends_the_server_with_exit_code_0() {
    let mut program = Program::start(candor_files(&folder("signal")).args(["--http", "0"]));
    let address = program.listening().await;
    assert_eq!(name_at(&address).await, "candor-files");
    program.terminate();
    let ended = program.ended().await;
    assert_eq!(ended.status.code(), Some(0));
    assert_eq!(ended.stdout, [""; 0]);
}
