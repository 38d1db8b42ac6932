//! A server that is a child process: its start, its output and its end.

use std::collections::VecDeque;
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader};
use tokio::process::{ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::sync::watch;

use crate::connect::{ClientLimits, Program};
use crate::error::Error;
use crate::link::group::Group;
use crate::members::locked;

/// How long a child has to read what was sent, to exit after its input is closed, and to exit after SIGTERM.
const PATIENCE: Duration = Duration::from_secs(2);

/// Returns that time, or less if the limit for an answer is shorter.
pub(crate) fn patience(limits: &ClientLimits) -> Duration {
    PATIENCE.min(limits.answer)
}

/// The number of stderr lines that are stored to explain an exit.
const KEPT_LINES: usize = 20;

/// Separates the exit status from the program's own words.
const SAID: &str = "; it said: ";

/// The maximum length of a stderr line, in bytes.
const LONGEST_LINE: u64 = 4096;

/// A running child. When it is dropped, the child's input closes, and a task makes sure that the child exits, too.
#[derive(Debug)]
pub(crate) struct Child {
    ended: watch::Receiver<Option<String>>,
    closing: watch::Sender<bool>,
    /// Closes when no process of the child's group is left.
    gone: watch::Receiver<()>,
    words: Arc<Mutex<VecDeque<String>>>,
    heard: watch::Receiver<()>,
}

/// The last lines of a child, and its exit status.
#[derive(Debug, Clone)]
pub(crate) struct LastWords {
    ended: watch::Receiver<Option<String>>,
    words: Arc<Mutex<VecDeque<String>>>,
    /// Closes when stderr has been read to its end.
    heard: watch::Receiver<()>,
}

pub(crate) fn start(
    program: &Program,
    limits: &ClientLimits,
) -> Result<(Child, ChildStdout, ChildStdin), Error> {
    let mut command = Command::new(&program.program);
    command
        .args(&program.args)
        .envs(program.env.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        // The last resort, if there is no time to end it in order.
        .kill_on_drop(true);
    for name in &program.unset {
        command.env_remove(name);
    }
    if let Some(folder) = &program.folder {
        command.current_dir(folder);
    }
    // A process group of its own: this process handles Ctrl-C at the terminal, and the child's own children end with the child.
    #[cfg(unix)]
    command.process_group(0);
    let mut child = command.spawn().map_err(|error| Error::Unreachable {
        target: program.to_string(),
        why: match error.kind() {
            std::io::ErrorKind::NotFound => {
                format!("there is no program {:?}", program.program.display())
            }
            _ => error.to_string(),
        },
    })?;
    let group = Group::of(&child);
    let (Some(stdin), Some(stdout), Some(stderr)) =
        (child.stdin.take(), child.stdout.take(), child.stderr.take())
    else {
        let why = "its pipes could not be opened".to_owned();
        return Err(Error::Unreachable { target: program.to_string(), why });
    };
    let words = Arc::new(Mutex::new(VecDeque::new()));
    let (tell_end, ended) = watch::channel(None);
    let (closing, told_to_close) = watch::channel(false);
    let (hearing, heard) = watch::channel(());
    let listening = listen(stderr, words.clone(), program.stderr.clone());
    tokio::spawn(async move {
        listening.await;
        drop(hearing);
    });
    let (until_gone, gone) = watch::channel(());
    let patience = patience(limits);
    tokio::spawn(async move {
        keep(child, group, told_to_close, tell_end, patience).await;
        drop(until_gone);
    });
    Ok((Child { ended, closing, gone, words, heard }, stdout, stdin))
}

impl Child {
    pub(crate) fn last_words(&self) -> LastWords {
        LastWords {
            ended: self.ended.clone(),
            words: self.words.clone(),
            heard: self.heard.clone(),
        }
    }

    /// Waits until no process of the group is left. The child's input is already closed.
    pub(crate) async fn ended(&self) {
        let _ = self.closing.send(true);
        let mut gone = self.gone.clone();
        while gone.changed().await.is_ok() {}
    }
}

impl LastWords {
    /// Returns what is known about the exit.
    pub(crate) async fn after(&self, why: &str) -> String {
        // If the child itself exited, its status follows the end of the pipe at once.
        let mut ended = self.ended.clone();
        let wait = ended.wait_for(Option::is_some);
        let mut told = match tokio::time::timeout(Duration::from_millis(500), wait).await {
            Ok(Ok(status)) => status.clone().unwrap_or_default(),
            _ => why.to_owned(),
        };
        // A grandchild may keep stderr open, so limit the wait.
        let mut heard = self.heard.clone();
        let _ = tokio::time::timeout(Duration::from_millis(200), heard.changed()).await;
        let words = locked(&self.words);
        let mut lines = words.iter().map(String::as_str);
        // The last line first: in a traceback it names the cause.
        if let Some(last) = lines.next_back() {
            told.push_str(SAID);
            told.push_str(last);
            let before = lines.collect::<Vec<_>>().join(" / ");
            if !before.is_empty() {
                told.push_str(&format!(" (before that: {before})"));
            }
        }
        told
    }
}

/// Makes sure that the child and its whole group end: by themselves, on request, or by a kill.
async fn keep(
    mut child: tokio::process::Child,
    mut group: Group,
    mut closing: watch::Receiver<bool>,
    tell: watch::Sender<Option<String>>,
    patience: Duration,
) {
    let words = |status: std::io::Result<std::process::ExitStatus>| match status {
        Ok(status) => format!("the program ended with {status}"),
        Err(error) => format!("the program is gone: {error}"),
    };
    let ended = tokio::select! {
        status = child.wait() => Some(status),
        // The client closes the connection, or dropped the child.
        _ = closing.wait_for(|closing| *closing) => None,
    };
    if let Some(status) = ended {
        let _ = tell.send(Some(words(status)));
        // Processes that the child left behind may hold its pipes, and be the server: the child was a wrapper that forks.
        if !group.is_gone() {
            let _ = closing.wait_for(|closing| *closing).await;
        }
    } else {
        // Its input is closed, which asks it to exit.
        let mut ended = tokio::time::timeout(patience, child.wait()).await;
        if ended.is_err() {
            group.tell_to_end();
            ended = tokio::time::timeout(patience, child.wait()).await;
        }
        let status = match ended {
            Ok(status) => status,
            Err(_) => {
                group.kill();
                let _ = child.start_kill();
                child.wait().await
            }
        };
        let _ = tell.send(Some(words(status)));
    }
    group.end(patience).await;
}

/// Passes the child's stderr to the host's function, or to the log. Output on stderr is never an error by itself.
async fn listen(
    stderr: ChildStderr,
    words: Arc<Mutex<VecDeque<String>>>,
    heard: Option<crate::connect::StderrFn>,
) {
    let mut stderr = BufReader::new(stderr);
    let mut line = Vec::new();
    loop {
        line.clear();
        // A longer line arrives in pieces.
        match (&mut stderr).take(LONGEST_LINE).read_until(b'\n', &mut line).await {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        let line = String::from_utf8_lossy(&line).trim_end().to_owned();
        if let Some(heard) = &heard {
            heard.0(&line);
            continue;
        }
        tracing::debug!(line, "a server's stderr");
        if !line.is_empty() {
            let mut words = locked(&words);
            if words.len() == KEPT_LINES {
                words.pop_front();
            }
            words.push_back(line);
        }
    }
}
