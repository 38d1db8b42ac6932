//! Files behind one tool that declares the effect of each call: reading is safe, appending adds, replacing and deleting are
//! destructive. All paths stay inside one folder.
//!
//! Run with `cargo run --example file_server -- --root DIR`, and evaluate a call with any client:
//! `tools/annotations` with `{"name": "manage_files", "arguments": {"path": "notes.txt", "action": "read"}}`.

use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use candor::prelude::*;
use candor::run::ServeArgs;
use cap_std::ambient_authority;
use cap_std::fs::{Dir, OpenOptions};
use clap::Parser;

/// Operation to perform
#[candor::args]
#[derive(Clone, Copy)]
pub(crate) enum Action {
    #[effect(reads)]
    Read,
    #[effect(adds)]
    Append,
    #[effect(changes, idempotent)]
    Replace,
    #[effect(deletes, idempotent)]
    Delete,
}

/// Read, append, replace, or delete file contents
#[tool(effects(by = action), closed_world, blocking)]
pub(crate) fn manage_files(
    /// File path to operate on
    path: String,
    /// Operation to perform
    action: Action,
    /// Content for append/replace operations
    #[optional]
    content: Option<String>,
    folder: State<Folder>,
) -> Result<String, ToolError> {
    folder.manage(&path, action, content.as_deref().unwrap_or_default())
}

/// The folder that is served. No path leads out of it.
pub(crate) struct Folder(Dir);

impl Folder {
    pub(crate) fn open(root: &Path) -> io::Result<Self> {
        Dir::open_ambient_dir(root, ambient_authority()).map(Self)
    }

    pub(crate) fn manage(
        &self,
        path: &str,
        action: Action,
        content: &str,
    ) -> Result<String, ToolError> {
        let Self(folder) = self;
        let done = match action {
            Action::Read => folder.read_to_string(path),
            Action::Append => folder
                .open_with(path, OpenOptions::new().append(true).create(true))
                .and_then(|mut file| file.write_all(content.as_bytes()))
                .map(|()| format!("Appended {} bytes", content.len())),
            Action::Replace => {
                folder.write(path, content).map(|()| format!("Wrote {} bytes", content.len()))
            }
            // A second delete changes nothing and succeeds: that is what `idempotent` promises.
            Action::Delete => match folder.remove_file(path) {
                Err(error) if error.kind() == ErrorKind::NotFound => Ok("Already gone".to_owned()),
                done => done.map(|()| "Deleted".to_owned()),
            },
        };
        done.map_err(|error| match error.kind() {
            ErrorKind::NotFound => {
                ToolError::new("No such file").code("not_found").field("/path", "names no file")
            }
            ErrorKind::PermissionDenied => {
                ToolError::new("Not allowed: paths stay below the folder that is served")
                    .code("not_allowed")
                    .never_retry()
            }
            ErrorKind::IsADirectory => {
                ToolError::new("That is a folder").code("is_a_folder").never_retry()
            }
            _ => error.into(),
        })
    }
}

/// Files behind one tool that declares the effect of each call
#[derive(Parser)]
struct Flags {
    /// The folder that is served
    #[arg(long, default_value = ".")]
    root: PathBuf,
    #[command(flatten)]
    serve: ServeArgs,
}

pub(crate) fn server(root: &Path) -> io::Result<Server> {
    let folder = Folder::open(root)?;
    Ok(Server::new("file-server", "1.0.0").state(folder).tools(tools![manage_files]))
}

#[tokio::main]
async fn main() -> candor::Result<()> {
    let flags = Flags::parse();
    server(&flags.root)?.serve(flags.serve, &[]).await
}
