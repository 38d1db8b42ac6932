//! The process groups of the started programs, so that this process can end all of them before it ends itself.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::time::Duration;

use tokio::time::Instant;

use crate::members::locked;

/// All groups that may still have processes.
static GROUPS: Mutex<BTreeSet<i32>> = Mutex::new(BTreeSet::new());

/// How often the client checks whether a group has ended.
const LOOKS: Duration = Duration::from_millis(10);

/// How long a killed process may take to exit.
const KILLED: Duration = Duration::from_millis(500);

/// How long programs have to exit if this process is about to end.
const GRACE: Duration = Duration::from_secs(1);

/// Ends every program that this process has started as a server, with its process group. Asks them to exit, and kills the rest a
/// second later. Use it when this process is about to end: open clients lose their servers.
///
/// [`Client::close`](crate::Client::close) ends one server, and gives it more time.
pub async fn end_programs() {
    let groups = locked(&GROUPS).clone();
    groups.iter().for_each(|group| send(*group, Signal::End));
    if !wait(&groups, GRACE).await {
        kill_programs();
        wait(&groups, KILLED).await;
    }
}

/// Kills every program that this process has started as a server, with its process group. Use it if this process ends at once or
/// cannot await.
pub fn kill_programs() {
    locked(&GROUPS).iter().for_each(|group| send(*group, Signal::Kill));
}

/// Returns true as soon as no process of the groups is left, or false after `time`.
async fn wait(groups: &BTreeSet<i32>, time: Duration) -> bool {
    let until = Instant::now() + time;
    loop {
        if !groups.iter().any(|group| exists(*group)) {
            return true;
        }
        if Instant::now() >= until {
            return false;
        }
        tokio::time::sleep(LOOKS).await;
    }
}

/// A program and its process group. Drop kills what is left of it.
#[derive(Debug)]
pub(crate) struct Group(Option<i32>);

impl Group {
    /// Registers the group that a child leads.
    pub(crate) fn of(child: &tokio::process::Child) -> Self {
        let group = child.id().and_then(|id| i32::try_from(id).ok()).filter(|_| cfg!(unix));
        locked(&GROUPS).extend(group);
        Self(group)
    }

    /// Returns true if no process of the group is left. Another group may then get its number, so this group never uses it again.
    pub(crate) fn is_gone(&mut self) -> bool {
        if let Some(group) = self.0.filter(|group| !exists(*group)) {
            locked(&GROUPS).remove(&group);
            self.0 = None;
        }
        self.0.is_none()
    }

    pub(crate) fn tell_to_end(&self) {
        self.0.into_iter().for_each(|group| send(group, Signal::End));
    }

    pub(crate) fn kill(&self) {
        self.0.into_iter().for_each(|group| send(group, Signal::Kill));
    }

    /// Ends the rest of the group after the program itself has exited.
    pub(crate) async fn end(mut self, patience: Duration) {
        if self.is_gone() {
            return;
        }
        self.tell_to_end();
        let groups = self.0.into_iter().collect();
        if !wait(&groups, patience).await {
            self.kill();
            wait(&groups, KILLED).await;
        }
        self.is_gone();
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
        if let Some(group) = self.0 {
            locked(&GROUPS).remove(&group);
        }
    }
}

#[derive(Clone, Copy)]
enum Signal {
    End,
    Kill,
}

#[cfg(unix)]
fn send(group: i32, signal: Signal) {
    use rustix::process::{Pid, Signal as S, kill_process_group};
    let signal = match signal {
        Signal::End => S::TERM,
        Signal::Kill => S::KILL,
    };
    if let Some(pid) = Pid::from_raw(group) {
        let _ = kill_process_group(pid, signal);
    }
}

#[cfg(unix)]
fn exists(group: i32) -> bool {
    use rustix::process::{Pid, test_kill_process_group};
    Pid::from_raw(group).is_some_and(|pid| test_kill_process_group(pid).is_ok())
}

/// This platform has no groups. The program itself is killed when its handle is dropped.
#[cfg(not(unix))]
fn send(_: i32, _: Signal) {}

#[cfg(not(unix))]
fn exists(_: i32) -> bool {
    false
}
