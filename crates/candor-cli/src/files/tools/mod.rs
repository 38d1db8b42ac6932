//! The tools of a folder, each with exactly the effects that it has. All of them stay inside the root, by the same checks as
//! the resources.

mod arrange;
mod list;
mod manage;
mod preview;
mod search;

use std::sync::Arc;

use candor::files::{FileError, PathError, Root, RootedPath};
use candor::prelude::*;
use candor::tool::Tool;

/// The folder, and what may be done with it.
pub(crate) struct Folder {
    pub(crate) root: Root,
    /// For the URIs of what is in it.
    pub(crate) directory: Directory,
    /// The largest file to read, write or copy.
    pub(crate) largest: u64,
}

/// Everything.
pub(crate) fn all() -> Vec<Arc<dyn Tool>> {
    tools![
        manage::manage_files,
        list::list_files,
        search::search_files,
        arrange::make_folder,
        arrange::move_files
    ]
}

/// What changes nothing.
pub(super) fn that_read() -> Vec<Arc<dyn Tool>> {
    tools![manage::read_file, list::list_files, search::search_files]
}

/// The resource of something whose path, as it is shown, does not lead to it: names are bytes, and some are no text.
fn uri_if_needed(directory: &Directory, place: &RootedPath) -> Option<String> {
    let leads_back = RootedPath::parse(&place.to_string()).is_ok_and(|read| read == *place);
    (!leads_back).then(|| directory.uri_of(place))
}

/// Why something could not be done.
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
    /// Does what blocks where that is allowed.
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

    /// Reserves capacity for the text of a file before it is read. One that is too large is not read, and needs nothing.
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

    /// What went wrong, with a way on where there is one.
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

    /// The same as a resource: bytes that are no text can be read there.
    fn link(&self, place: &RootedPath) -> candor::protocol::types::ResourceLink {
        let name = place.name().map(|name| String::from_utf8_lossy(name).into_owned());
        candor::protocol::types::ResourceLink::new(
            self.directory.uri_of(place),
            name.unwrap_or_default(),
        )
    }

    /// Refuses more than may be written.
    fn check_size(&self, place: &RootedPath, size: usize) -> Result<(), ToolError> {
        let (size, limit) = (size as u64, self.largest);
        if size <= limit {
            return Ok(());
        }
        Err(FileError::TooLarge { place: place.clone(), size, limit }.told())
    }
}
