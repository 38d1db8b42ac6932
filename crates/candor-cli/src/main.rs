//! The candor program.

/// Prints to stderr like the standard library's macro, but does not panic if the reader has closed stderr. That happens in
/// `candor … 2>&1 | head -1`.
macro_rules! eprintln {
    () => {
        eprintln!("")
    };
    ($($part:tt)*) => {{
        let mut stderr = std::io::stderr();
        let _ = std::io::Write::write_fmt(&mut stderr, format_args!("{}\n", format_args!($($part)*)));
    }};
}

mod accepted;
mod approvals;
mod arguments;
mod completions;
mod config;
mod console;
mod demo;
mod digest;
mod exit;
mod files;
mod history;
mod ledger;
mod new;
mod number;
mod operator;
mod out;
mod program;
mod remote;
mod shape;
mod shell;
mod signature;
mod stop;
mod targets;
mod terminal;
mod token;
mod toml;
mod width;

use std::env;
use std::ffi::OsStr;
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

use exit::{Exit, Failure};

/// Model Context Protocol servers that say what they do
#[derive(Debug, Parser)]
#[command(name = "candor", version, after_help = Exit::help())]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
#[allow(clippy::large_enum_variant)] // there is only one value
enum Command {
    /// Start here: a demo server with invoices, files, and a crash
    Demo(demo::DemoArgs),
    /// Serve a folder: its files as resources, and tools to work on them
    Files(files::FilesArgs),
    /// List a server's tools and their effects
    Tools(remote::tools::ToolsArgs),
    /// Show a call's effect and decision without running it
    Explain(remote::explain::ExplainArgs),
    /// Call a tool; asks before a call that may delete
    Call(remote::call::CallArgs),
    /// List the resources of a server, as a tree
    Resources(remote::resources::ResourcesArgs),
    /// Read a resource
    Read(remote::read::ReadArgs),
    /// Print changes on a server, until Ctrl-C
    Watch(remote::watch::WatchArgs),
    /// List the prompts of a server, or fill one in
    Prompts(remote::prompts::PromptsArgs),
    /// Diagnose the connection to a server
    Doctor(remote::doctor::DoctorArgs),
    /// Review pending approvals
    Approvals(approvals::ApprovalsArgs),
    /// List past calls
    History(history::HistoryArgs),
    /// Serve a web page with the approvals and history of a ledger's servers
    Console(console::ConsoleArgs),
    /// Create a bearer token for --tokens
    Token(token::TokenArgs),
    /// Print the configuration that a host needs for a server
    Config(config::ConfigArgs),
    /// Create a crate with a server
    New(new::NewArgs),
    /// Print a shell's completion script
    Completions(completions::CompletionsArgs),
}

#[tokio::main]
async fn main() -> ExitCode {
    let ended = run().await;
    // Also ends servers that were started and never connected.
    candor_client::end_programs().await;
    ended
}

async fn run() -> ExitCode {
    let mut cli = Cli::command();
    let (typed, command) = match cli.try_get_matches_from_mut(env::args_os()) {
        Ok(typed) => match Cli::from_arg_matches(&typed) {
            Ok(read) => (typed, read.command),
            Err(problem) => return misread(problem.format(&mut cli)),
        },
        Err(problem) => return misread(problem),
    };
    let as_json = match &command {
        Command::Approvals(args) => args.read.json,
        Command::History(args) => args.read.json,
        Command::Demo(args) => args.json,
        _ => false,
    };
    let done: Result<(), Failure> = match command {
        Command::Files(args) => files::run(args).await,
        Command::Tools(args) => return remote::tools::run(args).await,
        Command::Explain(args) => return remote::explain::run(args).await,
        Command::Call(args) => return remote::call::run(args).await,
        Command::Resources(args) => return remote::resources::run(args).await,
        Command::Read(args) => return remote::read::run(args).await,
        Command::Watch(args) => return remote::watch::run(args).await,
        Command::Prompts(args) => return remote::prompts::run(args).await,
        Command::Doctor(args) => return remote::doctor::run(args).await,
        Command::Demo(args) => {
            let demo = cli.find_subcommand("demo").zip(typed.subcommand_matches("demo"));
            let unused = demo.map(|(demo, typed)| demo::unused_by_crash(demo, typed));
            demo::run(args, &unused.unwrap_or_default()).await.map_err(Failure::from)
        }
        Command::Approvals(args) => approvals::run(args).await,
        Command::History(args) => history::run(args).await,
        Command::Console(args) => console::run(args).await,
        Command::Token(args) => token::run(&args).map_err(Failure::from),
        Command::Config(args) => config::run(args),
        Command::New(args) => new::run(&args),
        Command::Completions(args) => completions::run(&args, Cli::command()),
    };
    match done {
        Ok(()) => Exit::Done.into(),
        Err(failure) => remote::failed(failure, as_json),
    }
}

/// Reports a command line that the parser rejects, or prints help. Programs that asked for JSON get JSON.
fn misread(problem: clap::Error) -> ExitCode {
    let problem = without_dashes(candor::run::value::with_variable(problem));
    let mut words = env::args_os().take_while(|word| word != "--");
    if !(problem.use_stderr() && words.any(|word| word == "--json")) {
        problem.exit();
    }
    let said = problem.to_string();
    let said = said.strip_prefix("error: ").unwrap_or(&said).trim_end();
    remote::failed(Failure::usage(said), true)
}

/// Replaces clap's tip to write `--` before the word. Here a program follows `--`, and the arguments of a tool have no dashes.
fn without_dashes(mut problem: clap::Error) -> clap::Error {
    let Some(ContextValue::String(flag)) = problem.get(ContextKind::InvalidArg) else {
        return problem;
    };
    if problem.kind() != ErrorKind::UnknownArgument {
        return problem;
    }
    let name = flag.trim_start_matches('-').to_owned();
    let tip = match env::args_os().nth(1).as_deref().and_then(OsStr::to_str) {
        Some("call" | "explain" | "prompts") => {
            Some(format!("write arguments of a tool or a prompt without dashes: {name}=VALUE"))
        }
        Some("tools" | "resources" | "read" | "watch" | "doctor" | "config") => None,
        _ => return problem,
    };
    let tips = tip.into_iter().map(Into::into).collect();
    problem.insert(ContextKind::Suggested, ContextValue::StyledStrs(tips));
    problem
}
