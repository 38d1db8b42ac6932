//! Resources as a tree: their children, their metadata without the content, and their formats.
//!
//! Run with `cargo run --example tree --features files -- --root DIR` for a folder of yours at `file:///`, beside four trees that
//! are always there:
//!
//! | URI | what it is |
//! |---|---|
//! | `file:///projects/src` | a folder that gives its files when it is read |
//! | `file:///docs/report.pdf` | one resource in two formats |
//! | `db:///` | a SQLite database: tables, and rows in them (`--database FILE` for one of yours) |
//! | `maze:///`, `numbers:///` | tests for clients: a circle, and a tree without end |

#[path = "tree/database.rs"]
mod database;
#[path = "tree/endless.rs"]
mod endless;
#[path = "tree/project.rs"]
mod project;

use std::path::PathBuf;

use candor::prelude::*;
use candor::run::ServeArgs;
use clap::Parser;

/// Resources as a tree
#[derive(Parser)]
struct Flags {
    /// A folder to serve at file:///
    #[arg(long)]
    root: Option<PathBuf>,
    /// A SQLite database to serve at db:///, instead of a small one that is made up
    #[arg(long)]
    database: Option<PathBuf>,
    #[command(flatten)]
    serve: ServeArgs,
}

#[tokio::main]
async fn main() -> candor::Result<()> {
    let flags = Flags::parse();
    let mut server = Server::new("tree", "1.0.0");
    // First, because a client that walks all resources never gets past the numbers.
    if let Some(root) = flags.root {
        server = server.resources(Directory::open(root)?.at("file:///"));
    }
    server
        .resources(project::tree())
        .resources(database::Database::open(flags.database.as_deref())?)
        .resources(endless::Maze)
        .resources(endless::Numbers)
        .serve(flags.serve, &[])
        .await
}
