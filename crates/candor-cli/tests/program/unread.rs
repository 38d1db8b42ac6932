//! Callers that ask for large responses and do not read them: the server refuses before it builds what it cannot hold.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};

use crate::http::{mirrors, post};
use crate::messages::modern;
use crate::process::Program;
use crate::tokens::new_token;
use crate::{candor_files, folder};

/// As large as a file may be. Each of its letters has two bytes in JSON.
const SIZE: usize = 4 * 1024 * 1024;

/// A folder with one file of quotes.
fn quotes(name: &str) -> PathBuf {
    let root = folder(name);
    fs::write(root.join("quotes.txt"), "\"".repeat(SIZE)).unwrap();
    root
}

fn call_to_read() -> Value {
    let arguments = json!({"path": "quotes.txt", "action": "read"});
    modern(1, "tools/call", &json!({"name": "manage_files", "arguments": arguments}))
}

fn resource_to_read(root: &Path) -> Value {
    let uri = format!("file://{}/quotes.txt", root.display()).replace(' ', "%20");
    modern(1, "resources/read", &json!({"uri": uri.replace('\u{eb}', "%C3%AB")}))
}

/// Asks on a connection of its own, and reads nothing.
async fn ask_and_leave_unread(address: &str, request: &Value, headers: &str) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4096).unwrap();
    let mut stream = socket.connect(address.parse().unwrap()).await.unwrap();
    let mirrors: String =
        mirrors(request).iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let body = request.to_string();
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\n{mirrors}{headers}Content-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all((head + &body).as_bytes()).await.unwrap();
    stream
}

/// How much of an unread response arrived: all of it, if it is an error.
async fn beginning(stream: &mut TcpStream) -> String {
    let mut bytes = vec![0; 2000];
    let mut length = 0;
    // A response that is still waited for takes some time; a head and the beginning of a body come together.
    while !bytes[..length].windows(4).any(|end| end == b"\r\n\r\n") {
        let read = stream.read(&mut bytes[length..]);
        let read = tokio::time::timeout(std::time::Duration::from_secs(60), read).await;
        length += read.expect("the request is answered").unwrap();
    }
    String::from_utf8_lossy(&bytes[..length]).into_owned()
}

/// The most memory that a process has had, in bytes.
fn peak(program: &Program) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", program.id())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
}

#[tokio::test]
async fn unread_responses_do_not_fill_the_memory() {
    let root = quotes("unread");
    let mut program = Program::start(candor_files(&root).args(["--http", "127.0.0.1:0"]));
    let address = program.listening().await;
    let requests = [call_to_read(), resource_to_read(&root)];
    let mut unread = Vec::new();
    for number in 0..300 {
        unread.push(ask_and_leave_unread(&address, &requests[number % 2], "").await);
    }
    let (mut large, mut refused) = (0, 0);
    for stream in &mut unread {
        let response = beginning(stream).await;
        match response.contains(r#""code":"busy""#) {
            true => refused += 1,
            false => large += 1,
        }
        assert!(response.starts_with("HTTP/1.1 200 "), "{response}");
    }
    // There is no capacity left, and others are served.
    let list = modern(1, "tools/call", &json!({"name": "list_files", "arguments": {}}));
    let listed = post(&address, &list, &[]).await;
    assert!(listed.body.contains("quotes.txt"), "{listed:?}");

    let peak = peak(&program) / 1_000_000;
    eprintln!("{large} responses held, {refused} refused, {peak} MB at most");
    assert!(large >= 8 && refused >= 200, "{large} held, {refused} refused");
    assert!(peak <= 400, "{peak} MB");

    drop(unread);
    // A caller that reads gets all of it, as soon as the unread responses are given up.
    let read = post(&address, &requests[0], &[]).await.json();
    assert_eq!(read["result"]["structuredContent"]["result"].as_str().map(str::len), Some(SIZE));
}

#[tokio::test]
async fn one_principal_leaves_capacity_for_the_responses_of_others() {
    let root = quotes("unread, shared");
    let ((alice, hers), (mallory, his)) = (new_token("alice").await, new_token("mallory").await);
    let tokens = folder("unread, tokens").join("tokens");
    fs::write(&tokens, format!("{hers}\n{his}\n")).unwrap();
    let mut command = candor_files(&root);
    command.args(["--http", "127.0.0.1:0", "--ledger", "memory:", "--tokens"]).arg(tokens);
    let mut program = Program::start(&mut command);
    let address = program.listening().await;
    let header = format!("Authorization: Bearer {mallory}\r\n");
    let keyed = |number: usize| {
        let mut call = call_to_read();
        call["params"]["_meta"]["dev.candor/idempotencyKey"] = format!("k{number}").into();
        call
    };
    let mut unread = Vec::new();
    for number in 0..20 {
        unread.push(ask_and_leave_unread(&address, &keyed(number), &header).await);
    }
    let mut refused = Vec::new();
    for (number, stream) in unread.iter_mut().enumerate() {
        let response = beginning(stream).await;
        if response.contains(r#""code":"busy""#) {
            refused.push((number, response));
        }
    }
    assert!(refused.len() >= 10, "{}", refused.len());
    let (number, words) = &refused[0];
    let caller = "You have too many responses that you did not read. Nothing was run.";
    assert!(words.contains(caller) && words.contains(r#""scope":"caller""#), "{words}");

    // Alice can read while Mallory uses his share. Mallory can read with the same key once he disconnects.
    let read = async |call: Value, token: &str| {
        let bearer = format!("Bearer {token}");
        let read = post(&address, &call, &[("Authorization", &bearer)]).await.json();
        read["result"]["structuredContent"]["result"].as_str().map(str::len)
    };
    assert_eq!(read(call_to_read(), &alice).await, Some(SIZE));
    drop(unread);
    assert_eq!(read(keyed(*number), &mallory).await, Some(SIZE), "nothing was recorded");
}
