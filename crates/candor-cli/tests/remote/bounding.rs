//! Servers that send too much or too little: every command ends, with a name for what was wrong, and in bounded memory.

use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader};
use tokio::process::Command;

use crate::World;
use crate::process::{Program, bounded};

const HOSTILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/remote/hostile.py");

/// A legacy server over HTTP that never answers what its first word names.
const SILENT: &str = r#"
import json, sys, threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self, status, message=None):
        body = json.dumps(message).encode() if message else b""
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Mcp-Session-Id", "s")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def reached(self, method):
        if method == sys.argv[1]:
            threading.Event().wait()

    def do_POST(self):
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        method = message["method"]
        self.reached(method)
        results = {
            "initialize": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}},
            "tools/list": {"tools": []},
            "ping": {},
        }
        if "id" not in message:
            self.answer(202)
        elif method in results:
            self.answer(200, {"jsonrpc": "2.0", "id": message["id"], "result": results[method]})
        else:
            self.answer(200, {"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32601, "message": "?"}})

    def do_GET(self):
        self.answer(405)

    def do_DELETE(self):
        self.reached("DELETE")
        self.answer(200)

    def log_message(self, *_):
        pass

server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_address[1], flush=True)
server.serve_forever()
"#;

#[tokio::test]
async fn timeout_covers_every_phase() {
    let world = World::new("bounding phases");
    for (silent, code) in [
        ("server/discover", 0),
        ("initialize", 4),
        ("notifications/initialized", 4),
        ("tools/list", 4),
        ("DELETE", 0),
    ] {
        let mut server = Command::new("python3");
        let mut server = Program::start(server.args(["-c", SILENT, silent]));
        let target = format!(":{}", server.next().await);
        let both = silent.starts_with("notifications/");
        for command in ["tools", "doctor"].into_iter().take(if both { 2 } else { 1 }) {
            // `run` fails the test after ten seconds.
            let told = world.run(&[command, &target, "--timeout", "1s"]).await;
            let told = told.ended(code);
            if code == 4 {
                told.tells("no answer within 1 s");
            }
        }
    }
}

#[tokio::test]
async fn timeout_covers_a_connection_without_an_answer() {
    let world = World::new("bounding connections");
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = listener.local_addr().unwrap();
    // The kernel accepts the connection and no process answers, so TLS waits as well.
    for scheme in ["http", "https"] {
        let target = format!("{scheme}://{at}/mcp");
        for command in ["tools", "doctor"] {
            let told = world.run(&[command, &target, "--timeout", "1s"]).await;
            told.ended(4).tells("no answer within 1 s");
        }
    }
}

/// Waits for a process to end; returns its exit code and its peak memory in megabytes.
#[cfg(target_os = "linux")]
async fn peak_of(mut child: tokio::process::Child) -> (Option<i32>, u64) {
    let status = format!("/proc/{}/status", child.id().unwrap());
    let mut peak = 0;
    let watched = async {
        loop {
            if let Some(ended) = child.try_wait().unwrap() {
                return ended.code();
            }
            peak = high_water(&status).unwrap_or(peak);
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let code = tokio::time::timeout(Duration::from_secs(60), watched).await.expect("it ends");
    (code, peak)
}

#[cfg(target_os = "linux")]
fn high_water(status: &str) -> Option<u64> {
    let status = std::fs::read_to_string(status).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.parse::<u64>().ok().map(|kilobytes| kilobytes / 1000)
}

/// In debug builds, too.
const MOST_MEGABYTES: u64 = 512;

#[cfg(target_os = "linux")]
#[tokio::test]
async fn lists_without_end_take_bounded_memory() {
    let world = World::new("bounding lists");
    for (command, kind) in [("tools", "long"), ("tools", "dense"), ("resources", "wide")] {
        let words = [command, "--json", "--", "python3", HOSTILE, kind];
        let mut command = Command::from(world.candor(&words));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.kill_on_drop(true).spawn().unwrap();
        let (mut stdout, mut stderr) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
        let (mut out, mut err) = (String::new(), String::new());
        let ((code, peak), ..) = tokio::join!(
            peak_of(child),
            stdout.read_to_string(&mut out),
            stderr.read_to_string(&mut err)
        );
        let told = err.lines().last().unwrap_or_default();
        assert!(told.starts_with(r#"{"error":{"code":"too_large""#), "{words:?}: {told}");
        assert_eq!((code, out.as_str()), (Some(1), ""), "{words:?}");
        assert!((1..MOST_MEGABYTES).contains(&peak), "{words:?}: {peak} MB");
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn unread_changes_take_bounded_memory() {
    let world = World::new("bounding changes");
    let words = ["watch", "doc://a", "--json", "--", "python3", HOSTILE, "changes"];
    let mut command = Command::from(world.candor(&words));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.kill_on_drop(true).spawn().unwrap();
    let id = child.id().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    // The server has sent seven hundred megabytes.
    let sent = async {
        while !world.around.join("many").exists() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(120), sent).await.expect("much is sent");
    let peak = high_water(&format!("/proc/{id}/status")).unwrap();
    assert!((1..MOST_MEGABYTES).contains(&peak), "{peak} MB");
    let missed = async {
        while lines.next_line().await.unwrap().expect("a line")
            != r#"{"result":{"change":"missed","uri":null}}"#
        {}
    };
    bounded("what was lost is named", missed).await;
    crate::interrupt(id);
    let ended = bounded("it ends", child.wait()).await.unwrap();
    assert_eq!(ended.code(), Some(0));
}
