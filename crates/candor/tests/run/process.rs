//! A program that was started, seen from its pipes.

#![allow(dead_code)] // several test programs share this file, and each uses a part of it

use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, Command};
use tokio::sync::Notify;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::task::JoinHandle;

/// A program here answers in milliseconds; whoever takes this long never will.
const LONG: Duration = Duration::from_secs(10);

/// A running program; ended when dropped.
pub(crate) struct Program {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: UnboundedReceiver<String>,
    stderr: UnboundedReceiver<String>,
    reading_stdout: JoinHandle<()>,
    deaf: Arc<Notify>,
}

impl Program {
    pub(crate) fn start(command: &mut Command) -> Self {
        let mut child = clean(command)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap_or_else(|e| panic!("{:?}: {e}", command.as_std().get_program()));
        let deaf = Arc::new(Notify::new());
        let (stdout, reading_stdout) = lines(child.stdout.take().unwrap(), deaf.clone());
        let (stderr, _) = lines(child.stderr.take().unwrap(), Arc::default());
        Self { stdin: child.stdin.take(), stdout, stderr, reading_stdout, deaf, child }
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id().expect("it runs")
    }

    /// Writes a line to its stdin.
    pub(crate) async fn write(&mut self, line: &str) {
        let stdin = self.stdin.as_mut().expect("an open stdin");
        let line = format!("{line}\n");
        bounded("the program reads", stdin.write_all(line.as_bytes())).await.unwrap();
    }

    /// The next line of its stdout, which must be JSON.
    pub(crate) async fn next(&mut self) -> Value {
        let line = bounded("a line on stdout", self.stdout.recv()).await.expect("stdout is open");
        serde_json::from_str(&line).unwrap_or_else(|e| panic!("{e} in {line:?}"))
    }

    /// Sends a request over stdio; the next message must be its answer.
    pub(crate) async fn ask(&mut self, request: &Value) -> Value {
        self.write(&request.to_string()).await;
        let answer = self.next().await;
        assert_eq!(answer["id"], request["id"], "not the answer: {answer}");
        answer
    }

    /// The next line of its stderr.
    pub(crate) async fn complaint(&mut self) -> String {
        bounded("a line on stderr", self.stderr.recv()).await.expect("stderr is open")
    }

    /// Waits until it says where it listens, `IP:PORT`.
    pub(crate) async fn listening(&mut self) -> String {
        loop {
            if let Some(address) = self.complaint().await.strip_prefix("listening on http://") {
                return address.to_owned();
            }
        }
    }

    /// Its stdin, and the lines of its stdout, for somebody who asks several things at once.
    pub(crate) fn take_pipes(&mut self) -> (ChildStdin, UnboundedReceiver<String>) {
        let stdout = std::mem::replace(&mut self.stdout, unbounded_channel().1);
        (self.stdin.take().expect("an open stdin"), stdout)
    }

    pub(crate) fn close_stdin(&mut self) {
        self.stdin = None;
    }

    /// Stops reading its stdout, which stays open.
    pub(crate) fn turn_deaf(&self) {
        self.deaf.notify_one();
    }

    /// Closes our end of its stdout: whatever it writes from here on fails.
    pub(crate) async fn close_stdout(&mut self) {
        self.reading_stdout.abort();
        let _ = (&mut self.reading_stdout).await;
    }

    /// Asks it to stop, as a service manager does.
    #[cfg(unix)]
    pub(crate) fn terminate(&self) {
        let pid = self.id().to_string();
        let sent = std::process::Command::new("kill").args(["-TERM", &pid]).status().unwrap();
        assert!(sent.success());
    }

    /// Ends it as a power cut would; it must have run until then.
    #[cfg(unix)]
    pub(crate) async fn kill(mut self) {
        use std::os::unix::process::ExitStatusExt as _;
        self.child.start_kill().unwrap();
        let status = bounded("the program ends", self.child.wait()).await.unwrap();
        assert_eq!(
            status.signal(),
            Some(9),
            "it had ended before: {:?}",
            rest(&mut self.stderr).await
        );
    }

    /// True while it has not ended.
    pub(crate) fn runs(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    /// Waits for its end, with stdin as it is.
    pub(crate) async fn ended(mut self) -> Ended {
        // Held until the end: a closed stdin would be a reason to end.
        let stdin = self.stdin.take();
        let status = bounded("the program ends", self.child.wait()).await.unwrap();
        drop(stdin);
        Ended {
            status,
            stdout: bounded("stdout ends", rest(&mut self.stdout)).await,
            stderr: bounded("stderr ends", rest(&mut self.stderr)).await,
        }
    }
}

/// How a program ended, and what it said that nobody had read.
pub(crate) struct Ended {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: Vec<String>,
    pub(crate) stderr: Vec<String>,
}

/// Runs a program that ends by itself, with nothing on its stdin.
pub(crate) async fn output(command: &mut Command) -> Ended {
    let mut program = Program::start(command);
    program.close_stdin();
    program.ended().await
}

/// Settings of whoever runs the tests must not reach the program; those of the test must.
fn clean(command: &mut Command) -> &mut Command {
    let of_test: Vec<_> = command.as_std().get_envs().map(|(name, _)| name.to_owned()).collect();
    for (name, _) in std::env::vars_os().filter(|(name, _)| !of_test.contains(name)) {
        if name == "RUST_LOG" || name.to_string_lossy().starts_with("CANDOR_") {
            command.env_remove(name);
        }
    }
    command.kill_on_drop(true)
}

/// Reads a pipe as fast as the program writes, so that it does not wait for the test, unless the test wants that.
fn lines(
    pipe: impl AsyncRead + Send + Unpin + 'static,
    deaf: Arc<Notify>,
) -> (UnboundedReceiver<String>, JoinHandle<()>) {
    let (heard, told) = unbounded_channel();
    let reading = tokio::spawn(async move {
        let mut lines = BufReader::new(pipe).lines();
        loop {
            let line = tokio::select! {
                biased;
                () = deaf.notified() => break,
                line = lines.next_line() => line.unwrap(),
            };
            let Some(line) = line else { return };
            let _ = heard.send(line);
        }
        drop(heard);
        std::future::pending::<()>().await;
    });
    (told, reading)
}

async fn rest(lines: &mut UnboundedReceiver<String>) -> Vec<String> {
    let mut rest = Vec::new();
    while let Some(line) = lines.recv().await {
        rest.push(line);
    }
    rest
}

/// Waits for something that must happen soon.
pub(crate) async fn bounded<T>(what: &str, happening: impl Future<Output = T>) -> T {
    tokio::time::timeout(LONG, happening).await.unwrap_or_else(|_| panic!("never: {what}"))
}
