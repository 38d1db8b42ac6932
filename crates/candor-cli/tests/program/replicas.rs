//! Two replicas behind nginx, as the guide has them: commands and configuration are taken from there, and run.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::AsyncBufReadExt as _;
use tokio::net::{TcpListener, TcpStream};
use tokio::process::Command;

use crate::http::{Reply, ask, mirrors, send_to};
use crate::messages::{initialize, modern, request};
use crate::process::{Program, bounded};
use crate::tokens::new_token;
use crate::{candor, folder};

const GUIDE: &str = include_str!("../../../../docs/operate.md");

/// Sessions that the older example lost most of.
const SESSIONS: usize = 20;

/// Where nginx is. `cargo xtask check` installs it, and says that it must be there.
fn nginx() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    folders.extend(["/usr/sbin", "/usr/local/sbin"].map(PathBuf::from));
    let found = folders.into_iter().map(|folder| folder.join("nginx")).find(|path| path.is_file());
    let required = std::env::var("CANDOR_TEST_NGINX").is_ok_and(|value| value == "required");
    assert!(found.is_some() || !required, "nginx is not installed");
    found
}

/// The blocks of one language in the section about replicas.
fn examples(language: &str) -> Vec<&'static str> {
    let (_, section) = GUIDE.split_once("\n## Several replicas\n").unwrap();
    let section = section.split("\n## ").next().unwrap();
    let fence = format!("```{language}\n");
    section.split(&fence).skip(1).filter_map(|rest| rest.split("```").next()).collect()
}

struct Site {
    replicas: Vec<Option<Program>>,
    _nginx: Program,
    served: PathBuf,
    address: String,
    authorization: String,
}

impl Site {
    async fn start(nginx: &Path) -> Self {
        let around = folder("replicas");
        let served = around.join("served");
        fs::create_dir_all(&served).unwrap();
        let (token, line) = new_token("alice").await;
        fs::write(around.join("tokens"), line).unwrap();
        fs::write(around.join("secret"), "ab".repeat(32)).unwrap();
        let mut ports = Vec::new();
        for _ in 0..3 {
            ports.push(TcpListener::bind("127.0.0.1:0").await.unwrap());
        }
        let [one, other, front] = [0, 1, 2].map(|n| ports[n].local_addr().unwrap().to_string());
        drop(ports);
        let here = |text: &str| {
            text.replace("127.0.0.1:7332", &one)
                .replace("127.0.0.1:7333", &other)
                .replace("listen 8080", &format!("listen {front}"))
                .replace("https://tools.example", &format!("http://{front}"))
                .replace("postgres://notes@db/notes", "sqlite:ledger.db")
                .replace("/srv/notes", "served")
                .replace("/etc/notes/", "")
        };
        let [commands] = examples("console")[..] else { panic!("one block of commands") };
        let mut replicas = Vec::new();
        for line in commands.lines() {
            let line = here(line.strip_prefix("$ candor ").expect("a command of ours"));
            let mut command = candor();
            command.args(line.split(' ')).args(["--ask", "never"]).current_dir(&around);
            let mut program = Program::start(&mut command);
            program.listening().await;
            replicas.push(Some(program));
        }
        let [example] = examples("nginx")[..] else { panic!("one configuration") };
        let temporary: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .map(|kind| format!("{kind}_temp_path {kind};\n"))
            .concat();
        let configuration = format!(
            "daemon off;\nmaster_process off;\npid nginx.pid;\nevents {{}}\nhttp {{\naccess_log off;\n{temporary}{}}}\n",
            here(example)
        );
        fs::write(around.join("nginx.conf"), configuration).unwrap();
        let mut command = Command::new(nginx);
        command.args(["-e", "stderr", "-c", "nginx.conf", "-p"]).arg(&around).current_dir(&around);
        let nginx = Program::start(&mut command);
        let listens = async {
            while TcpStream::connect(&front).await.is_err() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        bounded("nginx listens", listens).await;
        let authorization = format!("Bearer {token}");
        Self { replicas, _nginx: nginx, served, address: front, authorization }
    }

    async fn send(&self, verb: &str, session: Option<&str>, message: &Value) -> Reply {
        let mut headers = vec![("Authorization", self.authorization.as_str())];
        headers.extend(session.map(|session| ("Mcp-Session-Id", session)));
        let modern =
            message["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"].is_string();
        if modern {
            headers.extend(mirrors(message));
        }
        let body = if verb == "POST" { message.to_string() } else { String::new() };
        ask(&self.address, verb, "/notes/mcp", &headers, &body).await
    }

    async fn open_session(&self) -> String {
        let reply = self.send("POST", None, &initialize(1)).await;
        let id = reply.header("mcp-session-id").unwrap_or_else(|| panic!("{reply:?}")).to_owned();
        let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        assert_eq!(self.send("POST", Some(&id), &initialized).await.status, 202);
        id
    }

    /// The answer to a request of a session.
    async fn asks(&self, session: &str, method: &str, params: Value) -> Value {
        answer(&self.send("POST", Some(session), &request(2, method, &params)).await)
    }

    async fn append(&self, session: &str, key: &str) -> Value {
        self.asks(session, "tools/call", append(key)).await
    }

    /// The events that a session gets unasked.
    async fn stream(&self, session: &str) -> tokio::io::BufReader<TcpStream> {
        let headers = [("Authorization", self.authorization.as_str()), ("Mcp-Session-Id", session)];
        let sent = send_to(&self.address, "GET", "/notes/mcp", &headers, "").await.unwrap();
        let mut stream = tokio::io::BufReader::new(sent);
        assert!(next_line(&mut stream, "HTTP/1.1 ").await.starts_with("200"));
        stream
    }
}

fn append(key: &str) -> Value {
    let arguments = json!({"path": "log.txt", "action": "append", "content": format!("{key}\n")});
    json!({"name": "manage_files", "arguments": arguments, "_meta": {"dev.candor/idempotencyKey": key}})
}

/// The message in a response, be it JSON or one event.
fn answer(reply: &Reply) -> Value {
    assert_eq!(reply.status, 200, "{reply:?}");
    let line = reply
        .body
        .lines()
        .filter_map(|line| line.strip_prefix("data: ").or(line.starts_with('{').then_some(line)));
    let mut message = line.filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let message = message.rfind(|message| message["id"].is_number());
    message.unwrap_or_else(|| panic!("no answer: {reply:?}"))
}

/// Waits for a line that begins like this; gives its rest.
async fn next_line(stream: &mut tokio::io::BufReader<TcpStream>, begins: &str) -> String {
    loop {
        let mut line = String::new();
        let read = bounded("the stream goes on", stream.read_line(&mut line)).await.unwrap();
        assert!(read > 0, "the stream has ended before {begins:?}");
        if let Some(rest) = line.strip_prefix(begins) {
            return rest.trim_end().to_owned();
        }
    }
}

fn is_replayed(answer: &Value) -> bool {
    answer["result"]["_meta"]["dev.candor/idempotency"]["replayed"] == true
}

#[tokio::test]
async fn nginx_example_of_the_guide_loses_no_legacy_session() {
    let Some(nginx) = nginx() else {
        eprintln!("skipped: nginx is not installed");
        return;
    };
    let mut site = Site::start(&nginx).await;
    let mut sessions = Vec::new();
    for n in 0..SESSIONS {
        let session = site.open_session().await;
        let listed = site.asks(&session, "tools/list", json!({})).await;
        assert!(listed["result"]["tools"][0].is_object(), "{listed}");
        let called = site.append(&session, &format!("key-{n}")).await;
        assert!(called["result"].is_object() && !is_replayed(&called), "{called}");
        sessions.push(session);
    }
    let of = |name: &str| sessions.iter().filter(|session| session.starts_with(name)).count();
    assert_eq!((of("a."), of("b.")), (SESSIONS / 2, SESSIONS / 2), "{sessions:?}");

    // Both replicas know the keys, whichever of them ran the call.
    for (n, session) in sessions.iter().rev().enumerate() {
        let again = site.append(session, &format!("key-{n}")).await;
        assert!(is_replayed(&again), "{again}");
    }
    let written = fs::read_to_string(site.served.join("log.txt")).unwrap();
    assert_eq!(written.lines().count(), SESSIONS, "{written}");

    // A modern client may use any replica.
    for n in 0..4 {
        let mut params = append("modern");
        params["arguments"]["content"] = json!("modern\n");
        let called = answer(&site.send("POST", None, &modern(1, "tools/call", &params)).await);
        assert_eq!(is_replayed(&called), n > 0, "{called}");
    }

    // Events pass through at once: the stream is still open when they are read.
    let roots = site.asks(&sessions[0], "resources/list", json!({})).await;
    let root = roots["result"]["resources"][0]["uri"].as_str().unwrap().to_owned();
    let listed = site.asks(&sessions[0], "resources/list", json!({"uri": root})).await;
    let uri = listed["result"]["resources"][0]["uri"].clone();
    for session in &sessions {
        let mut stream = site.stream(session).await;
        let subscribed = site.asks(session, "resources/subscribe", json!({"uri": uri})).await;
        assert!(subscribed["result"].is_object(), "{subscribed}");
        fs::write(site.served.join("log.txt"), session).unwrap();
        let updated = "notifications/resources/updated";
        while !next_line(&mut stream, "data: ").await.contains(updated) {}
    }

    // The sessions of a killed replica are lost. Their clients get 404 and open new ones.
    site.replicas[0].take().unwrap().kill().await;
    let list = request(3, "tools/list", &json!({}));
    for session in &sessions {
        let expected = if session.starts_with("a.") { 404 } else { 200 };
        assert_eq!(site.send("POST", Some(session), &list).await.status, expected, "{session}");
    }
    for _ in 0..4 {
        let session = site.open_session().await;
        assert!(session.starts_with("b."), "{session}");
        assert!(is_replayed(&site.append(&session, "key-0").await));
        assert_eq!(site.send("DELETE", Some(&session), &Value::Null).await.status, 204);
        assert_eq!(site.send("POST", Some(&session), &list).await.status, 404);
    }
}
