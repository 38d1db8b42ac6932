//! The flags that select operations and audit rows.

use candor::operator::{self, StateFilter, StateWord, when};
use candor_ledger::Moment;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser as _};

#[derive(Debug, Clone, Default, PartialEq, clap::Args)]
pub(crate) struct Filters {
    /// Only those of this tool
    #[arg(long, value_name = "NAME")]
    tool: Option<String>,

    /// Only those of this caller
    #[arg(long, value_name = "NAME", alias = "principal")]
    caller: Option<String>,

    /// Only those under this key
    #[arg(long, value_name = "KEY")]
    key: Option<String>,

    /// Only operations in this state; with --rows, rows that led to it
    #[arg(long, value_parser = states().try_map(|word| word.parse::<StateFilter>()))]
    state: Option<StateFilter>,

    /// Only those whose outcome is unknown, so that an operator must act: the same as --state outcome_unknown
    #[arg(long, conflicts_with = "state")]
    unknown: bool,

    /// Only those last changed then or later: 2026-07-28T09:30:00Z, 2026-07-28 (UTC), or 15m, 2h, 3d ago
    #[arg(long, value_name = "TIME", value_parser = when::read)]
    since: Option<Moment>,

    /// Only those last changed earlier than that
    #[arg(long, value_name = "TIME", value_parser = when::read)]
    before: Option<Moment>,
}

fn states() -> PossibleValuesParser {
    let value = |filter: StateFilter| {
        let value = PossibleValue::new(filter.as_str()).help(filter.meaning());
        value.aliases(filter.aliases())
    };
    PossibleValuesParser::new(StateFilter::all().map(value))
}

impl Filters {
    pub(crate) fn meant(&self) -> operator::Filters {
        let Self { tool, caller, key, state, unknown, since, before } = self.clone();
        let only_unknown = StateFilter::Is(StateWord::OutcomeUnknown);
        let state = if unknown { Some(only_unknown) } else { state };
        operator::Filters { tool, principal: caller, key, state, since, before }
    }
}
