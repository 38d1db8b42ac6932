//! The process groups of programs that were started: none is left behind, however this process ends.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::time::Duration;

use tokio::time::Instant;

use crate::members::locked;

/// Every group that may still have members.
static GROUPS: Mutex<BTreeSet<i32>> = Mutex::new(BTreeSet::new());

/// How often is looked whether a group has ended.
const LOOKS: Duration = Duration::from_millis(10);

/// How long a killed process may take to go.
const KILLED: Duration = Duration::from_millis(500);

/// How long programs have to end if this process is about to.
const GRACE: Duration = Duration::from_secs(1);

/// Ends every program that this process has started as a server, with all processes of its group: tells them to, and kills what is left
/// a second later. For a process that is about to end: clients that are still open lose their servers.
///
/// [`Client::close`](crate::Client::close) ends one server, and leaves it more time.
pub async fn end_programs() {
    let groups = locked(&GROUPS).clone();
    groups.iter().for_each(|group| send(*group, Signal::End));
    if !wait(&groups, GRACE).await {
        kill_programs();
        wait(&groups, KILLED).await;
    }
}

/// Kills every program that this process has started as a server, with all processes of its group. For a process that ends at once, and
/// for where nothing can be awaited.
pub fn kill_programs() {
    locked(&GROUPS).iter().for_each(|group| send(*group, Signal::Kill));
}

/// Returns true once nothing of the groups is left.
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

/// A program, and all that it has started in its group. What is left of it when this is dropped is killed.
#[derive(Debug)]
pub(crate) struct Group(Option<i32>);

impl Group {
    /// The group that a child leads.
    pub(crate) fn of(child: &tokio::process::Child) -> Self {
        let group = child.id().and_then(|id| i32::try_from(id).ok()).filter(|_| cfg!(unix));
        locked(&GROUPS).extend(group);
        Self(group)
    }

    /// Returns true if nothing of it is left. From then on its number may be another's, and is not used any more.
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

    /// Ends what is left once the program itself has ended.
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

/// There are no groups here; the program itself is killed when its handle is dropped.
#[cfg(not(unix))]
fn send(_: i32, _: Signal) {}

#[cfg(not(unix))]
fn exists(_: i32) -> bool {
    false
}
