//! The server as a child process: pinned to a core, measured from outside, stopped on every way out.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::LazyLock;
use std::thread;
use std::time::Duration;

use super::Outcome;
use crate::LISTENING;

/// The server has a core to itself, the load has another.
const SERVER_CORE: &str = "0";
const LOAD_CORE: &str = "1";

/// Ticks of `/proc` in a second: part of the kernel's interface, whatever its own clock does.
const USER_HZ: u64 = 100;

/// A server that runs.
pub(super) struct Server {
    pub(super) child: Child,
    /// Where it listens; 0 if it speaks over pipes.
    pub(super) port: u16,
}

/// Moves this process to its core. False if it cannot be moved: one core, or no `taskset`.
pub fn pin_load() -> bool {
    *CAN_PIN
        && Command::new("taskset")
            .args(["-cp", LOAD_CORE, &std::process::id().to_string()])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success())
}

/// Found out once, and not while anything is measured.
static CAN_PIN: LazyLock<bool> = LazyLock::new(|| {
    // Not `available_parallelism`, which is 1 for a process that has been moved to one core.
    let two_cores = fs::exists("/sys/devices/system/cpu/cpu1").unwrap_or(false);
    let taskset = || {
        let asked = Command::new("taskset").arg("--version").stdout(Stdio::null()).status();
        asked.is_ok_and(|status| status.success())
    };
    two_cores && taskset()
});

impl Server {
    /// Starts a server that speaks over pipes.
    pub(super) fn start_stdio(mode: &[String]) -> Outcome<Self> {
        let child = command(mode)?.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        Ok(Self { child, port: 0 })
    }

    /// Starts a server that speaks HTTP, and waits until it says where.
    pub(super) fn start_http(mode: &[String]) -> Outcome<Self> {
        let child = command(mode)?.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
        let mut server = Self { child, port: 0 };
        let mut line = String::new();
        let stdout = server.child.stdout.take().ok_or("no stdout")?;
        BufReader::new(stdout).read_line(&mut line)?;
        let port = line.trim_end().strip_prefix(LISTENING).and_then(|port| port.parse().ok());
        server.port = port.ok_or_else(|| format!("`{}` does not say where", mode.join(" ")))?;
        Ok(server)
    }

    /// Time that the server has been running on a core, in user and in kernel mode.
    pub(super) fn cpu(&self) -> Outcome<Duration> {
        cpu_of(&fs::read_to_string(format!("/proc/{}/stat", self.child.id()))?)
    }

    /// Memory that the server holds, in megabytes.
    pub(super) fn resident_mb(&self) -> Outcome<f64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kb: f64 = line
            .and_then(|line| line.split_ascii_whitespace().next())
            .ok_or("no VmRSS in /proc/PID/status")?
            .parse()?;
        Ok(kb / 1024.0)
    }
}

/// The same out of a process's `stat`.
pub(super) fn cpu_of(stat: &str) -> Outcome<Duration> {
    // The second field is a name in brackets, which may hold anything.
    let (_, rest) = stat.rsplit_once(')').ok_or("no name in /proc/PID/stat")?;
    let ticks = rest.split_ascii_whitespace().skip(11).take(2).map(str::parse::<u64>);
    let ticks = ticks.sum::<Result<u64, _>>()?;
    Ok(Duration::from_millis(ticks * 1000 / USER_HZ))
}

impl Drop for Server {
    fn drop(&mut self) {
        // Both only fail on a child that has ended already.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// Keeps the server's core from sleeping while it lives. Without it, time per call is mostly how long the machine takes to wake a
/// core, which depends on how much a server does after its answer: one that hops between threads is still awake when the next call
/// comes, one that is done sleeps.
pub(super) struct Awake(Option<Child>);

impl Awake {
    /// A loop that runs whenever nobody else wants the core, and at no other time. Without `taskset` and `chrt` there is none.
    pub(super) fn keep() -> Self {
        let pinned = ["--idle", "0", "taskset", "-c", SERVER_CORE];
        let mut chrt = Command::new("chrt");
        let lowly = chrt.args(pinned).args(["sh", "-c", "while :; do :; done"]);
        let quiet = lowly.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = CAN_PIN.then(|| quiet.spawn().ok()).flatten().and_then(|mut child| {
            thread::sleep(Duration::from_millis(50));
            // It has ended by now where it is not allowed.
            matches!(child.try_wait(), Ok(None)).then_some(child)
        });
        Self(child)
    }

    pub(super) fn is_kept(&self) -> bool {
        self.0.is_some()
    }
}

impl Drop for Awake {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            child.kill().ok();
            child.wait().ok();
        }
    }
}

/// The server's program stands beside this one. `taskset` becomes the server, so its process is the server's.
fn command(mode: &[String]) -> Outcome<Command> {
    let name = format!("bench-server{}", std::env::consts::EXE_SUFFIX);
    let program = std::env::current_exe()?.with_file_name(name);
    let mut command = if *CAN_PIN {
        let mut taskset = Command::new("taskset");
        taskset.args(["-c", SERVER_CORE]).arg(program);
        taskset
    } else {
        Command::new(program)
    };
    command.args(mode);
    Ok(command)
}
