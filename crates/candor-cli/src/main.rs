//! The candor program.

mod approvals;
#[cfg_attr(not(test), expect(dead_code, reason = "for the commands that talk to a server"))]
mod arguments;
mod completions;
mod config;
mod console;
mod exit;
mod files;
mod history;
mod ledger;
mod new;
mod operator;
mod out;
mod reach;
mod shape;
mod shell;
mod signature;
mod terminal;
mod token;
mod toml;

use std::process::ExitCode;

use clap::{CommandFactory as _, Parser, Subcommand};

use exit::{Exit, Failure};

/// Model Context Protocol servers that say what they do
#[derive(Debug, Parser)]
#[command(name = "candor", version, after_help = Exit::help())]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
#[allow(clippy::large_enum_variant)] // there is one of it
enum Command {
    /// Serve a folder: its files as resources, and tools to work on them
    Files(files::Args),
    /// What waits for a person: see it, decide it
    Approvals(approvals::Args),
    /// What happened: operations and calls, from the ledger
    History(history::Args),
    /// Approvals and history in a browser, of every server that writes to a ledger
    Console(console::Args),
    /// Make a bearer token for --tokens
    Token(token::Args),
    /// Print what to paste into a host so that it starts, or reaches, a server
    Config(config::Args),
    /// Make a crate with a server, to begin with
    New(new::Args),
    /// Write what a shell has to know to complete this command line
    Completions(completions::Args),
}

#[tokio::main]
async fn main() -> ExitCode {
    let done: Result<(), Failure> = match Cli::parse().command {
        Command::Files(args) => files::run(args).await.map_err(Failure::from),
        Command::Approvals(args) => approvals::run(args).await.map_err(Failure::from),
        Command::History(args) => history::run(args).await.map_err(Failure::from),
        Command::Console(args) => console::run(args).await.map_err(Failure::from),
        Command::Token(args) => token::run(&args).map_err(Failure::from),
        Command::Config(args) => config::run(args),
        Command::New(args) => new::run(&args),
        Command::Completions(args) => completions::run(&args, Cli::command()),
    };
    match done {
        Ok(()) => Exit::Done.into(),
        Err(failure) => {
            eprintln!("error: {failure}");
            failure.exit.into()
        }
    }
}
