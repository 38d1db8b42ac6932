//! The decision about one call, as a pure function of facts. Nothing here reads, waits or asks.

use candor_hints::Verdict;

use super::decision::NextStep;

/// Everything that the decision about one call depends on. [`gather`](super::facts::gather) is the only stage that reads it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Facts {
    /// The policy's verdict on this call.
    pub(crate) verdict: Verdict,
    /// A policy failed, so the verdict is to deny.
    pub(crate) policy_failed: bool,
    /// The tool requires a key, and the call has none.
    pub(crate) lacks_key: bool,
    pub(crate) has_key: bool,
    pub(crate) has_ledger: bool,
    /// False if the ledger is known to be unable to write a row that this call must leave.
    pub(crate) can_record: bool,
    pub(crate) record: RecordFact,
    /// The call has the plan that it needs, and its plan token is valid.
    pub(crate) has_plan: bool,
    /// A grant covers the call.
    pub(crate) granted: bool,
    pub(crate) stage: CallStage,
}

/// What the record of a call says about another call with its key and arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RecordFact {
    /// There is no record, or it does not concern this call.
    None,
    /// The call ended, and its result is stored.
    Result,
    /// An attempt runs.
    Running,
    /// An attempt waits for input of the caller's client.
    InputRequired,
    /// An approval request waits for a reviewer.
    ApprovalRequired,
    /// A reviewer approved the call, and the approval is unused.
    Approved,
    /// A reviewer denied the call, and the denial still holds.
    Denied {
        /// No grant that covers the call is newer than the denial.
        prevails: bool,
    },
    /// The record permits no start and has no result: the outcome is unknown, the result is too large or expired, the operation was
    /// abandoned, or the key was used with different arguments.
    Closed,
    /// The ledger did not answer.
    Unavailable,
}

/// How far the call has come before this request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CallStage {
    /// This request is the first.
    First,
    /// It brings the answer of the caller's user to the question whether the call may run.
    ApprovalAnswered,
    /// It brings answers to the handler's questions. The policy was applied when the call began.
    InputAnswered,
}

/// What the caller relies on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Expects {
    Nothing,
    /// The server asks for approval of this call.
    Approval,
}

/// What the server does with a call now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Judgment {
    /// Run it: nothing is in the way, and this permits it.
    Run(Permission),
    /// Return the stored result.
    Replay,
    /// Wait for the attempt that runs.
    Join,
    /// Ask the caller's client again for the input that the handler needs.
    Input,
    /// Ask a reviewer first.
    Ask,
    Refuse(RefusalReason),
}

impl Judgment {
    /// Returns the step without its reason.
    pub(crate) const fn next(self) -> NextStep {
        match self {
            Self::Run(_) => NextStep::Run,
            Self::Replay => NextStep::Replay,
            Self::Join => NextStep::Join,
            Self::Input => NextStep::Input,
            Self::Ask => NextStep::Ask,
            Self::Refuse(_) => NextStep::Refuse,
        }
    }
}

/// What permits a start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Permission {
    /// The policy does not ask about this call.
    Policy,
    Grant,
    /// An approval of this call. The start uses it up.
    Approval,
    /// The first request of this call was permitted.
    EarlierRequest,
}

/// Why the server does not run a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RefusalReason {
    /// The tool requires a key.
    KeyRequired,
    /// A key needs a ledger.
    LedgerDisabled,
    /// The policy denies the call.
    Policy,
    /// The policy failed.
    PolicyUnavailable,
    /// The call needs a preview first, or its plan token is invalid.
    Plan,
    /// The policy asks, and no approval request can be stored.
    ApprovalUnavailable,
    /// The ledger does not answer, or cannot write.
    LedgerUnavailable,
    /// The record of the call says why.
    Record,
    /// The caller expects an approval request, and the server would run the call without one.
    DecisionChanged,
}

/// Returns what the server does with the call: the one place that decides it.
///
/// A record answers first, because what ran once is not decided again. Then come the policy, the plan, grants and approvals. The
/// caller's expectation is last: it can only refuse.
pub(crate) const fn judge(facts: &Facts, expects: Expects) -> Judgment {
    if facts.lacks_key {
        return Judgment::Refuse(RefusalReason::KeyRequired);
    }
    if facts.has_key && !facts.has_ledger {
        return Judgment::Refuse(RefusalReason::LedgerDisabled);
    }
    if let CallStage::First = facts.stage {
        match facts.record {
            RecordFact::Result => return Judgment::Replay,
            RecordFact::Running => return Judgment::Join,
            RecordFact::InputRequired => return Judgment::Input,
            RecordFact::Closed => return Judgment::Refuse(RefusalReason::Record),
            RecordFact::Denied { prevails } if facts.has_key || prevails => {
                return Judgment::Refuse(RefusalReason::Record);
            }
            RecordFact::Unavailable => return Judgment::Refuse(RefusalReason::LedgerUnavailable),
            RecordFact::None
            | RecordFact::ApprovalRequired
            | RecordFact::Approved
            | RecordFact::Denied { .. } => {}
        }
    }
    let asks = match (facts.verdict, facts.stage) {
        (Verdict::Deny, _) if facts.policy_failed => {
            return Judgment::Refuse(RefusalReason::PolicyUnavailable);
        }
        (Verdict::Deny, _) => return Judgment::Refuse(RefusalReason::Policy),
        (Verdict::Ask, CallStage::First | CallStage::ApprovalAnswered) => true,
        (Verdict::Ask, CallStage::InputAnswered) | (Verdict::Allow, _) => false,
    };
    if !facts.has_plan {
        return Judgment::Refuse(RefusalReason::Plan);
    }
    // A call that was asked about continues with its record, so that one approval starts one run.
    if !facts.has_ledger && (asks || !matches!(facts.stage, CallStage::First)) {
        return Judgment::Refuse(RefusalReason::ApprovalUnavailable);
    }
    let run = match (asks, facts.stage) {
        (false, CallStage::InputAnswered) => Judgment::Run(Permission::EarlierRequest),
        (false, _) => Judgment::Run(Permission::Policy),
        // The answer of the caller's user counts before a grant, because it may be a no.
        (true, CallStage::ApprovalAnswered) => Judgment::Ask,
        (true, _) => {
            // A reviewer has the request that the caller relies on, so a later grant does not overtake it.
            let is_reviewed =
                matches!(facts.record, RecordFact::ApprovalRequired | RecordFact::Approved);
            let relies_on_review = is_reviewed && matches!(expects, Expects::Approval);
            match facts.record {
                _ if facts.granted && !relies_on_review => Judgment::Run(Permission::Grant),
                RecordFact::Approved => Judgment::Run(Permission::Approval),
                _ => Judgment::Ask,
            }
        }
    };
    match (run, expects) {
        (Judgment::Run(Permission::Policy | Permission::Grant), Expects::Approval) => {
            Judgment::Refuse(RefusalReason::DecisionChanged)
        }
        (Judgment::Run(Permission::Policy | Permission::Grant), _) if !facts.can_record => {
            Judgment::Refuse(RefusalReason::LedgerUnavailable)
        }
        (run, _) => run,
    }
}
