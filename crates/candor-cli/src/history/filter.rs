//! Which operations, and which rows of the audit: the flags, and what the ledger's own filter cannot tell.

use candor_ledger::{AuditRow, Entry, Filter, Moment, OutcomeKind, State, StateKind};

use candor::desk::when;

#[derive(Debug, Clone, Default, PartialEq, clap::Args)]
pub(crate) struct Filters {
    /// Only those of this tool
    #[arg(long, value_name = "NAME")]
    tool: Option<String>,

    /// Only those of this caller
    #[arg(long, value_name = "NAME")]
    principal: Option<String>,

    /// Only those under this key
    #[arg(long, value_name = "KEY")]
    key: Option<String>,

    /// Only those that stand so; of rows of the audit, those by which one came to stand so
    #[arg(long, value_enum)]
    state: Option<Standing>,

    /// Only those whose outcome nobody knows, so that a person is needed: the same as --state unknown
    #[arg(long, conflicts_with = "state")]
    unknown: bool,

    /// Only those last changed then or later: 2026-07-28T09:30:00Z, 2026-07-28 (UTC), or 15m, 2h, 3d ago
    #[arg(long, value_name = "TIME", value_parser = when::read)]
    since: Option<Moment>,

    /// Only those last changed earlier than that
    #[arg(long, value_name = "TIME", value_parser = when::read)]
    before: Option<Moment>,
}

/// Where an operation may stand, in the words of the list; the ledger's own words do, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Standing {
    /// It did what it was asked
    Done,
    /// It failed, and said so
    Failed,
    /// It ended, but its result breaks its own schema
    Invalid,
    /// Any of the three
    #[value(alias = "completed")]
    Ended,
    /// About to start
    #[value(alias = "claimed")]
    Starting,
    /// It runs
    #[value(alias = "dispatched")]
    Running,
    /// A person is asked whether it may start
    Waiting,
    /// A person has said yes, and it has not started yet
    Approved,
    /// A person has said no
    Denied,
    /// It has asked something
    #[value(alias = "suspended")]
    Asking,
    /// It was started, and nobody knows what came of it
    #[value(alias = "indeterminate")]
    Unknown,
    /// An operator closed it
    Abandoned,
    /// It ended; its result is no longer kept, its key still refused
    #[value(alias = "tombstone")]
    Expired,
    /// Nothing happened: it may be started
    #[value(alias = "open")]
    NotDone,
}

impl Standing {
    fn kind(self) -> StateKind {
        match self {
            Self::Done | Self::Failed | Self::Invalid | Self::Ended => StateKind::Completed,
            Self::Starting => StateKind::Claimed,
            Self::Running => StateKind::Dispatched,
            Self::Waiting => StateKind::Waiting,
            Self::Approved => StateKind::Approved,
            Self::Denied => StateKind::Denied,
            Self::Asking => StateKind::Suspended,
            Self::Unknown => StateKind::Indeterminate,
            Self::Abandoned => StateKind::Abandoned,
            Self::Expired => StateKind::Tombstone,
            Self::NotDone => StateKind::Open,
        }
    }

    fn has(self, outcome: OutcomeKind) -> bool {
        match self {
            Self::Done => outcome == OutcomeKind::Success,
            Self::Failed => outcome == OutcomeKind::Failure,
            Self::Invalid => outcome == OutcomeKind::Invalid,
            _ => true,
        }
    }
}

impl Filters {
    fn standing(&self) -> Option<Standing> {
        if self.unknown { Some(Standing::Unknown) } else { self.state }
    }

    /// Whether it says where operations stand.
    pub(crate) fn by_state(&self) -> bool {
        self.standing().is_some()
    }

    /// For records.
    pub(crate) fn of_records(&self) -> Filter {
        Filter { state: self.standing().map(Standing::kind), ..self.of_any() }
    }

    /// The same, of which nobody knows.
    pub(crate) fn of_unknown(&self) -> Filter {
        Filter { state: Some(StateKind::Indeterminate), ..self.of_any() }
    }

    /// For rows. One that ended without a record has an outcome and no state, so those are told by [`Filters::has_row`].
    pub(crate) fn of_rows(&self) -> Filter {
        let state = self.standing().map(Standing::kind);
        Filter { state: state.filter(|kind| *kind != StateKind::Completed), ..self.of_any() }
    }

    fn of_any(&self) -> Filter {
        let Self { tool, principal, key, since, before, .. } = self.clone();
        Filter { since, before, principal, tool, state: None, key }
    }

    pub(crate) fn has_entry(&self, entry: &Entry) -> bool {
        match (self.standing(), entry.seen.as_ref().map(|record| &record.state)) {
            // Its time is over: it is only not swept yet.
            (_, None) => false,
            (Some(standing), Some(State::Completed { outcome, .. })) => standing.has(outcome.kind),
            _ => true,
        }
    }

    pub(crate) fn has_row(&self, row: &AuditRow) -> bool {
        match self.standing() {
            Some(standing) if standing.kind() == StateKind::Completed => {
                row.outcome.is_some_and(|outcome| standing.has(outcome))
            }
            _ => true,
        }
    }
}
