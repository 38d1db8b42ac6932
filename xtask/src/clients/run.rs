//! One client in one era over one transport: `CLIENT ERA TRANSPORT PLACE STORY [OPTION…]`.

use std::ffi::OsString;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::thread;
use std::time::{Duration, Instant};

use super::story::Story;
use crate::process::{self, Outcome};

/// A client bounds each of its checks with ten seconds. This is for one that can no longer do so.
const PATIENCE: Duration = Duration::from_secs(30);

/// How often to look whether a client has ended.
const A_MOMENT: Duration = Duration::from_millis(20);

pub(super) struct Run<'a> {
    pub(super) story: &'a Story,
    pub(super) sdk: &'a str,
    pub(super) era: &'a str,
    pub(super) transport: Transport,
    pub(super) client: &'a Client,
    /// What the server is started with, if the client starts it.
    pub(super) options: &'a [OsString],
}

#[derive(Clone, Copy, PartialEq)]
pub(super) enum Transport {
    Stdio,
    Http,
}

impl fmt::Display for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Stdio => "stdio",
            Self::Http => "http",
        })
    }
}

/// How a client is started, up to the arguments that all have in common.
pub(super) struct Client {
    pub(super) program: PathBuf,
    pub(super) script: Option<PathBuf>,
    pub(super) settings: Vec<(&'static str, PathBuf)>,
}

impl Client {
    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.script).envs(self.settings.iter().map(|(name, value)| (name, value)));
        // Servers that it starts remember their calls there, and not among those of whoever runs this. Official clients pass
        // on no more of the environment than this.
        command.env(
            "HOME",
            std::env::temp_dir().join(format!("candor-clients-{}", std::process::id())),
        );
        command
    }
}

impl Run<'_> {
    pub(super) fn name(&self) -> String {
        format!("{}-{}-{}-{}", self.sdk, self.story.name, self.era, self.transport)
    }

    /// Runs the client against the server at `place`, and gives the checks that it has passed.
    pub(super) fn go(&self, place: &str, logs: &Path) -> Outcome<Vec<String>> {
        let log = logs.join(format!("{}.log", self.name()));
        let mut command = self.client.command();
        command.arg(self.era).arg(self.transport.to_string()).arg(place).arg(self.story.file);
        command.args(self.options);
        match bounded(&mut command, &log)? {
            Some(status) if status.success() => {}
            Some(status) => {
                return Err(format!("{}\nIt ended with {status}.", process::end_of(&log)));
            }
            None => {
                let seconds = PATIENCE.as_secs();
                return Err(format!("{}\nIt ran for {seconds} s.", process::end_of(&log)));
            }
        }
        let output =
            fs::read_to_string(&log).map_err(|e| format!("cannot read {}: {e}", log.display()))?;
        Ok(passed(&output))
    }
}

/// Clients print `ok WHAT` for each check; the server's log may stand in between.
fn passed(output: &str) -> Vec<String> {
    output.lines().filter_map(|line| line.strip_prefix("ok ")).map(str::to_owned).collect()
}

/// Runs the command with its output in `log`, and stops it when its time is over.
fn bounded(command: &mut Command, log: &Path) -> Outcome<Option<ExitStatus>> {
    let (out, err) = process::create(log)
        .and_then(|file| Ok((file.try_clone()?, file)))
        .map_err(|e| format!("cannot write {}: {e}", log.display()))?;
    let mut child = command
        .stdin(std::process::Stdio::null())
        .stdout(out)
        .stderr(err)
        .spawn()
        .map_err(|e| process::not_started(command, &e))?;
    let ended = wait(&mut child).map_err(|e| format!("cannot wait for a client: {e}"));
    if !matches!(ended, Ok(Some(_))) {
        // Its server, if it has one of its own, ends with its input.
        child.kill().ok();
        child.wait().ok();
    }
    ended
}

fn wait(child: &mut Child) -> std::io::Result<Option<ExitStatus>> {
    let start = Instant::now();
    loop {
        let ended = child.try_wait()?;
        if ended.is_some() || start.elapsed() > PATIENCE {
            return Ok(ended);
        }
        thread::sleep(A_MOMENT);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_server_logs_is_no_check() {
        let output = "ok lists the tools\n INFO ok, listening\nok reads a text resource\n";

        assert_eq!(passed(output), ["lists the tools", "reads a text resource"]);
    }
}
