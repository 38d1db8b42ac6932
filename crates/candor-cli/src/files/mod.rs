//! `candor files DIR`: a folder as an MCP server, read-only.

mod folder;
mod resources;
mod tools;

use std::path::PathBuf;
use std::sync::Arc;

use candor::Server;
use candor::run::{Run, ServeArgs};

use folder::Folder;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The folder to serve
    dir: PathBuf,

    #[command(flatten)]
    serve: ServeArgs,
}

pub(crate) async fn run(args: Args) -> candor::Result<()> {
    let folder = Arc::new(Folder::open(&args.dir)?);
    let root = folder.root().display().to_string();
    let about = [
        format!("candor files · {root} · read-only"),
        format!("  host     claude mcp add {} -- candor files {root} --stdio", folder.name()),
    ];
    Server::new("candor-files", env!("CARGO_PKG_VERSION"))
        .instructions(format!("Reads files beneath {root}. Paths are relative to it."))
        .tool(tools::list_files(folder.clone()))
        .tool(tools::read_file(folder.clone()))
        .resources(resources::FolderResources::new(folder))
        .serve(args.serve, &about)
        .await
}
