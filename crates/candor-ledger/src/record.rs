//! The record of one operation: what is known of it, and who may change it.

use std::sync::Arc;

use crate::audit::CallError;
use crate::id::{Binding, Fence, Fingerprint, Moment, Owner};
use crate::outcome::StoredResult;

/// All that the ledger knows of one operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// The arguments that the key stands for.
    pub fingerprint: Fingerprint,
    /// The number of the last claim.
    pub fence: Fence,
    /// How often the call was started.
    pub attempt: u32,
    /// Whether the last claim was of a call that may be repeated without harm *by its nature*, not merely by its key.
    pub by_nature: bool,
    /// When the key was first seen.
    pub created: Moment,
    /// When it was last written. For this record it is never earlier than that, whatever the clock says: a clock that is set
    /// back cannot revive a lease, nor forget a key before its time.
    pub touched: Moment,
    /// The error of the last attempt, if that failed. The next start clears it.
    pub error: Option<CallError>,
    /// The arguments, as operators may see them, if they are stored. They go with the result.
    pub arguments: Option<Arc<[u8]>>,
    /// Where the operation stands.
    pub state: RecordState,
}

/// Where an operation stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RecordState {
    /// Nobody holds it, and it may be claimed. The row stays for a while because its fence must not go back.
    Open {
        /// Why it may be started.
        license: StartReason,
        /// The row is not needed after this.
        until: Moment,
    },
    /// A person is asked whether it may be started. Nothing has happened yet.
    Waiting {
        /// What the person is shown: all of it, or there would be nothing to decide on.
        asked: Arc<[u8]>,
        /// What else an approval is bound to.
        binding: Binding,
        /// Since when.
        since: Moment,
        /// How long a decision is waited for.
        until: Moment,
        /// Why it may be started, if they approve.
        license: StartReason,
    },
    /// A person has said yes, once: the start that uses it leaves this state, and nothing comes back to it.
    Approved {
        /// Who.
        by: String,
        /// On which way.
        via: ApprovalChannel,
        /// What else it is bound to.
        binding: Binding,
        /// When.
        since: Moment,
        /// How long it may be used.
        until: Moment,
        /// Why it may be started, beside that.
        license: StartReason,
    },
    /// A person has said no. The state outlives the denial, so that history shows it; after `until` the call may ask again.
    Denied {
        /// Who.
        by: String,
        /// On which way.
        via: ApprovalChannel,
        /// Why, if they said so.
        reason: Option<String>,
        /// What else they were asked for.
        binding: Binding,
        /// When.
        since: Moment,
        /// How long it refuses the call.
        until: Moment,
        /// When time alone changes the record.
        keep_until: Moment,
        /// Why it may be started after `until`. A denial does not make an unknown outcome known.
        license: StartReason,
    },
    /// Somebody prepares to start it. Nothing has happened yet.
    Claimed {
        /// Who.
        owner: Owner,
        /// Until when they are believed to live.
        lease: Moment,
        /// Why it may be started.
        license: StartReason,
    },
    /// It was started. From here on, only its owner or an operator can say what came of it.
    Dispatched {
        /// By whom.
        owner: Owner,
        /// Until when they are believed to live.
        lease: Moment,
        /// When.
        started: Moment,
        /// How often it has asked and was answered.
        round: Round,
    },
    /// It has asked something and waits for the answer; nobody holds it.
    Suspended {
        /// The number of the question.
        round: Round,
        /// What was asked, so that a caller who lost it is asked the same again and not something new.
        asked: StoredResult,
        /// When the call was started.
        started: Moment,
        /// How long an answer is waited for.
        until: Moment,
    },
    /// It ended.
    Completed {
        /// With this.
        outcome: StoredResult,
        /// When.
        completed: Moment,
        /// How long the outcome is kept.
        keep_until: Moment,
        /// The operator who said so, if it was not the call itself.
        resolved_by: Option<String>,
    },
    /// It was started, and nobody knows what came of it. Stays until its owner returns or an operator decides.
    Indeterminate {
        /// Why nobody knows.
        reason: UnknownReason,
        /// Since when.
        since: Moment,
        /// Who may still say what came of it. Nobody, if it was lost while it waited for an answer.
        owner: Option<Owner>,
    },
    /// It ended; its outcome is no longer kept, but it will not start again.
    Tombstone {
        /// The key is forgotten after this.
        until: Moment,
    },
    /// An operator closed it without knowing what came of it.
    Abandoned {
        /// Who.
        by: String,
        /// The key is forgotten after this.
        until: Moment,
    },
}

/// On which way a decision came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ApprovalChannel {
    /// From an operator, on a channel that no caller has.
    Operator,
    /// Through the caller's own client. It is as good as that client is.
    Client,
}

impl ApprovalChannel {
    /// The word in the store and in history.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Operator => "operator",
            Self::Client => "client",
        }
    }

    /// The way of that word.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        [Self::Operator, Self::Client].into_iter().find(|via| via.as_str() == word)
    }
}

/// What a person is asked. Who decides names all of it, so what is decided is what was seen: fences begin anew when a record is forgotten,
/// and a page that was left open for days must not decide on other arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RequestVersion {
    /// The number of the question within the record.
    pub fence: Fence,
    /// The arguments.
    pub fingerprint: Fingerprint,
    /// What else an approval is bound to.
    pub binding: Binding,
}

impl Record {
    /// How many bytes count against the principal's limit: of an outcome, a question, and arguments.
    #[must_use]
    pub fn kept(&self) -> u64 {
        let arguments = self.arguments.as_ref().map_or(0, |arguments| arguments.len() as u64);
        self.state.kept() + arguments
    }

    /// What is, or was, asked of a person, if it stands at that.
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

/// The number of a question within one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Round(pub u32);

/// Why an operation may be started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StartReason {
    /// It never was.
    First,
    /// It was, but the call itself said that nothing had happened.
    NothingHappened,
    /// It was, and a repetition is harmless by nature. Good only for a claim that says the same of itself.
    ByNature {
        /// Why it would be unknown otherwise.
        reason: UnknownReason,
        /// Since when.
        since: Moment,
    },
    /// It was, and an operator found that nothing had happened.
    Operator {
        /// Who.
        by: String,
        /// Who had started it. If they return with an outcome before anybody else claims, they are believed.
        started_by: Option<Owner>,
    },
}

/// Why nobody knows what came of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum UnknownReason {
    /// Its owner was not heard of in time: it died, or it is very slow.
    LeaseEnded,
    /// It panicked on the way.
    Panicked,
    /// Its process was stopped while it ran.
    Stopped,
    /// It had asked something, and no answer came in time.
    NotResumed,
    /// What it was started on was lost: a connection, a child process.
    Lost,
    /// It failed, and its error was not kept because to repeat it was harmless by nature.
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

    /// The word in the store and in history.
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

    /// The reason of that word.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|reason| reason.as_str() == word)
    }
}

/// The name of a state, and of there being no record at all.
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
    /// All of them.
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

    /// The word in the store and in history.
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

    /// The state of that word.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == word)
    }
}

impl RecordState {
    /// Its name.
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

    /// When time alone changes it, if ever.
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

    /// How many bytes of outcome, or of a question, it keeps.
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
