//! `candor console`: approvals and history in a browser, for all servers that write to a ledger.

use std::net::SocketAddr;

use crate::exit::Failure;
use crate::ledger::Ledger;

#[derive(Debug, clap::Args)]
pub(crate) struct ConsoleArgs {
    /// Which ledger: sqlite:PATH, a path, or postgres://… [default: ledger.db in the state directory]
    #[arg(long, value_name = "URL", env = "CANDOR_LEDGER", hide_env_values = true)]
    ledger: Option<String>,

    /// Serve on this address of this machine; port 0 picks a free one [default: 127.0.0.1:7332 or the next free port]
    #[arg(long, value_name = "ADDR", env = "CANDOR_HTTP", value_parser = candor::run::value::address)]
    http: Option<SocketAddr>,
}

pub(crate) async fn run(args: ConsoleArgs) -> Result<(), Failure> {
    let store = Ledger::of(args.ledger.as_deref())?.open(true)?;
    Ok(candor::run::console(store, args.http).await?)
}
