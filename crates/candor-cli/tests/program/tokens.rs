//! Bearer tokens: made with `candor token`, asked for with `--tokens`.

use std::path::{Path, PathBuf};

use serde_json::json;

use crate::http::{Reply, post};
use crate::messages::modern;
use crate::process::{Program, output};
use crate::{candor, candor_files, folder};

/// A new token, and the line that lets it in.
pub(crate) async fn new_token(name: &str) -> (String, String) {
    let made = output(candor().args(["token", name])).await;
    assert_eq!(made.status.code(), Some(0));
    let [line] = made.stdout.as_slice() else { panic!("one line, not {:?}", made.stdout) };
    let [token] = made.stderr.iter().filter_map(|l| l.strip_prefix("  ")).collect::<Vec<_>>()[..]
    else {
        panic!("one token in {:?}", made.stderr)
    };
    (token.to_owned(), line.clone())
}

fn file(name: &str, text: &str) -> PathBuf {
    let path = folder(name).join("tokens");
    std::fs::write(&path, text).unwrap();
    path
}

async fn serve(tokens: &Path, address: &str) -> (Program, String) {
    let mut command = candor_files(tokens.parent().unwrap());
    let mut program = Program::start(command.args(["--http", address, "--tokens"]).arg(tokens));
    let address = program.listening().await;
    (program, address)
}

async fn discover(address: &str, authorization: Option<&str>) -> Reply {
    let header = authorization.map(|value| ("Authorization", value));
    post(address, &modern(1, "server/discover", &json!({})), header.as_slice()).await
}

#[tokio::test]
async fn token_is_printed_once_and_stored_as_a_hash() {
    let (token, line) = new_token("alice").await;
    let hash = line.strip_prefix("alice sha256:").unwrap();
    assert!(hash.len() == 64 && hash.bytes().all(|b| b.is_ascii_hexdigit()), "{line}");
    assert_eq!(token.len(), 43, "256 bits in base64url");
    assert_ne!(new_token("alice").await.0, token);

    for name in ["", "two words", "#alice", "operator", "anonymous", "uid:1000", "user:ada"] {
        let refused = output(candor().args(["token", name])).await;
        assert_eq!(refused.status.code(), Some(2), "{name:?}");
        assert_eq!(refused.stdout, [""; 0], "{name:?}");
    }
}

/// The log shows each attempt, but never the token.
#[tokio::test]
async fn refused_token_is_logged_without_the_token() {
    let (_, line) = new_token("alice").await;
    let (mallory, _) = new_token("mallory").await;
    let (mut program, address) = serve(&file("warned", &line), "127.0.0.1:0").await;
    let wrong = format!("Bearer {mallory}");
    let call = "/tools/manage_files/call";
    // A request without a token is not an attempt, so it leaves no line before the others.
    assert_eq!(discover(&address, None).await.status, 401);
    assert_eq!(discover(&address, Some(&wrong)).await.status, 401);
    assert_eq!(asked(&address, "/history", &mallory).await, 401);
    let posted = send(&address, "POST", call, &[("Authorization", &wrong)], "{}").await;
    assert_eq!(posted, 401);
    for path in ["/mcp", "/history", call] {
        let warning = program.complaint().await;
        assert!(warning.contains("WARN") && warning.contains("a token was refused"), "{warning}");
        assert!(warning.contains(path) && !warning.contains(&mallory), "{warning}");
    }
}

/// An attacker must not fill the disk of the log.
#[tokio::test]
async fn flood_of_refused_tokens_leaves_few_lines_and_a_count() {
    const ROUNDS: u64 = 100;
    let (_, line) = new_token("alice").await;
    let (mut program, address) = serve(&file("flooded", &line), "127.0.0.1:0").await;
    let wrong = [("Authorization", "Bearer wrong")];
    for _ in 0..ROUNDS {
        assert_eq!(discover(&address, Some(wrong[0].1)).await.status, 401);
        assert_eq!(send(&address, "GET", "/history", &wrong, "").await, 401);
        assert_eq!(send(&address, "POST", "/ui/session", &[], r#"{"token": "wrong"}"#).await, 401);
    }
    let (mut lines, mut refusals) = (0, 0);
    while refusals < 3 * ROUNDS {
        let warning = program.complaint().await;
        lines += 1;
        refusals += match warning.split_once("more tokens were refused count=") {
            Some((_, count)) => count.trim().parse::<u64>().unwrap(),
            None => u64::from(warning.contains("a token was refused")),
        };
        assert!(lines <= 30, "{warning}");
    }
    assert_eq!(refusals, 3 * ROUNDS, "each refusal is counted once");
}

/// Output to a pipe is stored and read by others, so a journal must not get an operator's token.
#[tokio::test]
async fn launch_token_is_not_printed_to_a_pipe_if_tokens_are_set() {
    let (_, line) = new_token("alice").await;
    let tokens = file("launch", &line);
    for with_tokens in [true, false] {
        let mut command = candor_files(tokens.parent().unwrap());
        command.args(["--http", "127.0.0.1:0"]);
        if with_tokens {
            command.arg("--tokens").arg(&tokens);
        }
        let mut program = Program::start(&mut command);
        let mut said = Vec::new();
        while !said.last().is_some_and(|line: &String| line.starts_with("listening on ")) {
            said.push(program.complaint().await);
        }
        let said = said.join("\n");
        assert_eq!(said.contains("#token="), !with_tokens, "{said}");
        assert_eq!(said.contains("candor token NAME --operator"), with_tokens, "{said}");
    }
}

#[tokio::test]
async fn only_callers_with_a_token_are_accepted() {
    let (alice, line) = new_token("alice").await;
    let (mallory, _) = new_token("mallory").await;
    let tokens = file("tokens", &format!("# people\n\n{line}\n"));
    for address in ["127.0.0.1:0", "0.0.0.0:0"] {
        let (_program, address) = serve(&tokens, address).await;
        let nobody = discover(&address, None).await;
        assert_eq!(nobody.status, 401, "{nobody:?}");
        assert!(
            nobody.head.contains("www-authenticate: bearer realm=\"candor\"\r\n"),
            "{nobody:?}"
        );
        for wrong in [format!("Bearer {mallory}"), format!("Basic {alice}"), "Bearer ".to_owned()] {
            let refused = discover(&address, Some(&wrong)).await;
            assert_eq!(refused.status, 401, "{wrong}: {refused:?}");
            assert!(refused.head.contains("error=\"invalid_token\""), "{refused:?}");
        }
        let welcome = discover(&address, Some(&format!("Bearer {alice}"))).await;
        assert_eq!(welcome.status, 200, "{welcome:?}");
        assert_eq!(welcome.json()["result"]["resultType"], "complete");
    }
}

#[tokio::test]
async fn invalid_tokens_file_is_an_error_that_names_file_and_line() {
    let (_, line) = new_token("alice").await;
    for (text, problem) in [
        (format!("{line}\nbob sha256:123\n"), ": line 2 is not `NAME sha256:`"),
        (format!("# people\n\n{line}\ncarol\n"), ": line 4 is not `NAME sha256:`"),
        ("# nobody yet\n".to_owned(), ": has no tokens"),
        (line.replace("alice", "operator"), ": line 1: operator is a name of the server's own"),
        (line.replace("alice", "anonymous"), ": line 1: anonymous is a name of the server's own"),
        (
            line.replace("alice", "uid:1000"),
            ": line 1: uid:1000 is a name of the server's own, for a user of the operating system, who calls over stdio; give the token another",
        ),
        (line.replace("alice", "user:ada"), ": line 1: user:ada is a name of the server's own"),
    ] {
        let tokens = file("broken tokens", &text);
        let mut command = candor_files(tokens.parent().unwrap());
        let ended = output(command.args(["--http", "127.0.0.1:0", "--tokens"]).arg(&tokens)).await;
        assert_eq!(ended.status.code(), Some(1));
        let complaint = ended.stderr.join("\n");
        assert!(complaint.contains(&format!("{}{problem}", tokens.display())), "{complaint}");
        assert!(!complaint.contains("listening on"), "{complaint}");
    }
    let mut command = candor_files(&folder("no tokens"));
    let ended = output(command.args(["--http", "0", "--tokens", "/nonexistent/tokens"])).await;
    assert_eq!(ended.status.code(), Some(2));
    let complaint = ended.stderr.join("\n");
    assert!(complaint.contains("'/nonexistent/tokens' for '--tokens <FILE>'"), "{complaint}");
    let mut command = candor_files(&folder("no tokens"));
    let ended = output(command.args(["--http", "0"]).env("CANDOR_TOKENS", "/nonexistent")).await;
    assert_eq!(ended.status.code(), Some(2));
    let complaint = ended.stderr.join("\n");
    assert!(complaint.contains("there is no such file"), "{complaint}");
    assert!(complaint.contains("the environment variable CANDOR_TOKENS sets it"), "{complaint}");
}

/// A variable applies to all servers, and a server over stdio accepts its host without a token.
#[tokio::test]
async fn stdio_server_ignores_the_tokens_variable() {
    let mut command = candor_files(&folder("tokens unused"));
    let mut host = Program::start(command.arg("--stdio").env("CANDOR_TOKENS", "/nonexistent"));
    let answer = host.ask(&modern(1, "server/discover", &json!({}))).await;
    assert_eq!(answer["result"]["resultType"], "complete", "{answer}");
}

#[tokio::test]
async fn invalid_secret_file_is_an_error_that_names_file_and_line() {
    let secret = folder("broken secret").join("keys");
    std::fs::write(&secret, format!("{}\nabc\n", "ab".repeat(32))).unwrap();
    let mut command = candor_files(secret.parent().unwrap());
    let ended = output(command.args(["--http", "0", "--secret-file"]).arg(&secret)).await;
    assert_eq!(ended.status.code(), Some(1));
    let complaint = ended.stderr.join("\n");
    assert!(complaint.contains(&format!("{}: line 2 is not 64", secret.display())), "{complaint}");
}

/// The status of a request to the console's API.
async fn asked(address: &str, path: &str, token: &str) -> u16 {
    let bearer = format!("Bearer {token}");
    send(address, "GET", path, &[("Authorization", &bearer)], "").await
}

/// The same by any method.
async fn send(
    address: &str,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> u16 {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let mut socket = tokio::net::TcpStream::connect(address).await.unwrap();
    let headers: String =
        headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nhost: {address}\r\ncontent-length: {}\r\n{headers}connection: close\r\n\r\n{body}",
        body.len()
    );
    socket.write_all(head.as_bytes()).await.unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).await.unwrap();
    answer.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status")
}

#[tokio::test]
async fn only_operators_see_approvals_and_history() {
    let (alice, line) = new_token("alice").await;
    let made = output(candor().args(["token", "olga", "--operator"])).await;
    let olga = made.stderr.iter().find_map(|l| l.strip_prefix("  ")).unwrap();
    assert!(made.stdout[0].ends_with(" operator"), "{:?}", made.stdout);
    let tokens = file("operators", &format!("{line}\n{}\n", made.stdout[0]));
    let (_program, address) = serve(&tokens, "127.0.0.1:0").await;
    for path in ["/approvals", "/history"] {
        assert_eq!(asked(&address, path, olga).await, 200, "{path}");
        assert_eq!(asked(&address, path, &alice).await, 403, "{path}");
        assert_eq!(asked(&address, path, "made up").await, 401, "{path}");
    }
    assert_eq!(asked(&address, "/tools", &alice).await, 200);
}
