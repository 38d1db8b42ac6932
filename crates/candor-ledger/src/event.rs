//! Events that can happen to a record, and the replies to them.

use std::sync::Arc;
use std::time::Duration;

use crate::id::{Binding, Fence, Fingerprint, Moment, Owner};
use crate::outcome::StoredResult;
use crate::record::{ApprovalChannel, RequestVersion, Round, StateKind, UnknownReason};

/// An event that can happen to a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// Asks for approval of a call. The reply is [`EventReply::Waiting`], [`EventReply::Approved`], or what a claim would
    /// receive. Sending it again does not ask the reviewer twice.
    Ask {
        /// The digest of the arguments.
        fingerprint: Fingerprint,
        /// What else the approval is bound to. If that changed since the request or its approval, a new request replaces it.
        /// A denial stays in force.
        binding: Binding,
        /// What the reviewer sees.
        asked: Arc<[u8]>,
        /// Whether the call is safe to retry by its effect.
        idempotent: bool,
        /// Whether the call has no key. Its record is then named after the caller, the tool and the arguments, and no
        /// caller's key can have that name. A call that ended is not replayed, because this is another call: its record is
        /// used again.
        keyless: bool,
    },
    /// Records a reviewer's decision, and only on exactly this request.
    Decide {
        /// The request, as the reviewer saw it.
        question: RequestVersion,
        /// The reviewer.
        by: String,
        /// The approval channel.
        via: ApprovalChannel,
        /// The decision.
        decision: Review,
    },
    /// Claims a call that needs no approval, or no longer needs one. A claim cannot use an approval: it would check the
    /// approval now and use it later, when it may have expired.
    Claim {
        /// The digest of the arguments.
        fingerprint: Fingerprint,
        /// The owner that would start it: a new one for each claim.
        owner: Owner,
        /// Whether the call is safe to retry by its effect.
        idempotent: bool,
    },
    /// Claims and starts a call in one write: [`Event::Claim`] and [`Event::Dispatch`], for an owner that has nothing to do
    /// in between. The reply is [`EventReply::Started`], or what a claim would receive.
    Start {
        /// The digest of the arguments.
        fingerprint: Fingerprint,
        /// The owner that would start it: a new one for each start.
        owner: Owner,
        /// Whether the call is safe to retry by its effect.
        idempotent: bool,
        /// The binding of the approval that the start needs and uses up. `None` if it needs no approval.
        approval: Option<Binding>,
    },
    /// Records that the handler is about to start. It may start only if the reply is [`EventReply::Done`].
    Dispatch(Holder),
    /// Renews the lease: the owner is alive.
    Heartbeat(Holder),
    /// Gives up a claim that will not start.
    Release(Holder),
    /// Records that the call asked the client for input. It does not run until there is an answer.
    Suspend {
        /// The holder of the record.
        holder: Holder,
        /// The input request.
        asked: StoredResult,
    },
    /// Brings the answer to an input request. The call continues with another owner.
    Resume {
        /// The digest of the arguments of the call that brings the answer.
        fingerprint: Fingerprint,
        /// The fence of the input request. This event increments it, so a request is answered once.
        fence: Fence,
        /// The number of the input request.
        round: Round,
        /// The owner that continues the call.
        owner: Owner,
    },
    /// Records the outcome of a call that ended.
    Complete {
        /// The holder of the record.
        holder: Holder,
        /// The outcome.
        outcome: StoredResult,
    },
    /// Records that the call started and that its owner cannot report an outcome.
    Unknown {
        /// The holder of the record.
        holder: Holder,
        /// Why the outcome is unknown.
        reason: UnknownReason,
    },
    /// Records that the call ended with an error that need not be stored. It may start again.
    Discard {
        /// The holder of the record.
        holder: Holder,
        /// Why the call may start again.
        why: RetryReason,
    },
    /// Records what an operator found about an unknown outcome.
    Resolve {
        /// The operator.
        by: String,
        /// What the operator found.
        resolution: Resolution,
    },
    /// Applies what time alone changes, as part of a sweep.
    Sweep,
}

impl Event {
    /// Returns the word in history.
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

/// The holder of a claim. Both fields must match the record, or the event changes nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Holder {
    /// The owner that was sent with the claim.
    pub owner: Owner,
    /// The fence that the claim returned.
    pub fence: Fence,
}

/// A reviewer's decision on an approval request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Review {
    /// The call may start, once.
    Approve,
    /// The call may not start.
    Deny {
        /// The reason, for the caller.
        reason: Option<String>,
    },
}

/// Why a failed call may start again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RetryReason {
    /// The call is safe to retry by its effect.
    Idempotent,
    /// The call reported that nothing had happened.
    NothingHappened,
}

/// What an operator found about an unknown outcome.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resolution {
    /// The call ran, with this result.
    Done(StoredResult),
    /// The call did not run. It may start again.
    NotDone,
    /// The outcome will never be known. The operation is closed.
    Abandon,
}

/// The reply to an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EventReply {
    /// The approval request is pending; see [`Store::watch`](crate::Store::watch).
    Waiting {
        /// The fence of the request, for [`RequestVersion`].
        fence: Fence,
        /// When the request was made.
        since: Moment,
        /// When the request expires.
        until: Moment,
        /// What the reviewer sees.
        asked: Arc<[u8]>,
    },
    /// A reviewer approved the call. [`Event::Start`] may use the approval.
    Approved {
        /// The fence of the request.
        fence: Fence,
        /// The reviewer.
        by: String,
        /// The approval channel.
        via: ApprovalChannel,
        /// When the approval expires.
        until: Moment,
    },
    /// A reviewer denied the call.
    Denied {
        /// The reviewer.
        by: String,
        /// The approval channel.
        via: ApprovalChannel,
        /// The reviewer's reason, if given.
        reason: Option<String>,
        /// When the denial stops refusing the call.
        until: Moment,
    },
    /// The call needs an approval that it does not have. It was never requested, it expired, it was used, or it is bound to
    /// something else.
    NotApproved,
    /// The owner holds the record and may dispatch.
    Claimed {
        /// The fence to send with every event of this claim.
        fence: Fence,
        /// The number that this attempt will have.
        attempt: u32,
    },
    /// The owner holds the record, and the start is recorded. The handler may start at once.
    Started {
        /// The fence to send with every event of this attempt.
        fence: Fence,
        /// The number of the attempt.
        attempt: u32,
    },
    /// The new owner holds the record, and the call continues.
    Resumed {
        /// The fence to send with every event from now on.
        fence: Fence,
        /// The number of the attempt.
        attempt: u32,
    },
    /// The call already ended, with this outcome.
    Replay {
        /// The first outcome.
        outcome: StoredResult,
        /// When the outcome was recorded.
        completed: Moment,
        /// The number of attempts.
        attempt: u32,
        /// The operator that recorded the outcome, if the call itself did not.
        resolved_by: Option<String>,
    },
    /// Another owner holds the record.
    InFlight {
        /// The fence of that owner; see [`Store::watch`](crate::Store::watch).
        fence: Fence,
        /// The state of the record.
        state: StateKind,
        /// When the call started, or, if it has not, when the key was first seen.
        since: Moment,
        /// The time until the lease ends. The state changes by then, unless the owner renews the lease.
        retry_after: Duration,
        /// The time since the owner last wrote. Owners renew their lease three times within its length.
        silent_for: Duration,
    },
    /// The call waits for an answer to its input request.
    Suspended {
        /// What [`Event::Resume`] must name.
        fence: Fence,
        /// What [`Event::Resume`] must name.
        round: Round,
        /// The input request.
        asked: StoredResult,
        /// When the wait for an answer ends.
        until: Moment,
    },
    /// The key was already used with different arguments.
    KeyReused,
    /// The call started, and its outcome is unknown.
    OutcomeUnknown {
        /// Why the outcome is unknown.
        reason: UnknownReason,
        /// When the outcome became unknown.
        since: Moment,
    },
    /// The call ended, but its result is no longer stored.
    Expired {
        /// When the key is purged. Until then, it is refused.
        until: Moment,
    },
    /// An operator closed the operation.
    Abandoned {
        /// The operator.
        by: String,
        /// When the key is purged. Until then, it is refused.
        until: Moment,
    },
    /// The sender does not hold the record (any more), or the record's state does not allow the event.
    Lost,
    /// The event took effect, durably.
    Done,
    /// The ledger refused the event.
    Refused(EventError),
}

/// Why the ledger refused an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EventError {
    /// No approval request is pending. The record has this state.
    NotWaiting(StateKind),
    /// Another request has replaced this one.
    AskedAnew,
    /// A reviewer has already decided.
    Decided {
        /// The reviewer.
        by: String,
        /// The approval channel.
        via: ApprovalChannel,
        /// The state since that decision.
        stands: StateKind,
    },
    /// The approval request has too many bytes. A request must be stored in full.
    TooLarge {
        /// The size of the request, in bytes.
        len: u64,
        /// The largest size allowed: the limit, or what is left of the principal's quota.
        most: u64,
    },
    /// Only an unknown outcome can be resolved. The record has this state.
    NotUnknown(StateKind),
    /// The claim did not say that the call is safe to retry by its effect.
    NotByNature,
}
