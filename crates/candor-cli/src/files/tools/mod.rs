//! The tools of a folder, each with its exact effects. All of them stay inside the root, by the same checks as the resources.

mod arrange;
mod list;
mod manage;
mod preview;
mod search;

use std::sync::Arc;

use candor::files::{FileError, PathError, Root, RootedPath};
use candor::prelude::*;
use candor::tool::Tool;

/// The folder that the tools work on.
pub(crate) struct Folder {
    pub(crate) root: Root,
    /// Creates the URIs of the files inside.
    pub(crate) directory: Directory,
    /// The largest file to read, write or copy.
    pub(crate) largest: u64,
}

/// Returns all tools.
pub(crate) fn all() -> Vec<Arc<dyn Tool>> {
    tools![
        manage::manage_files,
        list::list_files,
        search::search_files,
        arrange::make_folder,
        arrange::move_files
    ]
}

/// Returns the tools that only read.
pub(super) fn that_read() -> Vec<Arc<dyn Tool>> {
    tools![manage::read_file, list::list_files, search::search_files]
}

/// Returns the resource URI of a path if its text cannot be parsed back to the same path: some names are not UTF-8.
fn uri_if_needed(directory: &Directory, place: &RootedPath) -> Option<String> {
    let leads_back = RootedPath::parse(&place.to_string()).is_ok_and(|read| read == *place);
    (!leads_back).then(|| directory.uri_of(place))
}

/// Why an operation on a file failed.
enum FilesProblem {
    Place(PathError),
    File(FileError),
}

impl From<PathError> for FilesProblem {
    fn from(error: PathError) -> Self {
        Self::Place(error)
    }
}

impl From<FileError> for FilesProblem {
    fn from(error: FileError) -> Self {
        Self::File(error)
    }
}

impl Folder {
    /// Runs blocking file operations on a thread that may block.
    async fn run<T: Send + 'static>(
        &self,
        run: impl FnOnce(&Root) -> Result<T, FilesProblem> + Send + 'static,
    ) -> Result<T, ToolError> {
        let root = self.root.clone();
        let done = tokio::task::spawn_blocking(move || run(&root)).await?;
        done.map_err(|problem| match problem {
            FilesProblem::Place(error) => error.told(),
            FilesProblem::File(error) => self.advised(&error),
        })
    }

    /// Reserves capacity for the text of a file before it is read. A file that is too large is not read and needs no capacity.
    async fn reserve_text(&self, path: String, ctx: &Ctx) -> Result<RootedPath, ToolError> {
        let look = move |root: &Root| {
            let place = RootedPath::parse(&path)?;
            let size = root.entry(&place).map_or(0, |entry| entry.size);
            Ok((place, size))
        };
        let (place, size) = self.run(look).await?;
        ctx.reserve_response(if size > self.largest { 0 } else { size }).await?;
        Ok(place)
    }

    /// Returns the error for the caller. If the file is not text, it has a link to the resource.
    fn advised(&self, error: &FileError) -> ToolError {
        match error {
            FileError::NotText(place) => {
                let link = self.link(place);
                let told = error.told();
                told.content([Content::ResourceLink(link)])
            }
            _ => error.told(),
        }
    }

    /// Returns a link to the file as a resource, where bytes that are not text can be read.
    fn link(&self, place: &RootedPath) -> candor::protocol::types::ResourceLink {
        let name = place.name().map(|name| String::from_utf8_lossy(name).into_owned());
        candor::protocol::types::ResourceLink::new(
            self.directory.uri_of(place),
            name.unwrap_or_default(),
        )
    }

    /// Returns an error if the size is above the limit for writing.
    fn check_size(&self, place: &RootedPath, size: usize) -> Result<(), ToolError> {
        let (size, limit) = (size as u64, self.largest);
        if size <= limit {
            return Ok(());
        }
        Err(FileError::TooLarge { place: place.clone(), size, limit }.told())
    }
}
