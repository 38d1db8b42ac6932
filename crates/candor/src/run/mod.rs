//! Runs a server from a command line.
//!
//! Every server takes the same flags ([`ServeArgs`]): `--stdio` for hosts, `--http ADDR` for other
//! clients, and without either, HTTP on this machine. [`Run`] combines them with your own flags.

/// Replaces the macro of the standard library, which panics if stderr is closed: a server must keep running.
macro_rules! eprintln {
    ($($part:tt)*) => {{
        let mut stderr = std::io::stderr();
        let _ = std::io::Write::write_fmt(&mut stderr, format_args!("{}\n", format_args!($($part)*)));
    }};
}

mod args;
mod console;
mod http;
mod ledger;
mod log;
mod misplaced;
mod serving;
mod stdin;
mod stdio;
pub mod value;

use std::pin::Pin;

use clap::Parser;
use clap::error::ErrorKind;
use tokio::task::JoinSet;

use crate::{Error, Result, Server};

use args::ServeMode;
pub use args::{AskFlag, AuditFlag, KeepArgumentsFlag, LimitArgs, LogFormat, ServeArgs, SplitFlag};
pub use console::console;
pub use http::stop_signal;
pub use serving::Serving;

/// Methods that run a server. The prelude exports this trait.
///
/// With your own flags beside those that every server takes (with [`clap`](https://docs.rs/clap) 4 as a dependency):
///
/// ```no_run
/// use std::path::PathBuf;
///
/// use candor::prelude::*;
/// use candor::run::ServeArgs;
/// use clap::Parser;
///
/// /// Keeps notes
/// #[derive(Parser)]
/// struct Flags {
///     /// The file that notes are kept in
///     #[arg(long, default_value = "notes.txt")]
///     notes: PathBuf,
///     #[command(flatten)]
///     serve: ServeArgs,
/// }
///
/// /// The latest notes.
/// #[tool(reads, closed_world, blocking)]
/// fn notes(file: State<PathBuf>) -> Result<String, ToolError> {
///     Ok(std::fs::read_to_string(&*file)?)
/// }
///
/// #[tokio::main]
/// async fn main() -> candor::Result<()> {
///     let flags = Flags::parse();
///     Server::new("notes", "1.0.0").state(flags.notes).tools(tools![notes]).serve(flags.serve, &[]).await
/// }
/// ```
#[allow(async_fn_in_trait)] // called on concrete types only
pub trait Run {
    /// Serves as the command line says, until the input ends or a stop signal arrives.
    async fn run(self) -> Result<()>;

    /// Serves with flags that are already parsed. `about` goes to stderr when the server is ready, before the address. If flags
    /// contradict each other or the server, the program exits as it does for flags that the parser cannot read.
    async fn serve(self, args: ServeArgs, about: &[String]) -> Result<()>;

    /// Serves with flags that are already parsed, and with more lines to print or another reason to stop. It never exits the
    /// program: [`Error::is_usage`](crate::Error::is_usage) tells mistakes in the flags from other failures.
    async fn serve_with(self, args: ServeArgs, serving: Serving) -> Result<()>;
}

/// A command line that has nothing but the flags of every server.
#[derive(Debug, Parser)]
#[command(about = "An MCP server", version = None)]
struct Bare {
    #[command(flatten)]
    serve: ServeArgs,
}

impl Run for Server {
    async fn run(self) -> Result<()> {
        let flags =
            Bare::try_parse().unwrap_or_else(|problem| value::with_variable(problem).exit());
        self.serve(flags.serve, &[]).await
    }

    async fn serve(self, args: ServeArgs, about: &[String]) -> Result<()> {
        match self.serve_with(args, Serving::default().about(about.to_vec())).await {
            Err(error) if error.is_usage() => {
                clap::Error::raw(ErrorKind::ArgumentConflict, format!("{error}\n")).exit()
            }
            served => served,
        }
    }

    async fn serve_with(self, args: ServeArgs, serving: Serving) -> Result<()> {
        boxed(self, args, serving).await
    }
}

/// Serves behind one boxed future, so that it is compiled here. A future is compiled in the crate that polls it: otherwise,
/// every user's crate would compile the whole server again after every change.
fn boxed(
    server: Server,
    args: ServeArgs,
    mut serving: Serving,
) -> Pin<Box<dyn Future<Output = Result<()>> + Send>> {
    Box::pin(async move {
        // Not `args`, which panics if an argument is not Unicode.
        let words = std::env::args_os().map(|word| word.to_string_lossy().into_owned());
        let words: Vec<String> = words.collect();
        let way = args.way(&words)?;
        // Only over HTTP: the variable may name tokens for other servers.
        if let (ServeMode::Http, Some(path)) = (way, &args.tokens) {
            value::must_be_there("--tokens", path)?;
        }
        log::to_stderr(args.log_format);
        let server = match args.instance_name() {
            None => server,
            Some(instance) => server.instance(instance),
        };
        let server = ledger::attach(asking(server, &args)?, &args)?;
        let server = match args.split {
            None => server,
            Some(split) => server.split(split.into()),
        };
        let engine = args.limits.apply(server).build()?;
        // Dropping this set cancels shutdown messages that are still pending.
        let mut telling = JoinSet::new();
        let served = match way {
            ServeMode::Stdio => stdio::serve(&engine, serving.stop()?).await,
            ServeMode::Http => http::serve(engine.clone(), &args, serving, &mut telling).await,
        };
        // Calls with a key keep running without their callers. Wait for them before the process ends.
        engine.settle().await;
        served
    })
}

/// Applies the command line's approval policy to the server.
fn asking(mut server: Server, args: &ServeArgs) -> Result<Server> {
    if let Some(ask) = args.ask {
        server = server.ask(ask.into());
    }
    if args.operators_only() {
        server = server.operators_only();
    }
    if let Some(time) = args.hold {
        server = server.hold(time);
    }
    // An empty variable names none.
    for tool in args.deny.iter().map(|tool| tool.trim()).filter(|tool| !tool.is_empty()) {
        let names = server.tool_names().filter(|names| !names.iter().any(|name| name == tool));
        let Some(names) = names else {
            server = server.deny(tool);
            continue;
        };
        // An operator who misspells a tool would believe that it is denied. A variable may name a tool of another server.
        match value::variable("--deny") {
            Some(variable) => tracing::warn!(tool, "{variable}: this server has no such tool"),
            None => {
                let names = names.join(", ");
                return Err(Error::usage(format!(
                    "--deny {tool}: this server has no such tool; it has {names}"
                )));
            }
        }
    }
    Ok(server)
}
