//! `candor console`: what waits at a server that runs under a host, over stdio, is decided in a browser.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader};
use tokio::process::Command;

use crate::http::{Reply, ask, send_to};
use crate::ledger::folder;
use crate::messages::{initialize, request, text};
use crate::process::{Ended, Program, bounded, output};
use crate::served::Served;

fn command(ledger: impl AsRef<std::ffi::OsStr>) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_candor"));
    command.arg("console").arg("--ledger").arg(ledger).args(["--http", "127.0.0.1:0"]);
    command
}

/// The console of a ledger, and who has the link that it printed.
struct Console {
    program: Program,
    address: String,
    token: String,
}

impl Console {
    async fn of(served: &Served) -> Self {
        let mut program = Program::start(&mut command(served.ledger.named()));
        let about = program.complaint().await;
        assert!(about.starts_with("candor console · "), "{about}");
        assert!(about.contains(served.ledger.shown()), "{about}");
        let link = program.complaint().await;
        let (_, link) = link.split_once("http://").expect("a link");
        let (address, token) = link.split_once("/#token=").expect("a token");
        let (address, token) = (address.to_owned(), token.split(' ').next().unwrap().to_owned());
        assert_eq!(program.listening().await, address);
        Self { program, address, token }
    }

    async fn ask(&self, verb: &str, path: &str, body: &Value) -> Reply {
        let token = format!("Bearer {}", self.token);
        let body = if verb == "GET" { String::new() } else { body.to_string() };
        ask(&self.address, verb, path, &[("Authorization", &token)], &body).await
    }

    async fn get(&self, path: &str) -> Value {
        let reply = self.ask("GET", path, &Value::Null).await;
        assert_eq!(reply.status, 200, "{reply:?}");
        reply.json()
    }

    /// The one call that waits, once it does.
    async fn waiting(&self) -> Value {
        for _ in 0..500 {
            if let [one] = &self.get("/approvals").await.as_array().unwrap()[..] {
                return one.clone();
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        panic!("nothing waits");
    }

    async fn decide(&self, verb: &str, waiting: &Value, more: Value) -> Value {
        let mut body = more;
        body["version"] = waiting["version"].clone();
        let path = format!("/approvals/{}/{verb}", waiting["id"].as_str().unwrap());
        let reply = self.ask("POST", &path, &body).await;
        assert_eq!(reply.status, 200, "{reply:?}");
        reply.json()
    }
}

/// A host that cannot ask its person, with a server that asks before it deletes.
async fn host(served: &Served) -> Program {
    let flags = ["--stdio", "--ask", "destructive", "--hold", "30s"];
    let mut program = Program::start(&mut served.command(&flags));
    program.ask(&initialize(0)).await;
    let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    program.write(&ready.to_string()).await;
    program
}

async fn delete(host: &mut Program, number: u64, path: &str) {
    let arguments = json!({"action": "delete", "path": path});
    let params = json!({"name": "manage_files", "arguments": arguments});
    host.write(&request(number, "tools/call", &params).to_string()).await;
}

async fn answer(host: &mut Program, number: u64) -> Value {
    loop {
        let message = host.next().await;
        if message["id"] == number {
            return message;
        }
    }
}

#[tokio::test]
async fn console_decides_requests_of_a_stdio_server() {
    let served = Served::new("console, decides");
    let mut host = host(&served).await;
    let console = Console::of(&served).await;
    assert_eq!(console.get("/approvals").await, json!([]));
    delete(&mut host, 1, "notes/a.txt").await;
    let waiting = console.waiting().await;
    assert_eq!(waiting["request"]["arguments"], json!({"path": "notes/a.txt", "action": "delete"}));
    let preview = "Delete notes/a.txt (4 bytes, text). It cannot be undone.";
    assert_eq!(waiting["request"]["preview"], preview);
    assert!(served.has("notes/a.txt"), "nothing runs before the approval");
    let page = console.ask("GET", "/", &Value::Null).await;
    assert_eq!(page.status, 200, "{page:?}");
    assert!(page.body.contains(preview), "{}", page.body);
    let said = console.decide("approve", &waiting, json!({})).await;
    assert_eq!((&said["decision"], &said["by"]), (&json!("approved"), &json!("operator")));
    let done = answer(&mut host, 1).await;
    assert_eq!(text(&done), "Deleted notes/a.txt");
    assert!(!served.has("notes/a.txt"));

    delete(&mut host, 2, "notes/b.txt").await;
    let waiting = console.waiting().await;
    console.decide("deny", &waiting, json!({"reason": "it is needed"})).await;
    let denied = answer(&mut host, 2).await;
    assert!(text(&denied).contains("it is needed"), "{denied}");
    assert!(served.has("notes/b.txt"));
    let history = console.get("/history").await;
    let states: Vec<_> =
        history["items"].as_array().unwrap().iter().map(|item| &item["state"]).collect();
    assert_eq!(states, ["denied", "succeeded"], "{history}");
}

#[tokio::test]
async fn launch_token_of_the_link_logs_in() {
    let served = Served::new("console, logs in");
    let _host = host(&served).await;
    let console = Console::of(&served).await;
    let at = |path: &'static str| ask(&console.address, "GET", path, &[], "");
    assert_eq!(at("/approvals").await.status, 401);
    assert_eq!(at("/healthz").await.status, 200);
    let log_in = |token: &str| {
        let body = json!({"token": token}).to_string();
        let address = console.address.clone();
        async move { ask(&address, "POST", "/ui/session", &[], &body).await }
    };
    assert_eq!(log_in("guessed").await.status, 401);
    let logged_in = log_in(&console.token).await;
    assert_eq!(logged_in.status, 200, "{logged_in:?}");
    let proof = logged_in.json()["proof"].as_str().unwrap().to_owned();
    let set = logged_in.header("set-cookie").unwrap();
    assert!(set.contains("httponly") && set.contains("samesite=strict"), "{set}");
    let cookie = logged_in.cookie.unwrap();
    let headers = [("Cookie", &*cookie)];
    assert_eq!(ask(&console.address, "GET", "/approvals", &headers, "").await.status, 200);
    let page = ask(&console.address, "GET", "/", &headers, "").await;
    assert!(page.body.contains("data-testid=\"nothing-waits\""), "{page:?}");
    // Any page can make a browser send this request.
    let posted = ask(&console.address, "POST", "/approvals/abcd/approve", &headers, "{}").await;
    assert_eq!((posted.status, &posted.json()["code"]), (403, &json!("csrf")));
    // The proof that it also needs was sent once and is on no page.
    assert!(!page.body.contains(&proof), "{page:?}");
    let headers = [("Cookie", &*cookie), ("X-Candor-Csrf", &*proof)];
    let posted = ask(&console.address, "POST", "/approvals/abcd/approve", &headers, "{}").await;
    assert_eq!(posted.status, 400, "accepted, but the body names no version: {posted:?}");
    let wrong = [("Authorization", "Bearer guessed")];
    assert_eq!(ask(&console.address, "GET", "/approvals", &wrong, "").await.status, 401);
    console.get("/approvals").await;
    console.get("/approvals/grants").await;
    assert_eq!(console.ask("GET", "/tools", &Value::Null).await.status, 404, "no server");
}

#[tokio::test]
async fn signal_ends_a_console_with_an_open_event_stream() {
    let served = Served::new("console, ends");
    let _host = host(&served).await;
    let console = Console::of(&served).await;
    let token = format!("Bearer {}", console.token);
    let headers = [("Authorization", &*token)];
    let stream = send_to(&console.address, "GET", "/approvals/events", &headers, "").await.unwrap();
    let mut stream = BufReader::new(stream);
    let mut line = String::new();
    while !line.starts_with("data: ") {
        line.clear();
        bounded("an event", stream.read_line(&mut line)).await.unwrap();
    }
    console.program.terminate();
    let mut rest = String::new();
    bounded("the stream ends", stream.read_to_string(&mut rest)).await.unwrap();
    assert!(rest.ends_with("0\r\n\r\n"), "the stream is completed, not cut off: {rest:?}");
    let ended = console.program.ended().await;
    assert_eq!(ended.status.code(), Some(0), "{:?}", ended.stderr);
}

#[tokio::test]
async fn console_that_cannot_start_reports_the_reason() {
    let refused = |ended: &Ended, code: i32, parts: &[&str]| {
        let said = ended.stderr.join("\n");
        assert_eq!(ended.status.code(), Some(code), "{said}");
        assert!(said.starts_with("error: "), "{said}");
        assert!(parts.iter().all(|part| said.contains(part)), "{parts:?} in {said}");
        assert!(!said.contains("#token="), "{said}");
    };
    let nowhere = folder("console, no ledger").join("ledger.db");
    refused(&output(&mut command(&nowhere)).await, 1, &["ledger.db", "no ledger exists here"]);
    assert!(!nowhere.exists(), "reading creates no ledger");
    refused(
        &output(&mut command("memory:")).await,
        2,
        &["memory:", "other processes cannot read it"],
    );

    let served = Served::new("console, refused");
    let _host = host(&served).await;
    // Waits until the ledger exists.
    Console::of(&served).await;
    for address in ["0.0.0.0:0", "[::]:0"] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_candor"));
        command.args(["console", "--http", address, "--ledger"]).arg(served.ledger.named());
        let ended = output(&mut command).await;
        refused(&ended, 2, &["other machines", "127.0.0.1"]);
    }
}
