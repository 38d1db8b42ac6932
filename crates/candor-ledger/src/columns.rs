//! A record as table columns, for stores that have tables.

use std::sync::Arc;

use crate::id::{Binding, Moment, Owner};
use crate::outcome::{Body, OutcomeKind, StoredResult};
use crate::record::{ApprovalChannel, RecordState, Round, StartReason, StateKind, UnknownReason};

/// The state of a record as table columns. Each other field of a record has a column of its own.
///
/// | column | open | claimed | dispatched | suspended | completed | indeterminate | tombstone | abandoned |
/// |---|---|---|---|---|---|---|---|---|
/// | `lapses` | until | lease | lease | until | keep until | – | until | until |
/// | `owner` | – | owner | owner | – | – | owner, if any | – | – |
/// | `since` | license's | license's | started | started | completed | since | – | – |
/// | `license`, `started_by` | yes | yes | – | – | – | – | – | – |
/// | `reason` | license's | license's | – | – | – | reason | – | – |
/// | `round` | – | – | round | round | – | – | – | – |
/// | `by_whom` | license's | license's | – | – | operator, if any | – | – | operator |
/// | `outcome_kind`, `outcome` or `outcome_len` and `outcome_digest` | – | – | – | input request | outcome | – | – | – |
///
/// | column | waiting | approved | denied |
/// |---|---|---|---|
/// | `lapses` | until | until | keep until |
/// | `license`, `started_by`, `reason`, `since`, `by_whom` | license's | license's | license's |
/// | `binding` | binding | binding | binding |
/// | `gated` | since | since | since |
/// | `decided_by`, `via` | – | yes | yes |
/// | `why` | – | – | reason, if any |
/// | `refuses_until` | – | – | until |
/// | `outcome` | approval request | – | – |
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Columns {
    /// The state.
    pub state: Option<StateKind>,
    /// When time alone changes the state.
    pub lapses: Option<i64>,
    /// The owner.
    pub owner: Option<[u8; 16]>,
    /// When the state, or what led to it, began.
    pub since: Option<i64>,
    /// The name of the start reason.
    pub license: Option<StartReasonName>,
    /// The owner that started the call, if an operator found that it did not run.
    pub started_by: Option<[u8; 16]>,
    /// Why the outcome is unknown.
    pub reason: Option<UnknownReason>,
    /// The number of input requests that were answered.
    pub round: Option<u32>,
    /// The operator.
    pub by_whom: Option<String>,
    /// The kind of the result.
    pub outcome_kind: Option<OutcomeKind>,
    /// The bytes of the result or request.
    pub outcome: Option<Arc<[u8]>>,
    /// The length of a result that is not stored.
    pub outcome_len: Option<u64>,
    /// The digest of a result that is not stored.
    pub outcome_digest: Option<[u8; 32]>,
    /// What an approval is bound to.
    pub binding: Option<[u8; 32]>,
    /// When the request was made or decided.
    pub gated: Option<i64>,
    /// The reviewer.
    pub decided_by: Option<String>,
    /// The approval channel.
    pub via: Option<ApprovalChannel>,
    /// The reason for a denial.
    pub why: Option<String>,
    /// When a denial stops refusing the call.
    pub refuses_until: Option<i64>,
}

/// The name of a [`StartReason`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StartReasonName {
    /// See [`StartReason::First`].
    First,
    /// See [`StartReason::NothingHappened`].
    NothingHappened,
    /// See [`StartReason::Idempotent`].
    Idempotent,
    /// See [`StartReason::Operator`].
    Operator,
}

impl StartReasonName {
    /// Returns the word in the store.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::First => "first",
            Self::NothingHappened => "nothing_happened",
            Self::Idempotent => "by_nature",
            Self::Operator => "operator",
        }
    }

    /// Parses a word of [`Self::as_str`].
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        [Self::First, Self::NothingHappened, Self::Idempotent, Self::Operator]
            .into_iter()
            .find(|license| license.as_str() == word)
    }
}

impl Columns {
    /// Returns the columns of a state.
    #[must_use]
    pub fn of(state: &RecordState) -> Self {
        let mut columns = Self {
            state: Some(state.kind()),
            lapses: state.lapses().map(|moment| moment.0),
            ..Self::default()
        };
        match state {
            RecordState::Open { license, .. } => columns.put_license(license),
            RecordState::Waiting { asked, binding, since, license, .. } => {
                columns.put_question(binding, *since, license);
                columns.outcome = Some(Arc::clone(asked));
            }
            RecordState::Approved { by, via, binding, since, license, .. } => {
                columns.put_question(binding, *since, license);
                columns.decided_by = Some(by.clone());
                columns.via = Some(*via);
            }
            RecordState::Denied { by, via, reason, binding, since, until, license, .. } => {
                columns.refuses_until = Some(until.0);
                columns.put_question(binding, *since, license);
                columns.decided_by = Some(by.clone());
                columns.via = Some(*via);
                columns.why.clone_from(reason);
            }
            RecordState::Claimed { owner, license, .. } => {
                columns.owner = Some(owner.0);
                columns.put_license(license);
            }
            RecordState::Dispatched { owner, started, round, .. } => {
                columns.owner = Some(owner.0);
                columns.since = Some(started.0);
                columns.round = Some(round.0);
            }
            RecordState::Suspended { round, asked, started, .. } => {
                columns.since = Some(started.0);
                columns.round = Some(round.0);
                columns.put_outcome(asked);
            }
            RecordState::Completed { outcome, completed, resolved_by, .. } => {
                columns.since = Some(completed.0);
                columns.by_whom.clone_from(resolved_by);
                columns.put_outcome(outcome);
            }
            RecordState::Indeterminate { reason, since, owner } => {
                columns.reason = Some(*reason);
                columns.since = Some(since.0);
                columns.owner = owner.map(|owner| owner.0);
            }
            RecordState::Tombstone { .. } => {}
            RecordState::Abandoned { by, .. } => columns.by_whom = Some(by.clone()),
        }
        columns
    }

    /// Returns the state, or `None` if a column that the state needs is empty. Then no version of this program wrote the row.
    #[must_use]
    pub fn state(self) -> Option<RecordState> {
        let lapses = self.lapses.map(Moment);
        let since = self.since.map(Moment);
        Some(match self.state? {
            StateKind::Absent => return None,
            StateKind::Open => RecordState::Open { until: lapses?, license: self.take_license()? },
            StateKind::Waiting => RecordState::Waiting {
                asked: self.outcome.clone()?,
                binding: Binding(self.binding?),
                since: Moment(self.gated?),
                until: lapses?,
                license: self.take_license()?,
            },
            StateKind::Approved => RecordState::Approved {
                by: self.decided_by.clone()?,
                via: self.via?,
                binding: Binding(self.binding?),
                since: Moment(self.gated?),
                until: lapses?,
                license: self.take_license()?,
            },
            StateKind::Denied => RecordState::Denied {
                by: self.decided_by.clone()?,
                via: self.via?,
                reason: self.why.clone(),
                binding: Binding(self.binding?),
                since: Moment(self.gated?),
                // Programs of schema 1.3 do not write this column and leave the value of an earlier denial in it.
                until: self
                    .refuses_until
                    .filter(|until| Some(*until) >= self.gated)
                    .map(Moment)
                    .or(lapses)?,
                keep_until: lapses?,
                license: self.take_license()?,
            },
            StateKind::Claimed => RecordState::Claimed {
                owner: Owner(self.owner?),
                lease: lapses?,
                license: self.take_license()?,
            },
            StateKind::Dispatched => RecordState::Dispatched {
                owner: Owner(self.owner?),
                lease: lapses?,
                started: since?,
                round: Round(self.round?),
            },
            StateKind::Suspended => RecordState::Suspended {
                round: Round(self.round?),
                started: since?,
                until: lapses?,
                asked: self.take_outcome()?.0,
            },
            StateKind::Completed => {
                let (outcome, resolved_by) = self.take_outcome()?;
                RecordState::Completed {
                    outcome,
                    completed: since?,
                    keep_until: lapses?,
                    resolved_by,
                }
            }
            StateKind::Indeterminate => RecordState::Indeterminate {
                reason: self.reason?,
                since: since?,
                owner: self.owner.map(Owner),
            },
            StateKind::Tombstone => RecordState::Tombstone { until: lapses? },
            StateKind::Abandoned => RecordState::Abandoned { by: self.by_whom?, until: lapses? },
        })
    }

    fn put_question(&mut self, binding: &Binding, since: Moment, license: &StartReason) {
        self.binding = Some(binding.0);
        self.gated = Some(since.0);
        self.put_license(license);
    }

    fn put_license(&mut self, license: &StartReason) {
        self.license = Some(match license {
            StartReason::First => StartReasonName::First,
            StartReason::NothingHappened => StartReasonName::NothingHappened,
            StartReason::Idempotent { reason, since } => {
                self.reason = Some(*reason);
                self.since = Some(since.0);
                StartReasonName::Idempotent
            }
            StartReason::Operator { by, started_by } => {
                self.by_whom = Some(by.clone());
                self.started_by = started_by.map(|owner| owner.0);
                StartReasonName::Operator
            }
        });
    }

    fn take_license(self) -> Option<StartReason> {
        Some(match self.license? {
            StartReasonName::First => StartReason::First,
            StartReasonName::NothingHappened => StartReason::NothingHappened,
            StartReasonName::Idempotent => {
                StartReason::Idempotent { reason: self.reason?, since: Moment(self.since?) }
            }
            StartReasonName::Operator => {
                StartReason::Operator { by: self.by_whom?, started_by: self.started_by.map(Owner) }
            }
        })
    }

    fn put_outcome(&mut self, outcome: &StoredResult) {
        self.outcome_kind = Some(outcome.kind);
        match &outcome.body {
            Body::Kept(bytes) => self.outcome = Some(Arc::clone(bytes)),
            Body::Omitted { len, digest } => {
                self.outcome_len = Some(*len);
                self.outcome_digest = Some(*digest);
            }
        }
    }

    /// Returns the result, and the name in `by_whom`.
    fn take_outcome(self) -> Option<(StoredResult, Option<String>)> {
        let body = match self.outcome {
            Some(bytes) => Body::Kept(bytes),
            None => Body::Omitted { len: self.outcome_len?, digest: self.outcome_digest? },
        };
        Some((StoredResult { kind: self.outcome_kind?, body }, self.by_whom))
    }
}
