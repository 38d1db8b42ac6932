//! `candor history`: past calls, from the ledger itself, also while servers write to it.
//!
//! - `list`, `show`, `export`, `resolve`: the commands. `filter`: which operations and rows they are about.
//! - The members of JSON and the words for users come from [`candor::operator`].
//!
//! All text in a ledger is untrusted, so it goes through [`shown`](candor::operator::shown) first.

mod export;
mod filter;
mod list;
mod resolve;
mod show;

use crate::exit::Failure;
use crate::ledger::LedgerArgs;
use crate::out::Out;

#[derive(Debug, clap::Args)]
pub(crate) struct HistoryArgs {
    #[command(flatten)]
    list: list::HistoryListArgs,

    #[command(subcommand)]
    command: Option<HistoryCommand>,

    #[command(flatten)]
    pub(crate) read: LedgerArgs,
}

#[derive(Debug, clap::Subcommand)]
enum HistoryCommand {
    /// List operations, the latest first; what `candor history` does by itself
    #[command(after_long_help = list::MEMBERS)]
    List(list::HistoryListArgs),
    /// Show one operation: its timeline and its result
    #[command(after_long_help = show::MEMBERS)]
    Show(show::HistoryShowArgs),
    /// Export audit rows as lines of JSON, the earliest first
    #[command(after_long_help = export::MEMBERS)]
    Export(export::HistoryExportArgs),
    /// Record an unknown outcome
    Resolve(resolve::HistoryResolveArgs),
}

pub(crate) async fn run(args: HistoryArgs) -> Result<(), Failure> {
    let HistoryArgs { list, command, read } = args;
    if command.is_some() && list != list::HistoryListArgs::default() {
        return Err(Failure::usage(
            "put flags of the list after `list`; other commands have their own: candor history list --limit 3",
        ));
    }
    let place = read.ledger()?;
    let store = place.open(!read.json)?;
    let mut out = Out::of_ledger(&read);
    let done = match command.unwrap_or(HistoryCommand::List(list)) {
        HistoryCommand::List(args) => list::run(&*store, &args, &mut out).await,
        HistoryCommand::Show(args) => show::run(&*store, &args, &mut out).await,
        HistoryCommand::Export(args) => export::run(&*store, &args, &mut out).await,
        HistoryCommand::Resolve(args) => resolve::run(&*store, &args, &mut out).await,
    };
    out.end(done, &place)
}
