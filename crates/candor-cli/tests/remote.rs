//! The commands of `candor` that talk to a server, as processes: against `candor files` over HTTP and over stdio, and against a
//! scripted server that means no good.

#![allow(missing_docs)]

#[cfg(unix)]
#[path = "remote/bounding.rs"]
mod bounding;
#[path = "remote/calling.rs"]
mod calling;
#[path = "remote/claiming.rs"]
mod claiming;
#[path = "remote/examining.rs"]
mod examining;
#[path = "remote/explaining.rs"]
mod explaining;
#[cfg(unix)]
#[path = "remote/leaving.rs"]
mod leaving;
#[path = "remote/listing.rs"]
mod listing;
#[cfg(unix)]
#[path = "remote/marking.rs"]
mod marking;
#[cfg(unix)]
#[path = "remote/persons.rs"]
mod persons;
#[path = "remote/pinned.rs"]
mod pinned;
#[path = "../../candor/tests/run/process.rs"]
mod process;
#[cfg(unix)]
#[path = "remote/projects.rs"]
mod projects;
#[path = "remote/prompting.rs"]
mod prompting;
#[path = "remote/reading.rs"]
mod reading;
#[cfg(unix)]
#[path = "approvals/terminal.rs"]
mod terminal;
#[path = "remote/trusting.rs"]
mod trusting;
#[path = "remote/veiled.rs"]
mod veiled;

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;
use tokio::process::Command;

use process::{Program, bounded};

/// What no terminal may get to see of a server.
const ESCAPE: &str = "\u{1b}[2J";

/// A folder to serve, and a home of one's own, for one test.
struct World {
    around: PathBuf,
}

/// What a command said, and how it ended.
#[derive(Debug)]
struct Told {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

impl World {
    fn new(test: &str) -> Self {
        // Not beneath the project: its own .mcp.json would be found there.
        let around = std::env::temp_dir()
            .join(format!("candor-talk-{}", std::process::id()))
            .join(test.replace(' ', "-"));
        let _ = fs::remove_dir_all(&around);
        fs::create_dir_all(around.join("served/sub")).unwrap();
        let world = Self { around: around.canonicalize().unwrap() };
        world.write("a.txt", "first");
        world.write("sub/b.md", "# second");
        fs::write(world.folder().join("bytes.bin"), [0xff, 0x00, 0xfe]).unwrap();
        world
    }

    fn folder(&self) -> PathBuf {
        self.around.join("served")
    }

    fn write(&self, path: &str, text: &str) {
        fs::write(self.folder().join(path), text).unwrap();
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.folder().join(path)).unwrap()
    }

    fn has(&self, path: &str) -> bool {
        self.folder().join(path).exists()
    }

    fn uri(&self, path: &str) -> String {
        format!("file://{}/{path}", self.folder().display()).trim_end_matches('/').to_owned()
    }

    fn candor(&self, words: &[&str]) -> std::process::Command {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_candor"));
        command.args(words).current_dir(&self.around);
        command.env("HOME", &self.around).env("XDG_STATE_HOME", self.around.join("state"));
        command.env_remove("XDG_CONFIG_HOME").env_remove("CANDOR_BEARER").env("NO_COLOR", "1");
        command
    }

    /// Runs a command without a terminal, with nothing on its stdin.
    async fn run(&self, words: &[&str]) -> Told {
        self.finish(self.candor(words)).await
    }

    async fn finish(&self, command: std::process::Command) -> Told {
        let mut command = Command::from(command);
        command.stdin(std::process::Stdio::null()).kill_on_drop(true);
        let output = bounded("the command ends", command.output()).await.unwrap();
        let told = Told {
            code: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        };
        told.is_safe();
        told
    }

    /// The same with `candor files` of the folder behind the dashes; nobody is asked there.
    async fn over_stdio(&self, words: &[&str]) -> Told {
        let folder = self.folder();
        let program = [env!("CARGO_BIN_EXE_candor"), "files", folder.to_str().unwrap()];
        self.run(&[words, &["--"], &program, &["--stdio", "--ask", "never"]].concat()).await
    }

    /// The same with the scripted server.
    async fn scripted(&self, words: &[&str]) -> Told {
        self.run(&[words, &["--", "python3", SCRIPTED]].concat()).await
    }

    /// The same with a server that answers what `canned.json` says.
    async fn canned(&self, canned: &Value, words: &[&str]) -> Told {
        self.run(&[words, &self.cans(canned)].concat()).await
    }

    /// Writes `canned.json`, and returns the words that start its server.
    fn cans(&self, canned: &Value) -> [&'static str; 3] {
        fs::write(self.around.join("canned.json"), canned.to_string()).unwrap();
        ["--", "python3", CANNED]
    }

    /// How often the canned server was asked this.
    fn asked(&self, method: &str) -> usize {
        let log = fs::read_to_string(self.around.join("asked.jsonl")).unwrap_or_default();
        let asked = log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        asked.filter(|asked| asked["method"] == method).count()
    }

    /// The process that hangs in a call of the scripted server, once it does.
    async fn hanging(&self) -> String {
        let hangs = async {
            loop {
                match fs::read_to_string(self.around.join("hanging")) {
                    Ok(pid) if !pid.is_empty() => return pid,
                    _ => tokio::time::sleep(Duration::from_millis(10)).await,
                }
            }
        };
        bounded("the call hangs", hangs).await
    }

    /// `candor files` over HTTP, and where it is.
    async fn serve(&self, flags: &[&str]) -> (Program, String) {
        let folder = self.folder();
        let words = ["files", folder.to_str().unwrap(), "--http", "127.0.0.1:0"];
        let mut command = Command::from(self.candor(&[&words, flags].concat()));
        let mut program = Program::start(&mut command);
        let address = program.listening().await;
        let port = address.rsplit_once(':').unwrap().1;
        (program, format!(":{port}"))
    }
}

const CANNED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/remote/canned.py");
const SCRIPTED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/remote/scripted.py");

impl Drop for World {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.around);
    }
}

impl Told {
    /// Nothing that a server said reaches a terminal as more than letters.
    fn is_safe(&self) {
        let bad = |c: char| (c.is_control() && c != '\n' && c != '\t') || c == '\u{202e}';
        assert!(!self.stdout.contains(bad), "{self:?}");
        assert!(!self.stderr.contains(bad), "{self:?}");
    }

    fn ended(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{self:?}");
        self
    }

    /// What it found, for programs: one object, and nothing else on stdout.
    fn result(&self) -> Value {
        assert_eq!(self.stdout.lines().count(), 1, "{self:?}");
        let value: Value = serde_json::from_str(&self.stdout).unwrap();
        value["result"].clone()
    }

    /// Why it failed, for programs: one object on one line of stderr, and nothing on stdout.
    fn error(&self) -> Value {
        assert_eq!(self.stdout, "", "{self:?}");
        let line = self.stderr.lines().last().unwrap_or_else(|| panic!("{self:?}"));
        let value: Value = serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {self:?}"));
        assert!(value["error"]["code"].is_string() && value["error"]["message"].is_string());
        value["error"].clone()
    }

    fn says(&self, text: &str) {
        assert!(self.stdout.contains(text), "no {text:?} in {self:?}");
    }

    /// On either: `doctor` reports on stdout what other commands complain about.
    fn tells(&self, text: &str) {
        assert!(
            self.stdout.contains(text) || self.stderr.contains(text),
            "no {text:?} in {self:?}"
        );
    }

    fn complains(&self, text: &str) {
        assert!(self.stderr.contains(text), "no {text:?} in {self:?}");
    }
}

fn names(values: &Value) -> Vec<&str> {
    values.as_array().unwrap().iter().map(|value| value["name"].as_str().unwrap()).collect()
}

/// Ends it as Ctrl-C does.
#[cfg(unix)]
fn interrupt(id: u32) {
    let sent = std::process::Command::new("kill").args(["-INT", &id.to_string()]).status().unwrap();
    assert!(sent.success());
}
