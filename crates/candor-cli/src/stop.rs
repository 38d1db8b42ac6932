//! Signals that stop a command: Ctrl-C, Ctrl-\\, SIGTERM, SIGHUP. Every way out ends the programs that the command has started.

use std::process;
use std::sync::LazyLock;
use std::time::Duration;

use tokio::sync::watch;

use crate::exit::INTERRUPTED;
use crate::terminal;

/// How long a command may take to end after a signal. A command that notices the signal ends sooner.
const GRACE: Duration = Duration::from_secs(8);

/// The exit code of the signal that came.
static CODE: LazyLock<watch::Sender<Option<u8>>> = LazyLock::new(watch::Sender::default);

/// Starts to listen for signals. A command notices a signal wherever it awaits something. If it is busy with a server's data or
/// blocked by a full pipe, the process exits after [`GRACE`], or at the second signal.
pub(crate) fn listen() {
    let Ok(mut signals) = Signals::new() else { return };
    tokio::spawn(async move {
        let code = signals.next().await;
        CODE.send_replace(Some(code));
        let again = tokio::time::timeout(GRACE, signals.next()).await;
        candor_client::kill_programs();
        terminal::show_typing();
        process::exit(again.unwrap_or(code).into());
    });
}

/// Waits for a signal.
pub(crate) async fn asked() {
    let _ = CODE.subscribe().wait_for(Option::is_some).await;
}

/// Returns the exit code of the signal that stopped the command.
pub(crate) fn code() -> u8 {
    CODE.borrow().unwrap_or(INTERRUPTED)
}

#[cfg(unix)]
struct Signals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
    quit: tokio::signal::unix::Signal,
    hangup: Option<tokio::signal::unix::Signal>,
}

#[cfg(unix)]
impl Signals {
    fn new() -> std::io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            quit: signal(SignalKind::quit())?,
            hangup: (!ignores_hangup()).then(|| signal(SignalKind::hangup())).transpose()?,
        })
    }

    /// Waits for the next signal and returns its exit code, as shells report it.
    async fn next(&mut self) -> u8 {
        let hangup = async {
            match &mut self.hangup {
                Some(hangup) => hangup.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = self.interrupt.recv() => INTERRUPTED,
            _ = self.terminate.recv() => 128 + 15,
            _ = self.quit.recv() => 128 + 3,
            _ = hangup => 128 + 1,
        }
    }
}

/// Returns true if the process was started to outlive its terminal, as `nohup` does. A signal handler would undo that.
#[cfg(unix)]
pub(crate) fn ignores_hangup() -> bool {
    const HANGUP: u64 = 1; // bit 0 is signal 1
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|bits| u64::from_str_radix(bits.trim(), 16).ok());
    cfg!(target_os = "linux") && ignored.is_none_or(|bits| bits & HANGUP != 0)
}

#[cfg(not(unix))]
struct Signals;

#[cfg(not(unix))]
impl Signals {
    fn new() -> std::io::Result<Self> {
        Ok(Self)
    }

    async fn next(&mut self) -> u8 {
        let _ = tokio::signal::ctrl_c().await;
        INTERRUPTED
    }
}
