//! What `candor files` takes, and what it says to mistakes.

use std::path::Path;

use serde_json::json;
use tokio::process::Command;

use super::{ERAS, Era, Host, Served};
use crate::http::ask;
use crate::process::{Ended, Program, output};
use crate::{candor, candor_files, folder};

/// The one line that says what is wrong; what follows it is about the usage.
fn complaint(ended: &Ended) -> &str {
    assert_eq!(ended.stdout, [""; 0], "stdout is for the protocol");
    let said = ended.stderr.iter().filter(|line| line.starts_with("error: ")).count();
    assert_eq!(said, 1, "{:?}", ended.stderr);
    &ended.stderr[0]
}

#[tokio::test]
async fn invalid_folder_is_a_usage_error_of_one_line() {
    let file = Served::prepared("a file").at("hello.txt");
    for (path, problem) in [
        (Path::new("/nonexistent/folder"), "no such folder exists"),
        (&file, "this is not a folder; name the one it is in"),
    ] {
        for transport in ["--stdio", "--http=127.0.0.1:0"] {
            let ended = output(candor_files(path).arg(transport)).await;
            assert_eq!(ended.status.code(), Some(2));
            assert_eq!(complaint(&ended), format!("error: {}: {problem}", path.display()));
            assert_eq!(ended.stderr.len(), 1);
        }
    }
}

#[tokio::test]
async fn invalid_flag_is_a_usage_error() {
    let ended = output(candor().args(["files", "--stdio"])).await;
    assert_eq!(ended.status.code(), Some(2));
    assert!(complaint(&ended).contains("required"), "{:?}", ended.stderr);
    assert!(ended.stderr.iter().any(|line| line.contains("<DIR>")), "{:?}", ended.stderr);

    let served = Served::empty("mistakes");
    for (flag, parts) in [
        ("--max-file=4M", &["'4M'", "--max-file", "bytes"][..]),
        ("--max-file=-1", &["'-1'", "--max-file", "bytes"]),
        ("--max-file=", &["--max-file"]),
        ("--split=other", &["'other'", "--split"]),
        ("--readonly", &["--readonly"]),
    ] {
        let ended = output(served.command(&[flag]).arg("--stdio")).await;
        assert_eq!(ended.status.code(), Some(2), "{flag}");
        let said = complaint(&ended);
        assert!(parts.iter().all(|part| said.contains(part)), "{flag}: {said}");
    }
    let ended = output(served.command(&["--stdio"]).env("CANDOR_MAX_FILE", "much")).await;
    assert_eq!(ended.status.code(), Some(2));
    assert!(complaint(&ended).contains("'much'"), "{:?}", ended.stderr);
}

#[tokio::test]
async fn help_names_every_flag_with_its_variable() {
    let ended = output(candor().args(["files", "--help"])).await;
    assert_eq!(ended.status.code(), Some(0));
    let help = ended.stdout.join("\n");
    for flag in ["read-only", "hidden", "max-file", "instance", "split", "stdio", "http", "tokens"]
    {
        let variable = format!("CANDOR_{}", flag.replace('-', "_").to_uppercase());
        let section = help.split("\n      --").find(|part| part.starts_with(flag));
        let section = section.unwrap_or_else(|| panic!("no --{flag} in {help}"));
        assert!(section.contains(&format!("[env: {variable}=")), "{section}");
    }
    assert!(help.contains("<DIR>") && help.contains("[default: 4194304]"), "{help}");
}

/// What a server says of itself.
async fn title(host: &mut Host, era: Era) -> String {
    let method = if era == Era::Legacy { "initialize" } else { "server/discover" };
    let params = match era {
        Era::Legacy => crate::messages::initialize(1)["params"].take(),
        Era::Modern => json!({}),
    };
    let result = host.result(method, &params).await;
    let info = match era {
        Era::Legacy => &result["serverInfo"],
        Era::Modern => &result["_meta"]["io.modelcontextprotocol/serverInfo"],
    };
    assert_eq!(info["name"], "candor-files");
    info["title"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn instance_name_is_the_server_title_in_both_eras() {
    let served = Served::empty("named");
    for era in ERAS {
        for (flags, name) in
            [(&[][..], "served folder, ü"), (&["--instance", "Ann's notes"], "Ann's notes")]
        {
            let mut command = served.command(flags);
            // The first request decides the era.
            let program = Program::start(command.arg("--stdio"));
            let mut host = Host { program, era, asked: 0 };
            assert_eq!(title(&mut host, era).await, name);
        }
    }
    let mut command = served.command(&["--stdio"]);
    let mut host = Host::of(command.env("CANDOR_INSTANCE", "work"), Era::Modern).await;
    assert_eq!(title(&mut host, Era::Modern).await, "work");
}

/// The lines for the person at the terminal, before the server listens, where `candor` is a command that the shell knows.
async fn banner(path: &Path, flags: &[&str]) -> Vec<String> {
    let mut command = candor();
    let program = Path::new(env!("CARGO_BIN_EXE_candor"));
    said(command.env("PATH", program.parent().unwrap()), path, flags).await
}

async fn said(command: &mut Command, path: &Path, flags: &[&str]) -> Vec<String> {
    command.arg("files").arg(path).args(flags).args(["--http", "127.0.0.1:0"]);
    let mut program = Program::start(command);
    let mut lines = Vec::new();
    loop {
        let line = program.complaint().await;
        if line.starts_with("listening on http://") {
            return lines;
        }
        lines.push(line);
    }
}

#[tokio::test]
async fn printed_host_command_is_quoted_for_a_shell() {
    let served = Served::empty("host line");
    let path = served.path();
    let shown = path.to_str().unwrap();
    const ASKS: &str = "asks before: destructive";
    for (flags, mode, name, kept) in [
        (&[][..], ASKS, "served-folder", ""),
        (&["--read-only"], "read-only", "served-folder", " --read-only"),
        (&["--instance", "notes"], ASKS, "notes", " --instance notes"),
        (&["--instance", "my notes"], ASKS, "my-notes", " --instance 'my notes'"),
        (&["--instance", "Ann's"], ASKS, "Ann-s", r" --instance 'Ann'\''s'"),
        (
            &["--hidden", "--max-file", "100", "--split"],
            ASKS,
            "served-folder",
            " --hidden --max-file 100 --split",
        ),
        (&["--ask", "never"], "asks before: never", "served-folder", " --ask never"),
        (
            &["--ask=writes", "--deny", "move_files", "--operators-only", "--hold=2m"],
            "asks before: writes",
            "served-folder",
            " --ask writes --deny move_files --operators-only --hold 120s",
        ),
    ] {
        let lines = banner(&path, flags).await;
        assert_eq!(lines[0], format!("candor files · {shown} · {mode}"));
        let host = lines[1].strip_prefix("  host     ").unwrap_or_else(|| panic!("{lines:?}"));
        let command = format!("candor files '{shown}'{kept} --stdio");
        assert_eq!(host, format!("claude mcp add {name} -- {command}"));
    }
    let plain = std::env::temp_dir().canonicalize().unwrap().join("candor-host-line");
    std::fs::create_dir_all(&plain).unwrap();
    let lines = banner(&plain, &[]).await;
    std::fs::remove_dir(&plain).unwrap();
    let shown = plain.display();
    assert!(lines[1].ends_with(&format!("add candor-host-line -- candor files {shown} --stdio")));
}

#[tokio::test]
async fn server_page_and_terminal_name_the_server_alike() {
    let served = Served::empty("alike");
    for flags in [&[][..], &["--instance", "Ann's -- notes"]] {
        let mut command = served.command(flags);
        let mut program = Program::start(command.args(["--http", "127.0.0.1:0"]));
        let mut lines = Vec::new();
        let address = loop {
            let line = program.complaint().await;
            match line.strip_prefix("listening on http://") {
                Some(address) => break address.to_owned(),
                None => lines.push(line),
            }
        };
        let host = lines.iter().find_map(|line| line.split_once("claude mcp add ")).unwrap().1;
        let name = host.split(' ').next().unwrap();
        let (_, token) = lines.iter().find_map(|line| line.split_once("#token=")).unwrap();
        let token = format!("Bearer {}", token.split(' ').next().unwrap());
        let headers = [("Authorization", &*token), ("Accept", "text/html")];
        let page = ask(&address, "GET", "/ui/server", &headers, "").await;
        let command = format!("claude mcp add --transport http {name} http://{address}/mcp");
        assert!(page.body.contains(&command), "{command} in {}", page.body);
    }
}

/// A variable applies to all servers, so a tool that this server does not have gives a warning.
#[tokio::test]
async fn deny_of_an_unknown_tool_is_reported() {
    let served = Served::prepared("denied");
    let mut command = candor();
    command.env("CANDOR_DENY", "drop_table, preview_manage_files,");
    let lines = said(&mut command, &served.path(), &[]).await;
    let warned = |line: &String| line.contains("CANDOR_DENY: this server has no such tool");
    assert!(lines.iter().any(|line| warned(line) && line.contains("drop_table")), "{lines:?}");
    assert_eq!(lines.iter().filter(|line| warned(line)).count(), 1, "{lines:?}");
    let host = lines.iter().find(|line| line.starts_with("  host ")).unwrap();
    assert!(host.ends_with("' --deny preview_manage_files --stdio"), "{host}");

    // A typed flag means this server. A generated preview is a tool, too.
    let ended = output(served.command(&["--stdio"]).args(["--deny", "drop_table"])).await;
    assert_eq!(ended.status.code(), Some(2));
    let said = complaint(&ended);
    assert!(said.contains("--deny drop_table") && said.contains("preview_manage_files"), "{said}");
    let mut command = served.command(&["--stdio", "--deny", "preview_manage_files"]);
    let mut host = Host::of(&mut command, Era::Modern).await;
    let call = super::manage("delete", "hello.txt");
    let answer = host.call("preview_manage_files", &call).await;
    assert_eq!(answer["result"]["isError"], true, "{answer}");
    assert!(answer.to_string().contains("denied"), "{answer}");
}

/// The printed command starts the same server, also for a user who built the program without installing it.
#[cfg(unix)]
#[tokio::test]
async fn printed_host_command_starts_the_same_server() {
    let served = Served::prepared("host line runs");
    let flags = ["--hidden", "--instance", "Ann's notes"];
    let lines = said(&mut candor(), &served.path(), &flags).await;
    let line = lines[1].split_once(" -- ").unwrap().1;
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(format!("exec {line}"));
    shell.env("XDG_STATE_HOME", concat!(env!("CARGO_TARGET_TMPDIR"), "/state"));
    let mut host = Host::of(&mut shell, Era::Modern).await;
    assert_eq!(title(&mut host, Era::Modern).await, "Ann's notes");
    let hidden = super::manage("read", ".hidden");
    assert_eq!(host.done("manage_files", &hidden).await, "hidden");
}

#[tokio::test]
async fn files_asks_before_destructive_calls_by_default() {
    let served = Served::prepared("asks by itself");
    let mut command = candor();
    command.arg("files").arg(served.path()).arg("--stdio");
    let mut host = Host::of(&mut command, Era::Modern).await;
    host.done("manage_files", &super::manage_with("append", "hello.txt", "!")).await;
    for call in
        [super::manage("delete", "hello.txt"), super::manage_with("replace", "hello.txt", "gone")]
    {
        let answer = host.call("manage_files", &call).await;
        assert_eq!(answer["result"]["resultType"], "input_required", "{answer}");
    }
    assert_eq!(served.text("hello.txt"), "Hello, folder!!");
}

#[tokio::test]
async fn instructions_name_the_folder_and_the_path_format() {
    let root = folder("instructions");
    let mut host = Host::of(candor_files(&root).arg("--stdio"), Era::Modern).await;
    let discovered = host.result("server/discover", &json!({})).await;
    let instructions = discovered["instructions"].as_str().unwrap();
    assert!(instructions.contains(root.to_str().unwrap()), "{instructions}");
    assert!(instructions.contains("relative"), "{instructions}");
}
