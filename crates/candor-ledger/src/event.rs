//! What can happen to a record, and what it answers.

use std::sync::Arc;
use std::time::Duration;

use crate::id::{Binding, Fence, Fingerprint, Moment, Owner};
use crate::outcome::StoredResult;
use crate::record::{ApprovalChannel, RequestVersion, Round, StateKind, UnknownReason};

/// What can happen to a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// A call came in that a person must approve. Answered with [`EventReply::Waiting`] or [`EventReply::Approved`], or with what a claim
    /// would be answered. Of one operation, a person is asked once, however often this is said.
    Ask {
        /// Its arguments.
        fingerprint: Fingerprint,
        /// What else the approval is to be bound to. If that has changed since the person was asked, or has decided, they are asked
        /// anew and what they said is void.
        binding: Binding,
        /// What the person is shown.
        asked: Arc<[u8]>,
        /// Whether to repeat it is harmless by its nature.
        by_nature: bool,
        /// The call has no key, and its record is named after the caller, the tool and the arguments, with a name that no caller's key can
        /// have. Then a call that has ended is not replayed, because this is another one: its record is used anew.
        keyless: bool,
    },
    /// A person has decided. Only on a question that waits, and only if it is exactly this one.
    Decide {
        /// What they have seen.
        question: RequestVersion,
        /// Who.
        by: String,
        /// On which way.
        via: ApprovalChannel,
        /// What.
        decision: Review,
    },
    /// A call came in that no person must approve (any more): may it be started? There is no claim with an approval: it would be looked at
    /// now and used later, when it may have run out.
    Claim {
        /// Its arguments.
        fingerprint: Fingerprint,
        /// Who would start it: a new one for each claim.
        owner: Owner,
        /// Whether to repeat it is harmless by its nature.
        by_nature: bool,
    },
    /// A call came in and would start at once: [`Event::Claim`] and [`Event::Dispatch`] in one write, for who has nothing to do
    /// in between. Answered with [`EventReply::Started`], or with what a claim would be answered.
    Start {
        /// Its arguments.
        fingerprint: Fingerprint,
        /// Who would start it: a new one for each start.
        owner: Owner,
        /// Whether to repeat it is harmless by its nature.
        by_nature: bool,
        /// It may start only with an approval that is bound to this, and uses it up. `None`: it needs none.
        approval: Option<Binding>,
    },
    /// It is about to start. Only when this is answered with [`EventReply::Done`] may it.
    Dispatch(Holder),
    /// Its owner lives.
    Heartbeat(Holder),
    /// It will not be started after all.
    Release(Holder),
    /// It has asked something, and does not run until there is an answer.
    Suspend {
        /// Who says so.
        holder: Holder,
        /// What was asked.
        asked: StoredResult,
    },
    /// The answer to a question is here: the call goes on, with another owner.
    Resume {
        /// The arguments of the call that brings the answer.
        fingerprint: Fingerprint,
        /// The fence under which the question was put. It grows here, so a question is answered once.
        fence: Fence,
        /// The question.
        round: Round,
        /// Who goes on with it.
        owner: Owner,
    },
    /// It ended with this outcome.
    Complete {
        /// Who says so.
        holder: Holder,
        /// What came of it.
        outcome: StoredResult,
    },
    /// It was started, and will not say what came of it.
    Unknown {
        /// Who says so.
        holder: Holder,
        /// Why not.
        reason: UnknownReason,
    },
    /// It ended with an error that need not be kept: it may be started again.
    Discard {
        /// Who says so.
        holder: Holder,
        /// Why it may.
        why: RetryReason,
    },
    /// An operator says what came of a call of which nobody knows.
    Resolve {
        /// Who.
        by: String,
        /// What came of it.
        resolution: Resolution,
    },
    /// Somebody looks after the store: time alone does its work.
    Sweep,
}

impl Event {
    /// The word in history.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Ask { .. } => "ask",
            Self::Decide { .. } => "decide",
            Self::Claim { .. } => "claim",
            Self::Start { .. } => "start",
            Self::Dispatch(_) => "dispatch",
            Self::Heartbeat(_) => "heartbeat",
            Self::Release(_) => "release",
            Self::Suspend { .. } => "suspend",
            Self::Resume { .. } => "resume",
            Self::Complete { .. } => "complete",
            Self::Unknown { .. } => "unknown",
            Self::Discard { .. } => "discard",
            Self::Resolve { .. } => "resolve",
            Self::Sweep => "sweep",
        }
    }
}

/// Who speaks for a claim: both must be those of the record, or nothing happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Holder {
    /// As given with the claim.
    pub owner: Owner,
    /// As the claim was answered.
    pub fence: Fence,
}

/// What a person says to a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Review {
    /// It may be started, once.
    Approve,
    /// It may not.
    Deny {
        /// Why, for the caller.
        reason: Option<String>,
    },
}

/// Why a failed call may be started again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RetryReason {
    /// To repeat it is harmless by its nature.
    ByNature,
    /// It said that nothing had happened.
    NothingHappened,
}

/// What an operator found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resolution {
    /// It was done, with this result.
    Done(StoredResult),
    /// It was not done: it may be started once more.
    NotDone,
    /// Nobody will ever know: it is closed.
    Abandon,
}

/// What a record answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EventReply {
    /// A person is asked, and has not decided; see [`Store::watch`](crate::Store::watch).
    Waiting {
        /// The number of the question, for [`RequestVersion`].
        fence: Fence,
        /// Since when they are asked.
        since: Moment,
        /// How long a decision is waited for.
        until: Moment,
        /// What they are shown.
        asked: Arc<[u8]>,
    },
    /// A person has approved it: [`Event::Start`] may use that.
    Approved {
        /// The number of the question.
        fence: Fence,
        /// Who.
        by: String,
        /// On which way.
        via: ApprovalChannel,
        /// How long it may be used.
        until: Moment,
    },
    /// A person has denied it.
    Denied {
        /// Who.
        by: String,
        /// On which way.
        via: ApprovalChannel,
        /// Why, if they said so.
        reason: Option<String>,
        /// How long that stands.
        until: Moment,
    },
    /// It needs an approval that it does not have: nobody was asked, it has run out or was used, or it was given to something else.
    NotApproved,
    /// The caller holds it and may dispatch.
    Claimed {
        /// To be given with everything that is said of this claim.
        fence: Fence,
        /// The number that this start will have.
        attempt: u32,
    },
    /// The caller holds it, and that it starts is on record: it may, at once.
    Started {
        /// To be given with everything that is said of this start.
        fence: Fence,
        /// Its number.
        attempt: u32,
    },
    /// The caller holds it again: the call goes on.
    Resumed {
        /// To be given with everything that is said of it from now on.
        fence: Fence,
        /// The number of its start.
        attempt: u32,
    },
    /// It has ended before: this is what came of it.
    Replay {
        /// The first outcome.
        outcome: StoredResult,
        /// When.
        completed: Moment,
        /// How often it had been started.
        attempt: u32,
        /// The operator who said so, if it was not the call itself.
        resolved_by: Option<String>,
    },
    /// Somebody else is at it.
    InFlight {
        /// Under this fence; see [`Store::watch`](crate::Store::watch).
        fence: Fence,
        /// Where it stands.
        state: StateKind,
        /// Since when it runs, or when the key was first seen.
        since: Moment,
        /// When it is decided at the latest, unless its owner lives on.
        retry_after: Duration,
        /// How long ago its owner last wrote. Owners renew their lease three times within its length.
        silent_for: Duration,
    },
    /// It waits for an answer.
    Suspended {
        /// What [`Event::Resume`] has to name.
        fence: Fence,
        /// What [`Event::Resume`] has to name.
        round: Round,
        /// What was asked.
        asked: StoredResult,
        /// How long an answer is waited for.
        until: Moment,
    },
    /// The key stands for other arguments.
    KeyReused,
    /// It was started, and nobody knows what came of it.
    OutcomeUnknown {
        /// Why.
        reason: UnknownReason,
        /// Since when.
        since: Moment,
    },
    /// It ended, but what came of it is no longer kept.
    Expired {
        /// The key is refused until then.
        until: Moment,
    },
    /// An operator closed it.
    Abandoned {
        /// Who.
        by: String,
        /// The key is refused until then.
        until: Moment,
    },
    /// Who said that does not hold the record (any more), or not in a state in which it can be said.
    Lost,
    /// So it is, durably.
    Done,
    /// That cannot be said of this record.
    Refused(EventError),
}

/// Why something cannot be said of a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EventError {
    /// Nobody is asked (any more); this stands elsewhere.
    NotWaiting(StateKind),
    /// Something else is asked by now.
    AskedAnew,
    /// Somebody has decided already.
    Decided {
        /// Who.
        by: String,
        /// On which way.
        via: ApprovalChannel,
        /// Where it stands since.
        stands: StateKind,
    },
    /// A question must be kept whole, and this one has more bytes than may be.
    TooLarge {
        /// How many it has.
        len: u64,
        /// How many it may have: the limit, or what is left of the principal's.
        most: u64,
    },
    /// Only what is unknown can be resolved; this stands elsewhere.
    NotUnknown(StateKind),
    /// Its claim did not say that to repeat it is harmless by nature.
    NotByNature,
}
