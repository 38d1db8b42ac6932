//! Running a server from a command line.
//!
//! Every server takes the same flags ([`ServeArgs`]): `--stdio` for hosts, `--http ADDR` for everybody
//! else, and without either HTTP on this machine.

/// As the macro of the standard library, which panics when nobody reads stderr any more: a server goes on.
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
mod misplaced;
mod serving;
mod stdin;
mod stdio;

use std::io::IsTerminal;
use std::pin::Pin;

use clap::Parser;
use clap::error::ErrorKind;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{Layer as _, fmt};

use crate::{Result, Server};

use args::Way;
pub use args::{AskFlag, AuditFlag, LimitArgs, LogFormat, ServeArgs, SplitFlag};
pub use console::console;
pub use http::stop_signal;
pub use serving::Serving;

/// Runs servers.
#[allow(async_fn_in_trait)] // called on concrete types only
pub trait Run {
    /// Serves as the command line says, until input ends or a signal comes.
    async fn run(self) -> Result<()>;

    /// The same with flags that were parsed already. `about` goes to stderr when the server is ready, before the
    /// address.
    async fn serve(self, args: ServeArgs, about: &[String]) -> Result<()>;

    /// The same with more to say, or another reason to end.
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
        self.serve(Bare::parse().serve, &[]).await
    }

    async fn serve(self, args: ServeArgs, about: &[String]) -> Result<()> {
        self.serve_with(args, Serving::default().about(about.to_vec())).await
    }

    async fn serve_with(self, args: ServeArgs, serving: Serving) -> Result<()> {
        boxed(self, args, serving).await
    }
}

/// All of it behind one pointer, so that it is compiled here. Otherwise the whole server would be compiled once more in every
/// user's crate, after every change: a future is compiled by whoever polls it.
fn boxed(
    server: Server,
    args: ServeArgs,
    mut serving: Serving,
) -> Pin<Box<dyn Future<Output = Result<()>> + Send>> {
    Box::pin(async move {
        let words: Vec<String> = std::env::args().collect();
        let way = args.way(&words).unwrap_or_else(|problem| {
            // As clap does with everything else that is wrong with a command line.
            clap::Error::raw(ErrorKind::ArgumentConflict, format!("{problem}\n")).exit()
        });
        log_to_stderr(args.log_format);
        let server = ledger::attach(asking(server, &args), &args)?;
        let server = match args.split {
            None => server,
            Some(split) => server.split(split.into()),
        };
        let engine = args.limits.apply(server).build()?;
        let served = match way {
            Way::Stdio => stdio::serve(&engine, serving.stop()?).await,
            Way::Http => http::serve(engine.clone(), &args, serving).await,
        };
        // Calls with a key go on without their callers, and end before the process does.
        engine.settle().await;
        served
    })
}

/// The server with what the command line says of who is asked about what.
fn asking(mut server: Server, args: &ServeArgs) -> Server {
    if let Some(ask) = args.ask {
        server = server.ask(ask.into());
    }
    if args.out_of_band {
        server = server.out_of_band();
    }
    if let Some(time) = args.hold {
        server = server.hold(time);
    }
    args.deny.iter().fold(server, Server::deny)
}

/// Logs go to stderr, because stdout may belong to the protocol. A log that is set up already stays.
fn log_to_stderr(format: LogFormat) {
    let wanted = std::env::var("RUST_LOG").unwrap_or_default();
    let read = if wanted.contains('[') {
        Err("spans and fields cannot be chosen by it".to_owned())
    } else {
        wanted.parse::<Targets>().map_err(|problem| problem.to_string())
    };
    let (filter, problem) = match read {
        Ok(filter) if !wanted.is_empty() => (filter, None),
        Ok(_) => (warnings(), None),
        Err(problem) => (warnings(), Some(problem)),
    };
    let log = fmt::layer().with_writer(std::io::stderr);
    let log = match format {
        LogFormat::Text => log.with_ansi(std::io::stderr().is_terminal()).boxed(),
        LogFormat::Json => log.json().with_current_span(true).with_span_list(false).boxed(),
    };
    let _ = tracing_subscriber::registry().with(log.with_filter(filter)).try_init();
    if let Some(problem) = problem {
        tracing::warn!(
            problem,
            "RUST_LOG is not understood; write it like info or candor_server=debug,warn"
        );
    }
}

fn warnings() -> Targets {
    Targets::new().with_default(LevelFilter::WARN)
}
