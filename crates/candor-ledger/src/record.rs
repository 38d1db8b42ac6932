//! The record of one operation: its data, its states, and the reasons for them.

use std::sync::Arc;

use crate::audit::CallError;
use crate::id::{Binding, Fence, Fingerprint, Moment, Owner};
use crate::outcome::StoredResult;

/// One operation, as stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// The digest of the arguments that belong to the key.
    pub fingerprint: Fingerprint,
    /// The fence of the last claim, resume, or approval request.
    pub fence: Fence,
    /// The number of attempts so far.
    pub attempt: u32,
    /// Whether the call of the last claim or request is safe to retry *by its effect*, and not merely because of its key.
    pub idempotent: bool,
    /// When the key was first seen.
    pub created: Moment,
    /// When the record was last written. Time never goes back within a record, even if the clock does. A clock that is set
    /// back cannot revive a lease or purge a key early.
    pub touched: Moment,
    /// The error of the last attempt, if it failed. The next start clears it.
    pub error: Option<CallError>,
    /// The arguments for operators, if they are stored. They are removed together with the result.
    pub arguments: Option<Arc<[u8]>>,
    /// The state of the operation.
    pub state: RecordState,
}

/// The state of an operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RecordState {
    /// No owner holds the record, and a call may claim it. The row stays because its fence must never decrease.
    Open {
        /// Why the call may start.
        license: StartReason,
        /// When the state ends. A record that never started is then removed; any other becomes a tombstone.
        until: Moment,
    },
    /// An approval request is pending. It has started nothing.
    Waiting {
        /// What the reviewer sees. It is stored in full, because a reviewer cannot decide on a part of it.
        asked: Arc<[u8]>,
        /// What else an approval is bound to.
        binding: Binding,
        /// When the request was made.
        since: Moment,
        /// When the request expires.
        until: Moment,
        /// Why the call may start if a reviewer approves it.
        license: StartReason,
    },
    /// A reviewer approved one start. The start that uses the approval leaves this state, and nothing returns to it.
    Approved {
        /// The reviewer.
        by: String,
        /// The approval channel.
        via: ApprovalChannel,
        /// What else the approval is bound to.
        binding: Binding,
        /// When the reviewer approved.
        since: Moment,
        /// When the approval expires.
        until: Moment,
        /// Why the call may start, besides the approval.
        license: StartReason,
    },
    /// A reviewer denied the call. The state outlives the denial, so that history shows it. After `until` the call may ask
    /// again.
    Denied {
        /// The reviewer.
        by: String,
        /// The approval channel.
        via: ApprovalChannel,
        /// The reviewer's reason, if given.
        reason: Option<String>,
        /// What else the request was bound to.
        binding: Binding,
        /// When the reviewer denied.
        since: Moment,
        /// When the denial stops refusing the call.
        until: Moment,
        /// When time alone changes the record.
        keep_until: Moment,
        /// Why the call may start after `until`. A denial does not make an unknown outcome known.
        license: StartReason,
    },
    /// An owner prepares to start the call. The handler has not started.
    Claimed {
        /// The owner.
        owner: Owner,
        /// When the lease ends. Until then, the owner counts as alive.
        lease: Moment,
        /// Why the call may start.
        license: StartReason,
    },
    /// The handler has started. Only its owner or an operator can record the outcome.
    Dispatched {
        /// The owner.
        owner: Owner,
        /// When the lease ends. Until then, the owner counts as alive.
        lease: Moment,
        /// When the call started.
        started: Moment,
        /// The number of input requests that were answered.
        round: Round,
    },
    /// The call asked the client for input and waits for the answer. No owner holds the record.
    Suspended {
        /// The number of the input request.
        round: Round,
        /// The input request. A caller that lost it receives the same one again, not a new one.
        asked: StoredResult,
        /// When the call started.
        started: Moment,
        /// When the wait for an answer ends.
        until: Moment,
    },
    /// The call ended.
    Completed {
        /// The result.
        outcome: StoredResult,
        /// When the result was recorded.
        completed: Moment,
        /// When the result is removed.
        keep_until: Moment,
        /// The operator that recorded the result, if the call itself did not.
        resolved_by: Option<String>,
    },
    /// The call started, and no result is recorded. Time alone never ends this state. It ends if the owner reports the
    /// outcome, an operator resolves it, or a call that is safe to retry starts again.
    Indeterminate {
        /// Why the outcome is unknown.
        reason: UnknownReason,
        /// When the outcome became unknown.
        since: Moment,
        /// The owner that can still report the outcome. `None` if the call was lost while it waited for input, or if a later
        /// claim or approval request went unused.
        owner: Option<Owner>,
    },
    /// The call ended, and its result is no longer stored. The key cannot start it again.
    Tombstone {
        /// When the key is purged.
        until: Moment,
    },
    /// An operator closed the operation without knowing its outcome.
    Abandoned {
        /// The operator.
        by: String,
        /// When the key is purged.
        until: Moment,
    },
}

/// Where a decision came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ApprovalChannel {
    /// An operator, on a channel that no caller has.
    Operator,
    /// The caller's own client. The decision is only as trustworthy as that client.
    Client,
}

impl ApprovalChannel {
    /// Returns the word in the store and in history.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Operator => "operator",
            Self::Client => "client",
        }
    }

    /// Parses a word of [`Self::as_str`].
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        [Self::Operator, Self::Client].into_iter().find(|via| via.as_str() == word)
    }
}

/// An approval request, as the reviewer saw it. A decision names all fields, so it applies only to what the reviewer saw. The
/// fence alone is not enough: fences start over when a record is purged, and a page may stay open for days.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RequestVersion {
    /// The fence of the request within its record.
    pub fence: Fence,
    /// The digest of the arguments.
    pub fingerprint: Fingerprint,
    /// What else an approval is bound to.
    pub binding: Binding,
}

impl Record {
    /// Returns the number of bytes that count against the principal's quota: of a result or a request, and of arguments.
    #[must_use]
    pub fn kept(&self) -> u64 {
        let arguments = self.arguments.as_ref().map_or(0, |arguments| arguments.len() as u64);
        self.state.kept() + arguments
    }

    /// Returns the approval request that is pending, approved or denied, if there is one.
    #[must_use]
    pub const fn question(&self) -> Option<RequestVersion> {
        match self.state {
            RecordState::Waiting { binding, .. }
            | RecordState::Approved { binding, .. }
            | RecordState::Denied { binding, .. } => {
                Some(RequestVersion { fence: self.fence, fingerprint: self.fingerprint, binding })
            }
            _ => None,
        }
    }
}

/// The number of an input request within one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Round(pub u32);

/// Why an operation may start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StartReason {
    /// It never started.
    First,
    /// It started, but the call itself reported that nothing had happened.
    NothingHappened,
    /// It started, and its call is safe to retry. Valid only for a claim that is also safe to retry.
    Idempotent {
        /// Why the outcome stays unknown if the call is not started again.
        reason: UnknownReason,
        /// When the outcome became unknown.
        since: Moment,
    },
    /// It started, and an operator found that it did not run.
    Operator {
        /// The operator.
        by: String,
        /// The owner that started it. If that owner reports an outcome before another claim, the outcome is recorded.
        started_by: Option<Owner>,
    },
}

/// Why an outcome is unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum UnknownReason {
    /// The owner did not renew its lease in time: it died, or it is very slow.
    LeaseEnded,
    /// The handler panicked.
    Panicked,
    /// The server shut down while the handler ran.
    Stopped,
    /// The call asked for input, and no answer came in time.
    NotResumed,
    /// The call ran on something that was lost: a connection or a child process.
    Lost,
    /// The call failed, and its result was not stored because the call is safe to retry.
    Failed,
}

impl UnknownReason {
    const ALL: [Self; 6] = [
        Self::LeaseEnded,
        Self::Panicked,
        Self::Stopped,
        Self::NotResumed,
        Self::Lost,
        Self::Failed,
    ];

    /// Returns the word in the store and in history.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::LeaseEnded => "lease_ended",
            Self::Panicked => "panicked",
            Self::Stopped => "stopped",
            Self::NotResumed => "not_resumed",
            Self::Lost => "lost",
            Self::Failed => "failed",
        }
    }

    /// Parses a word of [`Self::as_str`].
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|reason| reason.as_str() == word)
    }
}

/// The name of a state, or of the absence of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum StateKind {
    /// There is no record.
    Absent,
    /// See [`RecordState::Open`].
    Open,
    /// See [`RecordState::Waiting`].
    Waiting,
    /// See [`RecordState::Approved`].
    Approved,
    /// See [`RecordState::Denied`].
    Denied,
    /// See [`RecordState::Claimed`].
    Claimed,
    /// See [`RecordState::Dispatched`].
    Dispatched,
    /// See [`RecordState::Suspended`].
    Suspended,
    /// See [`RecordState::Completed`].
    Completed,
    /// See [`RecordState::Indeterminate`].
    Indeterminate,
    /// See [`RecordState::Tombstone`].
    Tombstone,
    /// See [`RecordState::Abandoned`].
    Abandoned,
}

impl StateKind {
    /// All kinds.
    pub const ALL: [Self; 12] = [
        Self::Absent,
        Self::Open,
        Self::Waiting,
        Self::Approved,
        Self::Denied,
        Self::Claimed,
        Self::Dispatched,
        Self::Suspended,
        Self::Completed,
        Self::Indeterminate,
        Self::Tombstone,
        Self::Abandoned,
    ];

    /// Returns the word in the store and in history.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Absent => "absent",
            Self::Open => "open",
            Self::Waiting => "waiting",
            Self::Approved => "approved",
            Self::Denied => "denied",
            Self::Claimed => "claimed",
            Self::Dispatched => "dispatched",
            Self::Suspended => "suspended",
            Self::Completed => "completed",
            Self::Indeterminate => "indeterminate",
            Self::Tombstone => "tombstone",
            Self::Abandoned => "abandoned",
        }
    }

    /// Parses a word of [`Self::as_str`].
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == word)
    }

    /// Returns the states in which a record may be stored if it is now in this one, because time alone changes states without
    /// a write. A store that selects records by their current state reads all of these, and then asks
    /// [`Filter::has_entry`](crate::Filter::has_entry).
    #[must_use]
    pub fn stored_as(self) -> Vec<Self> {
        // A claim, request, approval or denial that went unused restores the state before it.
        let goes_back = |written| {
            matches!(written, Self::Claimed | Self::Waiting | Self::Approved | Self::Denied)
        };
        Self::ALL
            .into_iter()
            .filter(|written| {
                *written == self
                    || match self {
                        // Given enough time, most states lapse into these.
                        Self::Absent | Self::Tombstone => true,
                        Self::Open => goes_back(*written),
                        Self::Indeterminate => {
                            matches!(written, Self::Dispatched | Self::Suspended)
                                || goes_back(*written)
                        }
                        _ => false,
                    }
            })
            .collect()
    }
}

impl RecordState {
    /// Returns the name of the state.
    #[must_use]
    pub const fn kind(&self) -> StateKind {
        match self {
            Self::Open { .. } => StateKind::Open,
            Self::Waiting { .. } => StateKind::Waiting,
            Self::Approved { .. } => StateKind::Approved,
            Self::Denied { .. } => StateKind::Denied,
            Self::Claimed { .. } => StateKind::Claimed,
            Self::Dispatched { .. } => StateKind::Dispatched,
            Self::Suspended { .. } => StateKind::Suspended,
            Self::Completed { .. } => StateKind::Completed,
            Self::Indeterminate { .. } => StateKind::Indeterminate,
            Self::Tombstone { .. } => StateKind::Tombstone,
            Self::Abandoned { .. } => StateKind::Abandoned,
        }
    }

    /// Returns when time alone changes the state, if ever.
    #[must_use]
    pub const fn lapses(&self) -> Option<Moment> {
        match self {
            Self::Claimed { lease, .. } | Self::Dispatched { lease, .. } => Some(*lease),
            Self::Open { until, .. }
            | Self::Waiting { until, .. }
            | Self::Approved { until, .. }
            | Self::Denied { keep_until: until, .. }
            | Self::Suspended { until, .. }
            | Self::Tombstone { until }
            | Self::Abandoned { until, .. } => Some(*until),
            Self::Completed { keep_until, .. } => Some(*keep_until),
            Self::Indeterminate { .. } => None,
        }
    }

    /// Returns the number of stored bytes of a result or a request.
    #[must_use]
    pub fn kept(&self) -> u64 {
        match self {
            Self::Completed { outcome, .. } => outcome.kept(),
            Self::Suspended { asked, .. } => asked.kept(),
            Self::Waiting { asked, .. } => asked.len() as u64,
            _ => 0,
        }
    }
}
