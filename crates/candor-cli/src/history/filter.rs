//! Which operations, and which rows of the audit: the flags.

use candor::desk::filter::Standing;
use candor::desk::{filter, when};
use candor_ledger::Moment;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser as _};

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
    #[arg(long, value_parser = standings().try_map(|word| word.parse::<Standing>()))]
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

fn standings() -> PossibleValuesParser {
    let value =
        |(_, word, alias, help): (Standing, &'static str, Option<&'static str>, &'static str)| {
            let value = PossibleValue::new(word).help(help);
            alias.into_iter().fold(value, PossibleValue::alias)
        };
    PossibleValuesParser::new(Standing::ALL.map(value))
}

impl Filters {
    pub(crate) fn meant(&self) -> filter::Filters {
        let Self { tool, principal, key, state, unknown, since, before } = self.clone();
        let state = if unknown { Some(Standing::Unknown) } else { state };
        filter::Filters { tool, principal, key, state, since, before }
    }
}
