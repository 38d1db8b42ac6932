//! Lists a folder: `list_files`.

use candor::files::{Entry, RootedPath};
use candor::prelude::*;

use super::{Folder, uri_if_needed};

/// The maximum number of entries in one response.
const PAGE: usize = 1000;

/// What a folder holds, or the part of it that was asked for.
#[candor::args]
pub(super) struct FolderList {
    /// In order of their names
    entries: Vec<Item>,
    /// There is more: call again with this as `after`
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

/// Something in a folder.
#[candor::args]
pub(super) struct Item {
    /// From the root on
    path: String,
    /// file, folder, dangling_link, pipe, socket or device
    kind: String,
    /// Bytes, of a file
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<u64>,
    /// When it was last changed
    #[serde(skip_serializing_if = "Option::is_none")]
    modified: Option<String>,
    /// Where its path cannot be written as text: its resource
    #[serde(skip_serializing_if = "Option::is_none")]
    uri: Option<String>,
}

impl Item {
    fn of(entry: &Entry, directory: &Directory) -> Self {
        Self {
            uri: uri_if_needed(directory, &entry.place),
            path: entry.place.to_string(),
            kind: entry.kind.as_str().to_owned(),
            size: (entry.kind == candor::files::Kind::File).then_some(entry.size),
            modified: entry.modified_text(),
        }
    }
}

/// List what is in a folder: names, kinds, sizes and times, not what is deeper
#[tool(reads, closed_world)]
pub(super) async fn list_files(
    /// Folder to list; the root if it is left out
    #[default(String::new())]
    path: String,
    /// Go on from here: what `next` was
    #[optional]
    after: Option<String>,
    folder: State<Folder>,
) -> Result<FolderList, ToolError> {
    let directory = folder.directory.clone();
    folder
        .run(move |root| {
            let place = RootedPath::parse(&path)?;
            // Names are bytes, and a URI can represent every one of them as text.
            let after = after.as_deref().map(RootedPath::from_uri_path).transpose()?;
            let page = root.page(&place, after.as_ref().and_then(RootedPath::name), PAGE)?;
            let next = page.next.map(|name| RootedPath::root().join(name)).transpose()?;
            let entries = page.entries.iter().map(|e| Item::of(e, &directory)).collect();
            Ok(FolderList { entries, next: next.map(|place| place.to_uri_path()) })
        })
        .await
}
