//! `candor doctor`.

use serde_json::json;

use crate::World;

#[tokio::test]
async fn doctor_checks_a_working_server_step_by_step() {
    let world = World::new("examining");
    let (_server, target) = world.serve(&[]).await;
    let told = world.run(&["doctor", &target]).await.ended(0);
    let checks: Vec<_> =
        told.stdout.lines().map(|line| line.split_whitespace().nth(1).unwrap()).collect();
    assert_eq!(
        checks,
        [
            "target",
            "name",
            "connects",
            "speaks",
            "authorized",
            "trust",
            "tools",
            "schemas",
            "hints",
            "ping"
        ]
    );
    told.says("MCP 2026-07-28 (modern): \"candor-files ");
    told.says("every tool declares its effect");
    let told = world.over_stdio(&["doctor", "--json"]).await.ended(0);
    assert_eq!(told.result()["checks"][1]["check"], "program");
}

#[tokio::test]
async fn doctor_notes_omitted_and_unclassified_tools() {
    let world = World::new("examining notes");
    let told = world.scripted(&["doctor"]).await.ended(0);
    told.says("MCP 2025-11-25 (legacy): \"scripted\\u{1b}[2J");
    told.says("note  tools      left out \"broken\\u{1b}[2J");
    told.says("1 of 13 tools are unclassified (treated as the worst case): silent");
}

#[tokio::test]
async fn doctor_notes_a_server_without_tools() {
    let world = World::new("examining no tools");
    let told = world.canned(&json!({}), &["doctor"]).await.ended(0);
    told.says("note  tools      it lists no tools");
    assert!(!told.stdout.contains("every tool declares its effect"), "{told:?}");
}

#[tokio::test]
async fn doctor_shows_a_traceback_once_and_its_last_line_first() {
    let world = World::new("examining traceback");
    let dying = "def connect():\n    raise RuntimeError('no database')\nconnect()";
    let told = world.run(&["doctor", "--", "python3", "-c", dying]).await.ended(4);
    told.says("FAILS speaks     the connection was lost before the answer arrived: ");
    told.says("exit status: 1: \"RuntimeError: no database\"\n");
    let all = format!("{}{}", told.stdout, told.stderr);
    assert_eq!(all.matches("RuntimeError: no database").count(), 1, "{all}");
    assert_eq!(all.matches("Traceback (most recent call last)").count(), 1, "{all}");
    told.says("\n  stderr before that | Traceback (most recent call last):\n");
    let told = world.run(&["tools", "--", "python3", "-c", dying]).await.ended(4);
    told.complains(":\n  | RuntimeError: no database (before that: Traceback");
}

#[tokio::test]
async fn watch_names_the_missing_capability() {
    let world = World::new("examining watch");
    let told = world.canned(&json!({}), &["watch", "doc://a"]).await.ended(1);
    told.complains("the capability resources.subscribe");
    let told = world.canned(&json!({}), &["watch"]).await.ended(1);
    told.complains("tools.listChanged");
    // A modern server without the capability need not know the method.
    for (word, named) in [(&["doc://a"][..], "resources.subscribe"), (&[], "tools.listChanged")] {
        let words = [&["watch"], word, &["--", "python3", "-c", MODERN]].concat();
        let told = world.run(&words).await.ended(1);
        told.complains(named);
        assert!(!told.stderr.contains("subscriptions/listen"), "{told:?}");
    }
}

const MODERN: &str = r#"
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    result = {"resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {"resources": {}, "tools": {}}}
    told = {"result": result} if asked["method"] == "server/discover" else {"error": {"code": -32601, "message": "no"}}
    print(json.dumps({"jsonrpc": "2.0", "id": asked.get("id"), **told}), flush=True)
"#;

/// Slowly, quickly, and as JSON of another kind.
#[tokio::test]
async fn program_that_prints_other_lines_is_not_an_mcp_server() {
    let world = World::new("examining noise");
    for noise in
        ["while :; do echo hello; sleep .1; done", "yes hello", "echo '{\"hello\": 1}'; cat >&2"]
    {
        let program = ["--timeout", "2s", "--", "sh", "-c", noise];
        let told = world.run(&[&["tools", "--json"], &program[..]].concat()).await.ended(4);
        let error = told.error();
        assert_eq!(error["code"], "not_an_mcp_server", "{error}");
        assert!(error["message"].as_str().unwrap().contains("hello"), "{error}");
        let told = world.run(&[&["doctor"], &program[..]].concat()).await.ended(4);
        told.says("FAILS speaks     The program responds, but it is not an MCP server");
    }
}

#[tokio::test]
async fn doctor_names_the_first_failed_check() {
    let world = World::new("examining failures");
    let told = world.run(&["doctor", "http://127.0.0.1:1/mcp"]).await.ended(4);
    assert!(
        told.stdout.contains("\nFAILS connects   no server listens there: 127.0.0.1:1"),
        "{told:?}"
    );
    told.complains("error: the check \"connects\" fails\n  does the server run");
    let told = world.run(&["doctor", "--json", "--", "no-such-program"]).await.ended(4);
    let error = told.error();
    assert_eq!(
        (&error["check"], &error["checks"][1]["state"]),
        (&"program".into(), &"fails".into())
    );
    let dying = "import sys; print('no database', file=sys.stderr); sys.exit(9)";
    let told = world.run(&["doctor", "--", "python3", "-c", dying]).await.ended(4);
    told.says("FAILS speaks");
    told.says("exit status: 9: \"no database\"");
    world.run(&["doctor", "ftp://a"]).await.ended(2).says("FAILS target");
    let told = world.run(&["doctor", "--", "cat"]).await.ended(4);
    told.says("FAILS speaks     The program responds, but it is not an MCP server");
    let told = world.run(&["tools", "--json", "--", "/bin/cat"]).await.ended(4);
    assert_eq!(told.error()["code"], "not_an_mcp_server");
    world.run(&["tools", "--", "/bin/cat"]).await.ended(4).complains("it is not an MCP server");
    let (_server, target) = world.serve(&[]).await;
    let told = world.run(&["doctor", &format!("https://127.0.0.1{target}")]).await.ended(4);
    told.complains("the server answers without TLS");
    let other = format!("http://127.0.0.1{target}/elsewhere");
    let told = world.run(&["doctor", &other]).await.ended(4);
    told.complains("is this the address of the MCP endpoint?");
}

/// A server with a certificate that nobody knows.
#[cfg(unix)]
const UNKNOWN: &str = r#"
import socket, ssl, sys
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain("server.pem", "server.key")
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
while True:
    peer, _ = listener.accept()
    try: context.wrap_socket(peer, server_side=True).close()
    except OSError: pass
"#;

#[cfg(unix)]
#[tokio::test]
async fn untrusted_certificate_is_reported_as_a_client_problem() {
    let world = World::new("examining certificates");
    let openssl = |line: &str| {
        let mut command = std::process::Command::new("openssl");
        command.args(line.split(' ')).current_dir(&world.around);
        command.output().is_ok_and(|made| made.status.success())
    };
    let make = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2";
    for name in ["server", "other"] {
        let subject = format!("-subj /CN={name} -addext subjectAltName=IP:127.0.0.1");
        if !openssl(&format!("{make} {subject} -keyout {name}.key -out {name}.pem")) {
            return eprintln!("SKIPPED: there is no `openssl` to make certificates with");
        }
    }
    let mut server = tokio::process::Command::new("python3");
    server.args(["-c", UNKNOWN]).current_dir(&world.around);
    let mut server = crate::process::Program::start(&mut server);
    let target = format!("https://127.0.0.1:{}/mcp", server.next().await);
    for command in ["doctor", "tools"] {
        let mut command = world.candor(&[command, &target]);
        command.env("SSL_CERT_FILE", world.around.join("other.pem"));
        let told = world.finish(command).await.ended(4);
        told.tells("invalid peer certificate");
        told.complains("this system does not trust the server's certificate");
        assert!(!told.stderr.contains("check the server's log"), "{told:?}");
    }
}

/// Tools whose schemas take minutes to compile: patterns as large as they may be, as many as a schema takes, in each tool.
#[cfg(unix)]
const HOSTILE: &str = r#"
import json, sys
patterns = {f"p{n}": {"pattern": "(\\p{L}{1,40}x{%d}){1,8}" % n} for n in range(1, 200)}
tools = [{"name": f"t{n}", "inputSchema": {"type": "object", "title": str(n), "properties": patterns}} for n in range(100)]
for line in sys.stdin:
    if '"tools/list"' in line: open("hanging", "w").write("listed")
    asked = json.loads(line)
    if "id" not in asked: continue
    method = asked["method"]
    answer = {"tools": tools} if method == "tools/list" else {}
    if method == "initialize":
        answer = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "h", "version": "1"}}
    told = {"result": answer} if method in ("initialize", "tools/list", "ping") else {"error": {"code": -32601, "message": "no"}}
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **told}), flush=True)
"#;

#[cfg(unix)]
#[tokio::test]
async fn slow_schemas_do_not_block_doctor() {
    let world = World::new("examining hostile");
    let told = world.run(&["doctor", "--timeout", "3s", "--", "python3", "-c", HOSTILE]).await;
    let told = told.ended(0);
    told.says("not compiled within 3 s");
    told.says("ok    ping");
    // An interrupt is handled meanwhile.
    let words = ["doctor", "--timeout", "10m", "--", "python3", "-c", HOSTILE];
    let mut program = crate::process::Program::start(&mut world.candor(&words).into());
    let (_stdin, mut stdout) = program.take_pipes();
    let listed =
        async { while !stdout.recv().await.expect("more output").contains("100 listed") {} };
    crate::process::bounded("the tools are listed", listed).await;
    crate::interrupt(program.id());
    assert_eq!(program.ended().await.status.code(), Some(130));
}

/// Also while the command computes and waits for nothing.
#[cfg(unix)]
#[tokio::test]
async fn repeated_interrupt_ends_a_busy_command() {
    let world = World::new("examining twice");
    let words = ["call", "t1", "--yes", "--", "python3", "-c", HOSTILE];
    let program = crate::process::Program::start(&mut world.candor(&words).into());
    world.hanging().await;
    // Sent repeatedly: the first may come before the command listens for a second.
    let id = program.id();
    let again = tokio::spawn(async move {
        loop {
            let _ = std::process::Command::new("kill").args(["-INT", &id.to_string()]).output();
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        }
    });
    assert_eq!(program.ended().await.status.code(), Some(130));
    again.abort();
}
