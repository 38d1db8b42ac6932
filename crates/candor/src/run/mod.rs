//! Running a server from a command line.
//!
//! Every server takes the same flags ([`ServeArgs`]): `--stdio` for hosts, `--http ADDR` for everybody
//! else, and without either HTTP on this machine.

mod args;
mod http;
mod misplaced;
mod stdin;
mod stdio;

use std::io::IsTerminal;

use clap::Parser;
use clap::error::ErrorKind;
use tracing_subscriber::EnvFilter;

use crate::{Result, Secret, Server};

use args::Way;
pub use args::{LimitArgs, LogFormat, ServeArgs, SplitFlag};

/// Runs servers.
#[allow(async_fn_in_trait)] // called on concrete types only
pub trait Run {
    /// Serves as the command line says, until input ends or a signal comes.
    async fn run(self) -> Result<()>;

    /// The same with flags that were parsed already. `about` goes to stderr when the server is ready, before the
    /// address.
    async fn serve(self, args: ServeArgs, about: &[String]) -> Result<()>;
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
        let words: Vec<String> = std::env::args().collect();
        let way = args.way(&words).unwrap_or_else(|problem| {
            // As clap does with everything else that is wrong with a command line.
            clap::Error::raw(ErrorKind::ArgumentConflict, format!("{problem}\n")).exit()
        });
        log_to_stderr(args.log_format);
        let server = match &args.secret_file {
            None => self,
            Some(path) => self.secret(
                Secret::from_lines(&args::read(path, "--secret-file")?)
                    .map_err(|e| args::in_file(path, e))?,
            ),
        };
        let server = match args.split {
            None => server,
            Some(split) => server.split(split.into()),
        };
        let engine = args.limits.apply(server).build()?;
        match way {
            Way::Stdio => stdio::serve(&engine).await,
            Way::Http => http::serve(engine, &args, about).await,
        }
    }
}

/// Logs go to stderr, because stdout may belong to the protocol. A log that is set up already stays.
fn log_to_stderr(format: LogFormat) {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("warn"));
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    let _ = match format {
        LogFormat::Text => log.with_ansi(std::io::stderr().is_terminal()).try_init(),
        LogFormat::Json => log.json().with_current_span(true).with_span_list(false).try_init(),
    };
}
