//! The candor program.

mod approvals;
mod console;
mod demo;
mod files;
mod history;
mod ledger;
mod operator;
mod out;
mod terminal;
mod token;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Model Context Protocol servers that say what they do
#[derive(Debug, Parser)]
#[command(name = "candor", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
#[allow(clippy::large_enum_variant)] // there is one of it
enum Command {
    /// Serve a folder: its files as resources, and tools to work on them
    Files(files::Args),
    /// A small world to try everything in: invoices, files, and a crash
    Demo(demo::Args),
    /// What waits for a person: see it, decide it
    Approvals(approvals::Args),
    /// What happened: operations and calls, from the ledger
    History(history::Args),
    /// Approvals and history in a browser, of every server that writes to a ledger
    Console(console::Args),
    /// Make a bearer token for --tokens
    Token(token::Args),
}

#[tokio::main]
async fn main() -> ExitCode {
    let done = match Cli::parse().command {
        Command::Files(args) => files::run(args).await,
        Command::Demo(args) => demo::run(args).await,
        Command::Approvals(args) => approvals::run(args).await,
        Command::History(args) => history::run(args).await,
        Command::Console(args) => console::run(args).await,
        Command::Token(args) => token::run(&args),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
