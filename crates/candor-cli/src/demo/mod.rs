//! `candor demo`: sample data to try everything on, created anew every time. `candor demo --crash`: a server is killed in the
//! middle of a charge, and the card is charged once.
//!
//! - `world`: the demo's folder, which is removed when the demo ends. `seeds`: its initial data.
//! - `invoices`, `database`: shared with the examples. The tools for files are those of `candor files`.
//! - `tips`: commands to try. `crash`: a charge whose server is killed.

mod crash;
#[path = "../../../../examples/tree/database.rs"]
mod database;
mod invoices;
mod seeds;
mod tips;
mod world;

use std::path::PathBuf;

use candor::files::Root;
use candor::prelude::*;
use candor::run::{AskFlag, ServeArgs, Serving, stop_signal};

use crate::files::{MAX_FILE, asks_before_destroying, tools};
use clap::ArgMatches;
use clap::parser::ValueSource;
use database::Database;
use tips::Tips;
use world::DemoData;

// CANDOR_LEDGER is for the user's own servers, so the demo ignores it. Only --ledger selects another ledger.
#[derive(Debug, clap::Args)]
#[command(mut_arg("ask", asks_before_destroying))]
#[command(mut_arg("ledger", |ledger| ledger.env(None).help("Store calls here instead: sqlite:PATH, postgres://…, or memory: [default: a file in the folder of the demo]")))]
pub(crate) struct DemoArgs {
    /// Keep the demo's folder, and print its path
    #[arg(long)]
    keep: bool,

    /// Show what a crash does: a charge, its server killed before it answers, and the retry that does not charge again
    #[arg(long)]
    crash: bool,

    /// With --crash: one JSON object, for programs
    #[arg(long, requires = "crash")]
    pub(crate) json: bool,

    /// The server that --crash starts, with its charges in this folder
    #[arg(long, hide = true, value_name = "DIR")]
    charges: Option<PathBuf>,

    /// That server charges and then never answers
    #[arg(long, hide = true, requires = "charges")]
    never_answer: bool,

    #[command(flatten)]
    serve: ServeArgs,
}

/// Returns the flags that were typed and that `--crash` does not use. Variables do not count: they are for the user's own servers.
pub(crate) fn unused_by_crash(command: &clap::Command, typed: &ArgMatches) -> Vec<String> {
    let used = ["crash", "keep", "json", "charges", "never_answer"];
    let flags = command.get_arguments().filter(|flag| !used.contains(&flag.get_id().as_str()));
    let flags = flags.filter(|flag| {
        matches!(typed.try_contains_id(flag.get_id().as_str()), Ok(true))
            && typed.value_source(flag.get_id().as_str()) == Some(ValueSource::CommandLine)
    });
    flags.filter_map(|flag| flag.get_long().map(|name| format!("--{name}"))).collect()
}

/// `unused`: the flags that were typed and that `--crash` does not use.
pub(crate) async fn run(args: DemoArgs, unused: &[String]) -> candor::Result<()> {
    if let Some(folder) = &args.charges {
        return crash::server::serve(folder, args.never_answer).await;
    }
    if args.crash && args.serve.ledger.is_some() {
        return Err(candor::Error::usage(
            "--crash has its own ledger, in the demo's folder. Leave out --ledger. \
             With --keep the folder stays, and `candor history --ledger sqlite:FOLDER/ledger.db` reads it",
        ));
    }
    if args.crash && !unused.is_empty() {
        let flags = unused.join(" ");
        return Err(candor::Error::usage(format!(
            "--crash does not use {flags}: its server has its own settings. Leave out {flags}"
        )));
    }
    // Listen before the folder exists, so that no signal leaves it behind.
    let stop = stop()?;
    let world = DemoData::make(args.keep)?;
    if args.crash {
        tokio::select! {
            told = crash::tell(world.path(), args.keep, args.json) => told,
            () = stop => Err(candor::Error::new("stopped before the end")),
        }
    } else {
        serve(&world, args.serve, stop).await
    }
}

/// Like [`stop_signal`], and also completes when the terminal closes: that would end the process and leave the folder.
#[cfg(target_os = "linux")]
fn stop() -> std::io::Result<impl Future<Output = ()> + Send> {
    use tokio::signal::unix::{SignalKind, signal};
    let stop = stop_signal()?;
    let mut closed = match crate::stop::ignores_hangup() {
        true => None,
        false => Some(signal(SignalKind::hangup())?),
    };
    Ok(async move {
        let closed = async {
            match &mut closed {
                Some(closed) => {
                    closed.recv().await;
                }
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = stop => {}
            () = closed => {}
        }
    })
}

#[cfg(not(target_os = "linux"))]
use stop_signal as stop;

/// Serves the sample data until a signal arrives.
async fn serve(
    world: &DemoData,
    mut args: ServeArgs,
    stop: impl Future<Output = ()> + Send + 'static,
) -> candor::Result<()> {
    let scratch = world.path().join("scratch");
    let books = world.path().join("books.db");
    let ledger = world.path().join("ledger.db");
    seeds::sow_files(&scratch)?;
    let invoices = seeds::sow_books(&books)?;
    let ledger = args.ledger.get_or_insert_with(|| format!("sqlite:{}", ledger.display())).clone();
    let ask = candor::AskLevel::from(args.ask.unwrap_or(AskFlag::Destructive));
    let about = [
        format!("candor demo · {} · asks before: {}", world.describe(), ask.as_str()),
        format!("  files    {}", scratch.display()),
        format!("  books    {}", books.display()),
    ];
    let tips = Tips { asks: ask != candor::AskLevel::Never, console: !args.no_console, ledger };
    let root = Root::open(&scratch)?;
    let directory = Directory::of(root.clone()).at("scratch:///");
    let server = Server::new("candor-demo", env!("CARGO_PKG_VERSION"))
        .instance(format!("demo:{}", world.path().display()))
        .instructions(
            "Sample data: invoices in a database, and a folder with a few files. None of it is real.",
        )
        .ask(candor::AskLevel::Destructive)
        .state(invoices)
        .state(tools::Folder { root, directory: directory.clone(), largest: MAX_FILE })
        .tools(invoices::tools())
        .tools(tools::all())
        .resources(directory)
        .resources(Database::open(Some(&books))?);
    let serving = Serving::default()
        .about(about)
        .telling(move |address| tips.lines(address.port()))
        .until(stop);
    server.serve_with(args, serving).await
}
