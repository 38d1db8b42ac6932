//! Exit codes.

use crate::Home;
use crate::process::{bounded, output};

#[tokio::test]
async fn help_documents_every_exit_code() {
    let home = Home::new("codes");
    let help = output(&mut home.candor(&["--help"])).await;
    assert_eq!(help.status.code(), Some(0));
    let at = help.stdout.iter().position(|line| line == "Exit codes:").expect("a list of them");
    let code = |line: &String| line.split_whitespace().next().unwrap().to_owned();
    let codes: Vec<_> = help.stdout[at + 1..].iter().map(code).collect();
    assert_eq!(codes, ["0", "1", "2", "3", "4", "5", "6", "7", "130"]);
}

/// The address of a ledger may have a password in it, and users paste help into bug reports.
#[tokio::test]
async fn help_does_not_print_the_ledger_variable_value() {
    let home = Home::new("help");
    for command in ["files", "demo", "history", "approvals", "console"] {
        let mut help = home.candor(&[command, "--help"]);
        let help = output(help.env("CANDOR_LEDGER", "postgres://ann:s3cret@db/ledger")).await;
        let help = help.stdout.join("\n");
        // A demo has a ledger of its own, unless a flag names one.
        assert_eq!(help.contains("[env: CANDOR_LEDGER]"), command != "demo", "{command}: {help}");
        assert!(!help.contains("s3cret"), "{command}: {help}");
    }
}

#[tokio::test]
async fn commands_end_with_the_documented_exit_codes() {
    let home = Home::new("before");
    for (args, code) in [
        (&["token", "ann"][..], 0),
        (&["token", "two words"], 2),
        (&["files", "nowhere"], 2),
        (&["history", "--ledger", "nowhere.db"], 1),
        (&["files"], 2),
        (&["nonsense"], 2),
        (&[], 2),
    ] {
        let ended = output(&mut home.candor(args)).await;
        assert_eq!(ended.status.code(), Some(code), "{args:?}: {:?}", ended.stderr);
    }
}

#[tokio::test]
async fn failure_with_json_is_one_object() {
    let home = Home::new("objects");
    for args in [
        &["history", "--ledger", "nowhere.db", "--json"][..],
        &["approvals", "--ledger", "nowhere.db", "--json"],
        &["history", "--json", "--ledger", "nowhere.db", "show", "x"],
    ] {
        let ended = output(&mut home.candor(args)).await;
        assert_eq!(ended.status.code(), Some(1), "{args:?}");
        let told: serde_json::Value = serde_json::from_str(&ended.stderr.join("\n")).unwrap();
        let message = told["error"]["message"].as_str().unwrap();
        assert!(message.contains("no ledger exists here"), "{told}");
    }
}

/// As behind `2>&1 | head -1`.
#[cfg(unix)]
#[tokio::test]
async fn closed_stderr_does_not_end_the_command() {
    let deaf = |home: &Home, args: &[&str]| {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut command = home.candor(args);
        command.stderr(writer).stdout(std::process::Stdio::piped()).kill_on_drop(true);
        command
    };
    let home = Home::new("deaf");
    for (args, code) in [(&["config", "json", ":1"][..], 0), (&["tools", "--", "nothing"], 4)] {
        let ended = bounded("it ends", deaf(&home, args).output()).await.unwrap();
        assert_eq!(ended.status.code(), Some(code), "{args:?}");
    }
    let port = {
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        free.local_addr().unwrap()
    };
    let words = ["files", ".", "--http", &port.to_string()];
    let mut server =
        deaf(&home, &words).env("XDG_STATE_HOME", home.0.join("state")).spawn().unwrap();
    let serves = async {
        while tokio::net::TcpStream::connect(port).await.is_err() {
            assert!(server.try_wait().unwrap().is_none(), "the server has ended");
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
    };
    bounded("it serves", serves).await;
    let pid = server.id().unwrap().to_string();
    assert!(std::process::Command::new("kill").arg(&pid).status().unwrap().success());
    assert_eq!(bounded("it ends", server.wait()).await.unwrap().code(), Some(0));
}
