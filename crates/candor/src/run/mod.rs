//! Running a server from a command line.
//!
//! Every server takes the same flags ([`ServeArgs`]): `--stdio` for hosts, `--http ADDR` for everybody
//! else, and without either HTTP on this machine.

mod args;
mod http;
mod misplaced;
mod stdio;

use clap::Parser;
use tracing_subscriber::EnvFilter;

use crate::{Result, Secret, Server};

pub use args::{LimitArgs, ServeArgs};

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
        log_to_stderr();
        let server = match &args.secret_file {
            None => self,
            Some(path) => self.secret(
                Secret::from_lines(&args::read(path, "--secret-file")?)
                    .map_err(|e| args::in_file(path, e))?,
            ),
        };
        let engine = args.limits.apply(server).build()?;
        if args.stdio {
            stdio::serve(&engine).await
        } else {
            http::serve(engine, &args, about).await
        }
    }
}

/// Logs go to stderr, because stdout may belong to the protocol. A log that is set up already stays.
fn log_to_stderr() {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("warn"));
    let _ =
        tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).try_init();
}
