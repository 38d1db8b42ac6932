//! The law of decisions on the command line: what `candor explain` says about a call is what `candor call` then does. Real processes,
//! no terminal for the caller.

use std::collections::BTreeSet;
use std::process::Stdio;

use serde_json::Value;
use tokio::process::Command;

use crate::process::{Program, bounded};
use crate::served::Served;

/// What a reviewer did before the explanation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Before {
    Nothing,
    /// A reviewer approved another call in the folder, and gave a grant for the folder.
    Grant,
    Approval,
    Denial,
}

/// `candor files` over HTTP with one ask level.
struct Site {
    served: Served,
    address: String,
    _program: Program,
}

impl Site {
    async fn new(ask: &str) -> Self {
        let served = Served::new(&format!("law, {ask}"));
        let flags = ["--http", "127.0.0.1:0", "--hold", "0s", "--ask", ask];
        let mut program = Program::start(&mut served.command(&flags));
        let address = program.listening().await;
        Self { served, address, _program: program }
    }

    /// Runs `candor explain` or `candor call`. Returns the exit code, and what it printed as JSON.
    async fn candor(&self, verb: &str, action: &str, path: &str, yes: bool) -> (i32, Value) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_candor"));
        command.args([verb, &format!("http://{}/mcp", self.address), "manage_files"]);
        command.args([&format!("action={action}"), &format!("path={path}"), "--json"]);
        command.args(yes.then_some("--yes")).stdin(Stdio::null()).kill_on_drop(true);
        command.env("HOME", self.served.beside("home"));
        command.env("XDG_STATE_HOME", self.served.beside("state"));
        let output = bounded("the command ends", command.output()).await.unwrap();
        let printed = if output.stdout.is_empty() { &output.stderr } else { &output.stdout };
        let line = String::from_utf8_lossy(printed);
        let last = line.lines().last().unwrap_or_default();
        let value = serde_json::from_str(last).unwrap_or_else(|error| panic!("{error}: {line}"));
        (output.status.code().unwrap(), value)
    }

    /// Makes the call. Returns what it did, as a word of `explain`, or the code of the refusal. Checks the effect on the file.
    async fn call(&self, action: &str, path: &str, yes: bool) -> String {
        let (exit, printed) = self.candor("call", action, path, yes).await;
        let text = printed["result"]["content"][0]["text"].as_str();
        let ran = match action {
            "read" => text == Some("kept"),
            _ => !self.served.has(path),
        };
        match (exit, ran, printed["error"]["code"].as_str()) {
            (0, true, None) => "run".to_owned(),
            (3, false, Some("refused")) => "confirm".to_owned(),
            (3, false, Some("approval_required")) => "ask".to_owned(),
            (3, false, Some(code)) => code.to_owned(),
            _ => panic!("exit {exit}, ran: {ran}: {printed:#}"),
        }
    }
}

/// Lets a reviewer do something before the explanation. False if the call needs no reviewer.
async fn happens(site: &Site, before: Before, action: &str, folder: &str, path: &str) -> bool {
    let under = format!("path={folder}");
    let words: &[&str] = match before {
        Before::Nothing => return true,
        Before::Grant => &["approve", "--for", "15m", "--under", &under],
        Before::Approval => &["approve"],
        Before::Denial => &["deny"],
    };
    let other = format!("{folder}/other.txt");
    site.served.write(&other, "kept");
    let path = if before == Before::Grant { &other } else { path };
    let (_, refused) = site.candor("call", action, path, false).await;
    let error = &refused["error"]["result"]["_meta"]["dev.candor/error"];
    let Some(id) = error["operation"].as_str() else { return false };
    site.served.decide_on(words, id, folder);
    true
}

#[tokio::test]
async fn call_does_what_explain_said_on_the_command_line() {
    let (mut count, mut all) = (0, BTreeSet::new());
    for ask in ["never", "destructive", "always"] {
        let site = Site::new(ask).await;
        for action in ["read", "delete"] {
            for before in [Before::Nothing, Before::Grant, Before::Approval, Before::Denial] {
                let folder = format!("notes/{action}-{before:?}");
                std::fs::create_dir_all(site.served.folder().join(&folder)).unwrap();
                let path = format!("{folder}/a.txt");
                site.served.write(&path, "kept");
                if !happens(&site, before, action, &folder, &path).await {
                    continue;
                }
                let (exit, said) = site.candor("explain", action, &path, false).await;
                let next = said["result"]["next"].as_str().unwrap().to_owned();
                assert!(exit == 0 && site.served.has(&path), "explain runs nothing");
                let done = site.call(action, &path, false).await;
                let expected = match (before, &*next) {
                    // `explain` knows the server's verdict, but not its decision, which depends on the record of the call: a
                    // reviewer has approved or denied the call already.
                    (Before::Approval, "ask") => "run",
                    (Before::Denial, "ask") => "denied",
                    (_, next) => next,
                };
                assert_eq!(done, expected, "{ask} {action} {before:?}: {said:#}");
                if next == "confirm" {
                    assert_eq!(site.call(action, &path, true).await, "run", "{said:#}");
                }
                if done == "ask" {
                    // The caller cannot answer for the reviewer.
                    assert_eq!(site.call(action, &path, true).await, "ask", "{said:#}");
                }
                count += 1;
                all.insert((next, done));
            }
        }
    }
    let said = ["run run", "confirm confirm", "ask ask", "ask run", "ask denied"];
    let all: BTreeSet<_> = all.iter().map(|(next, done)| format!("{next} {done}")).collect();
    assert_eq!(all, BTreeSet::from(said.map(str::to_owned)));
    assert_eq!(count, 15);
}
