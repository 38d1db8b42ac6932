//! Works on the content of one file: `manage_files`, and `read_file` on a read-only server.

use candor::files::{FileError, RootedPath, WriteResult};
use candor::prelude::*;

use super::{Folder, preview};

/// Operation to perform
#[candor::args]
#[derive(Clone, Copy)]
pub(super) enum Action {
    /// Return the text of the file
    #[effect(reads)]
    Read,
    /// Write the content at the end of the file; a missing file is created
    #[effect(adds)]
    Append,
    /// Give the file this content and no other; a missing file is created
    #[effect(changes, idempotent)]
    Replace,
    /// Delete the file, or an empty folder
    #[effect(deletes, idempotent)]
    Delete,
}

/// Read, append, replace, or delete file contents
// A read needs no preview, so the description does not ask models for one.
#[tool(effects(by = action), closed_world, preview = preview::of_manage, omit(preview))]
pub(super) async fn manage_files(
    /// File path to operate on
    path: String,
    action: Action,
    /// Content for append/replace operations
    #[optional]
    content: Option<String>,
    folder: State<Folder>,
    ctx: Ctx,
) -> Result<String, ToolError> {
    match action {
        Action::Read => read(&folder, path, &ctx).await,
        Action::Append => append(&folder, path, given(content, "append")?).await,
        Action::Replace => replace(&folder, path, given(content, "replace")?).await,
        Action::Delete => delete(&folder, path).await,
    }
}

/// Return the text of a file
#[tool(reads, closed_world)]
pub(super) async fn read_file(
    /// File to read
    path: String,
    folder: State<Folder>,
    ctx: Ctx,
) -> Result<String, ToolError> {
    read(&folder, path, &ctx).await
}

/// Requires the content. A missing one is more likely a mistake than the wish for an empty file.
pub(super) fn given(content: Option<String>, action: &str) -> Result<String, ToolError> {
    content.ok_or_else(|| {
        ToolError::new(format!("To {action}, content is needed"))
            .code("no_content")
            .field("/content", "missing; an empty string means an empty text")
    })
}

async fn read(folder: &Folder, path: String, ctx: &Ctx) -> Result<String, ToolError> {
    let (largest, place) = (folder.largest, folder.reserve_text(path, ctx).await?);
    folder.run(move |root| Ok(root.read_text(&place, largest)?)).await
}

async fn append(folder: &Folder, path: String, content: String) -> Result<String, ToolError> {
    let place = RootedPath::parse(&path).map_err(|e| e.told())?;
    let limit = folder.largest;
    folder
        .run(move |root| {
            // Do not append to a file beyond the size that can be read.
            let before = root.entry(&place).map_or(0, |entry| entry.size);
            let size = before.saturating_add(content.len() as u64);
            if size > limit {
                return Err(FileError::TooLarge { place, size, limit }.into());
            }
            let outcome = root.append(&place, content.as_bytes())?;
            Ok(wrote("Appended", content.len(), &place, outcome))
        })
        .await
}

async fn replace(folder: &Folder, path: String, content: String) -> Result<String, ToolError> {
    let place = RootedPath::parse(&path).map_err(|e| e.told())?;
    folder.check_size(&place, content.len())?;
    folder
        .run(move |root| {
            let outcome = root.replace(&place, content.as_bytes())?;
            Ok(wrote("Wrote", content.len(), &place, outcome))
        })
        .await
}

async fn delete(folder: &Folder, path: String) -> Result<String, ToolError> {
    folder
        .run(move |root| {
            let place = RootedPath::parse(&path)?;
            match root.delete(&place) {
                Ok(()) => Ok(format!("Deleted {place}")),
                // A second delete changes nothing and succeeds: that is what `idempotent` promises.
                Err(FileError::NotFound(_) | FileError::NoFolder(_)) => {
                    Ok(format!("{place} did not exist"))
                }
                Err(error) => Err(error.into()),
            }
        })
        .await
}

fn wrote(what: &str, bytes: usize, place: &RootedPath, outcome: WriteResult) -> String {
    let made = match outcome {
        WriteResult::Created => ", which is new",
        WriteResult::Existed => "",
    };
    format!("{what} {bytes} bytes to {place}{made}")
}
