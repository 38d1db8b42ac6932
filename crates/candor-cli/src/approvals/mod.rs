//! `candor approvals`: approval requests, decisions on them, and grants.
//!
//! - `list`, `show`, `decide`, `watch`, `grants`: the commands.
//! - `waiting`: a question as the ledger keeps it. `permission`: a grant in words.
//!
//! A yes is said by a person who has seen all of what they say it to: at a terminal, without a flag for it, and to exactly the question
//! that was shown. What a question holds was written by a caller and by the author of a tool, and goes through
//! [`shown`](candor::desk::shown) on its way.

mod decide;
mod grants;
mod list;
mod permission;
mod show;
mod watch;

use crate::exit::Failure;
use crate::ledger::Reading;
use crate::out::Out;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Option<Command>,

    #[command(flatten)]
    pub(crate) read: Reading,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// List approval requests, the oldest first; what `candor approvals` does by itself
    #[command(after_long_help = list::MEMBERS)]
    List,
    /// Show one approval request, with its arguments in full
    #[command(after_long_help = list::MEMBERS)]
    Show(show::Args),
    /// Approve a call, once; asks at the terminal
    Approve(decide::Approve),
    /// Deny a call; asks first if there is a terminal
    Deny(decide::Deny),
    /// Watch for approval requests, and decide them at the terminal
    Watch(watch::Args),
    /// List active grants
    #[command(after_long_help = grants::MEMBERS)]
    Grants(grants::Args),
    /// Revoke a grant
    Revoke(grants::Revoke),
}

pub(crate) async fn run(args: Args) -> Result<(), Failure> {
    let Args { command, read } = args;
    let place = read.ledger()?;
    let store = place.open(!read.json)?;
    let (store, mut out) = (&*store, Out::of_ledger(&read));
    let done = match command.unwrap_or(Command::List) {
        Command::List => list::run(store, &mut out).await,
        Command::Show(args) => show::run(store, &args, &mut out).await,
        Command::Approve(args) => decide::approve(store, &args, &mut out).await,
        Command::Deny(args) => decide::deny(store, &args, &mut out).await,
        Command::Watch(args) => watch::run(store, &args, &mut out).await,
        Command::Grants(args) => grants::run(store, &args, &mut out).await,
        Command::Revoke(args) => grants::revoke(store, &args, &mut out).await,
    };
    out.end(done, &place)
}
