//! An example server as a child process that never outlives this program.

use std::ffi::OsString;
use std::fs::File;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

use crate::process::{self, Outcome};
use crate::workspace::Workspace;

/// How long the server may take to listen.
const PATIENCE: Duration = Duration::from_secs(20);

/// The text before the port on the server's stderr.
pub(crate) const LISTENING: &str = "listening on http://127.0.0.1:";

/// Builds the example and returns its path. Unoptimized and with the features of the whole workspace, so that cargo
/// reuses the build of the tests.
pub(crate) fn build(at: &Workspace, example: &str) -> Outcome<PathBuf> {
    let mut build = Command::new("cargo");
    build.args(["build", "--workspace", "--all-features", "--example", example]);
    process::quietly(&mut build, &at.log(&format!("{example}-build")))?;
    let name = format!("{example}{}", std::env::consts::EXE_SUFFIX);
    Ok(at.target.join("debug").join("examples").join(name))
}

/// Builds the command line in the same way.
pub(crate) fn build_candor(at: &Workspace) -> Outcome<PathBuf> {
    let mut build = Command::new("cargo");
    build.args(["build", "--workspace", "--all-features", "--bin", "candor"]);
    process::quietly(&mut build, &at.log("candor-build"))?;
    Ok(at.target.join("debug").join(format!("candor{}", std::env::consts::EXE_SUFFIX)))
}

/// A server that listens.
pub(crate) struct Server {
    child: StoppedOnDrop,
    port: u16,
    log: PathBuf,
}

/// Stops the child in every case: at an error, at a panic that unwinds, at the end.
struct StoppedOnDrop(Child);

impl Drop for StoppedOnDrop {
    fn drop(&mut self) {
        // Both fail only if the child has already ended.
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

impl Server {
    /// Starts the server on a free port and waits until it listens.
    pub(crate) fn start(program: &Path, options: &[OsString], log: &Path) -> Outcome<Self> {
        let mut command = Command::new(program);
        command.args(options).args(["--http", "127.0.0.1:0"]).env("CANDOR_LEDGER", "memory:");
        Self::run(&mut command, LISTENING, log)
    }

    /// Starts any server that prints its port on stderr after the text `says`.
    pub(crate) fn run(command: &mut Command, says: &'static str, log: &Path) -> Outcome<Self> {
        let file =
            process::create(log).map_err(|e| format!("cannot write {}: {e}", log.display()))?;
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child =
            command.spawn().map(StoppedOnDrop).map_err(|e| process::not_started(command, &e))?;
        let stderr = child.0.stderr.take().expect("stderr is piped");
        let (found, port) = mpsc::channel();
        thread::spawn(move || drain(stderr, file, says, &found));
        let port = port.recv_timeout(PATIENCE).map_err(|e| {
            let how = match e {
                RecvTimeoutError::Timeout => format!("has run for {} s", PATIENCE.as_secs()),
                RecvTimeoutError::Disconnected => "ended".to_owned(),
            };
            format!(
                "the server {how} without `{says}PORT` on stderr; it said:\n{}",
                process::end_of(log)
            )
        })?;
        Ok(Self { child, port, log: log.to_owned() })
    }

    /// Returns the URL of the MCP endpoint. It has a host name, as in most clients' configurations: the DNS rebinding
    /// scenario takes the `Host` and `Origin` that the server must accept from this URL.
    pub(crate) fn url(&self) -> String {
        format!("{}/mcp", self.origin())
    }

    /// Returns the server's origin.
    pub(crate) fn origin(&self) -> String {
        format!("http://localhost:{}", self.port)
    }

    /// Fails if the server has ended. After a crash, every later scenario fails, and the crash is the reason to report.
    pub(crate) fn must_still_run(&mut self) -> Outcome {
        match self.child.0.try_wait() {
            Ok(None) => Ok(()),
            Ok(Some(status)) => Err(format!(
                "the server ended during the run, with {status}; it said:\n{}",
                process::end_of(&self.log)
            )),
            Err(e) => Err(format!("cannot ask whether the server runs: {e}")),
        }
    }
}

/// Copies stderr to the log until it ends. If the pipe were full, the server would block.
fn drain(stderr: ChildStderr, mut log: File, says: &str, found: &Sender<u16>) {
    for line in BufReader::new(stderr).split(b'\n').map_while(Result::ok) {
        log.write_all(&line).and_then(|()| log.write_all(b"\n")).ok();
        if let Some(port) = port_in(&String::from_utf8_lossy(&line), says) {
            // After the first port, the receiver is gone.
            found.send(port).ok();
        }
    }
}

fn port_in(line: &str, says: &str) -> Option<u16> {
    let (_, rest) = line.split_once(says)?;
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    rest[..end].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn port_is_found_in_a_colored_log_line() {
        let line = "\u{1b}[32m INFO\u{1b}[0m listening on http://127.0.0.1:40123/mcp\u{1b}[0m";

        assert_eq!(port_in(line, LISTENING), Some(40123));
        assert_eq!(port_in("listening on stdio", LISTENING), None);
    }
}
