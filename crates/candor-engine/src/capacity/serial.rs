//! Serial groups: the writes of one group run one at a time, in the order in which this process received them.
//!
//! A transport takes a [`SerialPosition`] when it reads a message, because from then on requests are prepared side by side. A ready
//! call waits for the ready calls of its group that arrived earlier. It also waits for earlier messages that are still being
//! prepared and may belong to its group. It does not wait for calls that wait for a reviewer or for another attempt. These give
//! their position up, and start as soon as they are ready and the group is free.

use std::collections::{BTreeMap, HashMap};
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

/// How long a request whose body is not here yet holds the calls that arrived after it. A peer that sends slowly, or never,
/// must not stop the others.
const READING: Duration = Duration::from_millis(250);

/// How long a message that is being prepared holds the calls that arrived after it: tool sources, evaluators and ledgers may
/// take much longer.
const PREPARING: Duration = Duration::from_secs(30);

/// The serial groups of one server. Cloning shares them.
#[derive(Debug, Clone, Default)]
pub(crate) struct SerialGroups(Arc<Mutex<Groups>>);

#[derive(Debug, Default)]
struct Groups {
    next: u64,
    /// Messages that are not ready, by arrival.
    preparing: BTreeMap<u64, Preparing>,
    /// Groups in which a call runs or waits.
    active: HashMap<String, Group>,
}

#[derive(Debug)]
struct Preparing {
    /// `None`: not known yet, so it may be any.
    group: Option<String>,
    /// Until when it holds later calls.
    until: Instant,
}

#[derive(Debug, Default)]
struct Group {
    running: bool,
    /// Calls that are ready, by arrival.
    waiting: BTreeMap<u64, Arc<Notify>>,
}

/// When one message arrived, compared to all others. It holds later calls until it is released, used or dropped.
#[derive(Debug)]
pub struct SerialPosition {
    groups: SerialGroups,
    number: u64,
}

/// The right to run as the only call of a group, until dropped.
#[derive(Debug)]
pub(crate) struct SerialTurn {
    groups: SerialGroups,
    group: String,
}

/// Earlier calls of the group took too long.
#[derive(Debug)]
pub(crate) struct TooLate;

/// What a ready call has to do now.
enum QueueStep {
    Start,
    /// At most until this time; without a time, until it is notified.
    Wait(Option<Instant>),
}

impl SerialGroups {
    /// Returns the position of a message that arrives now and is not read yet.
    pub(crate) fn arrive(&self) -> SerialPosition {
        let mut groups = self.lock();
        let number = groups.next;
        groups.next += 1;
        let preparing = Preparing { group: None, until: Instant::now() + READING };
        groups.preparing.insert(number, preparing);
        SerialPosition { groups: self.clone(), number }
    }

    fn lock(&self) -> MutexGuard<'_, Groups> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SerialPosition {
    /// Keeps the position of a call that has been read: it holds the later calls of this group; with `None`, of all groups.
    pub(crate) fn keep(self, group: Option<String>) -> Self {
        self.hold(group);
        self
    }

    /// Holds only the later calls of this group from here on, or none if the call belongs to no group.
    pub(crate) fn narrow(&self, group: Option<&str>) {
        match group {
            None => self.release(),
            Some(group) => self.hold(Some(group.to_owned())),
        }
    }

    /// Holds later calls for as long as a message is prepared: its body is here, and its tool is not known yet.
    pub fn hold_while_preparing(&self) {
        self.hold(None);
    }

    fn hold(&self, group: Option<String>) {
        let mut groups = self.groups.lock();
        let Some(preparing) = groups.preparing.get_mut(&self.number) else { return };
        let narrowed = preparing.group != group;
        *preparing = Preparing { group, until: Instant::now() + PREPARING };
        if narrowed {
            groups.wake(None);
        }
    }

    /// Stops holding later calls.
    pub fn release(&self) {
        let mut groups = self.groups.lock();
        if let Some(released) = groups.preparing.remove(&self.number) {
            groups.wake(released.group.as_deref());
        }
    }

    /// Waits until no call of the group runs and no earlier one is ahead. A caller that disconnects leaves the queue.
    ///
    /// # Errors
    /// `late` ended first.
    pub(crate) async fn turn(
        &self,
        group: &str,
        late: impl Future<Output = ()>,
    ) -> Result<SerialTurn, TooLate> {
        let mut late = pin!(late);
        let woken = Arc::new(Notify::new());
        {
            let mut groups = self.groups.lock();
            let waiting = &mut groups.active.entry(group.to_owned()).or_default().waiting;
            waiting.insert(self.number, Arc::clone(&woken));
            groups.preparing.remove(&self.number);
        }
        let waiting = QueuedCall { position: self, group };
        loop {
            let until = match self.groups.lock().step(group, self.number) {
                QueueStep::Start => break,
                QueueStep::Wait(until) => until,
            };
            let held = async {
                match until {
                    Some(until) => tokio::time::sleep_until(until).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                () = woken.notified() => {}
                () = held => {}
                () = &mut late => return Err(TooLate),
            }
        }
        let turn = SerialTurn { groups: self.groups.clone(), group: group.to_owned() };
        drop(waiting);
        Ok(turn)
    }
}

impl Drop for SerialPosition {
    fn drop(&mut self) {
        self.release();
    }
}

/// A ready call in the queue of its group.
struct QueuedCall<'a> {
    position: &'a SerialPosition,
    group: &'a str,
}

impl Drop for QueuedCall<'_> {
    fn drop(&mut self) {
        let mut groups = self.position.groups.lock();
        let Some(group) = groups.active.get_mut(self.group) else { return };
        // A call that has its turn is no longer in the queue.
        if group.waiting.remove(&self.position.number).is_some() {
            groups.wake(Some(self.group));
        }
    }
}

impl Drop for SerialTurn {
    fn drop(&mut self) {
        let mut groups = self.groups.lock();
        if let Some(group) = groups.active.get_mut(&self.group) {
            group.running = false;
        }
        groups.wake(Some(&self.group));
    }
}

impl Groups {
    /// Starts a ready call if it is first, or returns how long it has to wait.
    fn step(&mut self, name: &str, number: u64) -> QueueStep {
        let Some(group) = self.active.get_mut(name) else { return QueueStep::Wait(None) };
        let first = group.waiting.keys().next() == Some(&number);
        if group.running || !first {
            return QueueStep::Wait(None);
        }
        let now = Instant::now();
        let earlier = self.preparing.range(..number).map(|(_, preparing)| preparing);
        let holding = earlier.filter(|preparing| preparing.may_join(name) && preparing.until > now);
        if let Some(until) = holding.map(|preparing| preparing.until).max() {
            return QueueStep::Wait(Some(until));
        }
        group.waiting.remove(&number);
        group.running = true;
        QueueStep::Start
    }

    /// Wakes the first call of a group, or of all groups, and removes groups without calls.
    fn wake(&mut self, name: Option<&str>) {
        let Some(name) = name else {
            for group in self.active.values() {
                group.wake();
            }
            return;
        };
        let Some(group) = self.active.get(name) else { return };
        group.wake();
        if !group.running && group.waiting.is_empty() {
            self.active.remove(name);
        }
    }
}

impl Preparing {
    fn may_join(&self, group: &str) -> bool {
        self.group.as_deref().is_none_or(|own| own == group)
    }
}

impl Group {
    fn wake(&self) {
        if let (false, Some(first)) = (self.running, self.waiting.values().next()) {
            first.notify_one();
        }
    }
}
