//! `candor approvals`: approval requests, decisions on them, and grants.
//!
//! - `list`, `show`, `decide`, `watch`, `grants`: the commands.
//! - `permission`: the flags that grant similar calls.
//!
//! An approval comes from an operator who has seen the whole request: at a terminal, without a flag that replaces it. It covers
//! exactly the request that was shown. Callers and tool authors wrote the text of a request, so it goes through
//! [`shown`](candor::operator::shown) first.

mod decide;
mod grants;
mod list;
mod permission;
mod show;
mod watch;

use crate::exit::Failure;
use crate::ledger::LedgerArgs;
use crate::out::Out;

#[derive(Debug, clap::Args)]
pub(crate) struct ApprovalsArgs {
    #[command(subcommand)]
    command: Option<ApprovalsCommand>,

    #[command(flatten)]
    pub(crate) read: LedgerArgs,
}

#[derive(Debug, clap::Subcommand)]
enum ApprovalsCommand {
    /// List approval requests, the oldest first; what `candor approvals` does by itself
    #[command(after_long_help = list::MEMBERS)]
    List,
    /// Show one approval request, with its arguments in full
    #[command(after_long_help = list::MEMBERS)]
    Show(show::ApprovalsShowArgs),
    /// Approve a call, once; asks at the terminal
    Approve(decide::Approve),
    /// Deny a call; asks first if there is a terminal
    Deny(decide::Deny),
    /// Watch for approval requests, and decide them at the terminal
    Watch(watch::ApprovalsWatchArgs),
    /// List active grants
    #[command(after_long_help = grants::MEMBERS)]
    Grants(grants::ApprovalsGrantsArgs),
    /// Revoke a grant
    Revoke(grants::Revoke),
}

pub(crate) async fn run(args: ApprovalsArgs) -> Result<(), Failure> {
    let ApprovalsArgs { command, read } = args;
    let place = read.ledger()?;
    let store = place.open(!read.json)?;
    let (store, mut out) = (&*store, Out::of_ledger(&read));
    let done = match command.unwrap_or(ApprovalsCommand::List) {
        ApprovalsCommand::List => list::run(store, &mut out).await,
        ApprovalsCommand::Show(args) => show::run(store, &args, &mut out).await,
        ApprovalsCommand::Approve(args) => decide::approve(store, &args, &mut out).await,
        ApprovalsCommand::Deny(args) => decide::deny(store, &args, &mut out).await,
        ApprovalsCommand::Watch(args) => watch::run(store, &args, &mut out).await,
        ApprovalsCommand::Grants(args) => grants::run(store, &args, &mut out).await,
        ApprovalsCommand::Revoke(args) => grants::revoke(store, &args, &mut out).await,
    };
    out.end(done, &place)
}
