//! `candor approvals`: what waits for a person, and their word on it.
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
    /// List what waits, the oldest first; what `candor approvals` does by itself
    #[command(after_long_help = list::MEMBERS)]
    List,
    /// All that a person is asked about one call, its arguments in full
    #[command(after_long_help = list::MEMBERS)]
    Show(show::Args),
    /// Let a call start, once; asks at the terminal
    Approve(decide::Approve),
    /// Deny a call; asks first if there is a terminal
    Deny(decide::Deny),
    /// Stay, show what comes, and decide it at the terminal
    Watch(watch::Args),
    /// List what is permitted for a while
    #[command(after_long_help = grants::MEMBERS)]
    Grants(grants::Args),
    /// Take back what is permitted for a while
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
