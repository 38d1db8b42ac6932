//! Where a request ends, if its headers disagree about it (RFC 9112, section 6.1).

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::http::mirrors;
use crate::messages::modern;
use crate::process::{Program, bounded};
use crate::{candor_files, folder};

/// Sends bytes on one connection and reads until the server closes it.
async fn exchange(address: &str, request: &str) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut response = Vec::new();
    let read = bounded("the connection is closed", stream.read_to_end(&mut response)).await;
    // A server that closes with bytes unread may reset the connection.
    assert!(read.is_ok() || !response.is_empty(), "{read:?}");
    String::from_utf8(response).unwrap()
}

/// A proxy that uses `Content-Length` sees one request here. A server that uses `Transfer-Encoding` and reads on sees two.
#[tokio::test]
async fn transfer_encoding_wins_over_content_length_and_ends_the_connection() {
    let root = folder("framing");
    std::fs::write(root.join("a.txt"), "first").unwrap();
    let mut program = Program::start(candor_files(&root).args(["--http", "127.0.0.1:0"]));
    let address = program.listening().await;
    let arguments = json!({"path": "a.txt", "action": "read"});
    let call = modern(1, "tools/call", &json!({"name": "manage_files", "arguments": arguments}));
    let mcp: String =
        mirrors(&call).iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let rest = json!({"path": "a.txt", "action": "read"});

    let shown: &dyn Fn(&Value) -> bool =
        &|answer| answer["result"]["content"][0]["text"] == "first";
    let validated: &dyn Fn(&Value) -> bool = &|answer| answer["valid"] == true;
    for (path, headers, body, is_answer) in [
        ("/mcp", &*mcp, call.to_string(), shown),
        ("/tools/manage_files/validate", "", rest.to_string(), validated),
    ] {
        let chunked = format!("{:x}\r\n{body}\r\n0\r\n\r\n", body.len());
        let smuggled = format!("DELETE /smuggled HTTP/1.1\r\nHost: {address}\r\n\r\n");
        // As much as a reader that uses the length would take, or less.
        for length in [chunked.len() + smuggled.len(), chunked.len(), 0] {
            let length = format!("Content-Length: {length}\r\n");
            let chunks = "Transfer-Encoding: chunked\r\n".to_owned();
            for framing in [length.clone() + &chunks, chunks + &length] {
                let request = format!(
                    "POST {path} HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\n\
                     Accept: application/json, text/event-stream\r\n{headers}{framing}\r\n{chunked}{smuggled}"
                );
                let response = exchange(&address, &request).await;
                assert!(response.starts_with("HTTP/1.1 200 "), "{request}\n{response}");
                assert_eq!(response.matches("HTTP/1.1 ").count(), 1, "{request}\n{response}");
                let (head, body) = response.split_once("\r\n\r\n").unwrap();
                assert!(head.to_lowercase().contains("connection: close"), "{head}");
                assert!(is_answer(&serde_json::from_str(body).unwrap()), "{response}");
            }
        }
    }
}
