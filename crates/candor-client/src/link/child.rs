//! A server that is our own child process: started, listened to, and not left behind.

use std::collections::VecDeque;
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader};
use tokio::process::{ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::sync::watch;

use crate::connect::Program;
use crate::error::Error;
use crate::members::locked;

/// How long a child has to take what was sent, to go by itself once its input has ended, and again after it was told to.
pub(crate) const PATIENCE: Duration = Duration::from_secs(2);

/// Lines of stderr that are kept to explain an end.
const KEPT_LINES: usize = 20;

/// The longest line of stderr.
const LONGEST_LINE: u64 = 4096;

/// A running child. When it is dropped the child's input ends, and a task sees to it that the child does too.
#[derive(Debug)]
pub(crate) struct Child {
    ended: watch::Receiver<Option<String>>,
    closing: watch::Sender<bool>,
    words: Arc<Mutex<VecDeque<String>>>,
}

/// What a child said before it ended, and how it ended.
#[derive(Debug, Clone)]
pub(crate) struct LastWords {
    ended: watch::Receiver<Option<String>>,
    words: Arc<Mutex<VecDeque<String>>>,
}

pub(crate) fn start(program: &Program) -> Result<(Child, ChildStdout, ChildStdin), Error> {
    let mut command = Command::new(&program.program);
    command
        .args(&program.args)
        .envs(program.env.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        // If there is no time for anything else.
        .kill_on_drop(true);
    for name in &program.unset {
        command.env_remove(name);
    }
    if let Some(folder) = &program.folder {
        command.current_dir(folder);
    }
    // A group of its own: Ctrl-C at our terminal is for us to handle, and its children end with it.
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
    let (Some(stdin), Some(stdout), Some(stderr)) =
        (child.stdin.take(), child.stdout.take(), child.stderr.take())
    else {
        let why = "its pipes could not be opened".to_owned();
        return Err(Error::Unreachable { target: program.to_string(), why });
    };
    let words = Arc::new(Mutex::new(VecDeque::new()));
    let (tell_end, ended) = watch::channel(None);
    let (closing, told_to_close) = watch::channel(false);
    tokio::spawn(listen(stderr, words.clone(), program.stderr.clone()));
    tokio::spawn(keep(child, told_to_close, tell_end));
    Ok((Child { ended, closing, words }, stdout, stdin))
}

impl Child {
    pub(crate) fn last_words(&self) -> LastWords {
        LastWords { ended: self.ended.clone(), words: self.words.clone() }
    }

    /// Waits until it has ended; its input has been closed.
    pub(crate) async fn ended(&self) {
        let _ = self.closing.send(true);
        let _ = self.ended.clone().wait_for(Option::is_some).await;
    }
}

impl LastWords {
    /// Puts together what is known of an end.
    pub(crate) async fn after(&self, why: &str) -> String {
        // The status follows the end of the pipe at once, if the child is what has ended.
        let mut ended = self.ended.clone();
        let wait = ended.wait_for(Option::is_some);
        let end = tokio::time::timeout(Duration::from_millis(500), wait).await;
        let mut told = match end {
            Ok(Ok(status)) => status.clone().unwrap_or_default(),
            _ => why.to_owned(),
        };
        let words = locked(&self.words);
        if !words.is_empty() {
            told.push_str("; it said: ");
            told.push_str(&words.iter().map(String::as_str).collect::<Vec<_>>().join(" / "));
        }
        told
    }
}

/// Sees to it that the child ends: by itself, or told to, or killed.
async fn keep(
    mut child: tokio::process::Child,
    mut closing: watch::Receiver<bool>,
    tell: watch::Sender<Option<String>>,
) {
    let status = tokio::select! {
        status = child.wait() => Some(status),
        // Asked to, or nobody is there any more.
        _ = closing.wait_for(|closing| *closing) => None,
    };
    let status = match status {
        Some(status) => status,
        None => match tokio::time::timeout(PATIENCE, child.wait()).await {
            Ok(status) => status,
            Err(_) => {
                signal(&child, Signal::End);
                match tokio::time::timeout(PATIENCE, child.wait()).await {
                    Ok(status) => status,
                    Err(_) => {
                        signal(&child, Signal::Kill);
                        let _ = child.start_kill();
                        child.wait().await
                    }
                }
            }
        },
    };
    let told = match status {
        Ok(status) => format!("the program ended with {status}"),
        Err(error) => format!("the program is gone: {error}"),
    };
    let _ = tell.send(Some(told));
}

#[derive(Clone, Copy)]
enum Signal {
    End,
    Kill,
}

#[cfg(unix)]
fn signal(child: &tokio::process::Child, signal: Signal) {
    use rustix::process::{Pid, Signal as S, kill_process_group};
    let pid = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
    if let Some(pid) = pid {
        let signal = match signal {
            Signal::End => S::TERM,
            Signal::Kill => S::KILL,
        };
        let _ = kill_process_group(pid, signal);
    }
}

/// There is no gentle way here; what follows kills it.
#[cfg(not(unix))]
fn signal(_: &tokio::process::Child, _: Signal) {}

/// What a child says on stderr is for whoever looks for it, and never an error by itself.
async fn listen(
    stderr: ChildStderr,
    words: Arc<Mutex<VecDeque<String>>>,
    heard: Option<crate::connect::StderrFn>,
) {
    let mut stderr = BufReader::new(stderr);
    let mut line = Vec::new();
    loop {
        line.clear();
        // What is longer is told in pieces.
        match (&mut stderr).take(LONGEST_LINE).read_until(b'\n', &mut line).await {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        let line = String::from_utf8_lossy(&line).trim_end().to_owned();
        match &heard {
            Some(heard) => heard.0(&line),
            None => tracing::debug!(line, "a server's stderr"),
        }
        if !line.is_empty() {
            let mut words = locked(&words);
            if words.len() == KEPT_LINES {
                words.pop_front();
            }
            words.push_back(line);
        }
    }
}
