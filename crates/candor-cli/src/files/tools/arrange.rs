//! Creates folders, and moves or copies files: `make_folder` and `move_files`.

use candor::files::{Overwrite, RootedPath, WriteResult};
use candor::prelude::*;

use super::{Folder, preview};

/// Make a folder, and those above it that are missing
#[tool(adds, idempotent, closed_world)]
pub(super) async fn make_folder(
    /// Folder to make
    path: String,
    folder: State<Folder>,
) -> Result<String, ToolError> {
    folder
        .run(move |root| {
            let place = RootedPath::parse(&path)?;
            Ok(match root.make_folder(&place)? {
                WriteResult::Created => format!("Created the folder {place}"),
                WriteResult::Existed => format!("The folder {place} already existed"),
            })
        })
        .await
}

/// What to do, and whether something that has the new name may be lost
#[candor::args]
#[derive(Clone, Copy)]
pub(super) enum Arrange {
    /// Copy a file to a name that nothing has
    #[effect(adds)]
    Copy,
    /// Copy a file; a file that has the name is replaced
    #[effect(changes, idempotent)]
    CopyOver,
    /// Give a file or folder a name that nothing has
    #[effect(changes)]
    Move,
    /// Give it a new name; a file that has the name is replaced
    #[effect(deletes)]
    MoveOver,
}

/// Move, rename or copy a file; folders can be moved
#[tool(effects(by = action), closed_world, preview = preview::of_move, omit(preview))]
pub(super) async fn move_files(
    /// What to move or copy
    from: String,
    /// Its new path, with its new name
    to: String,
    action: Arrange,
    folder: State<Folder>,
) -> Result<String, ToolError> {
    let largest = folder.largest;
    folder
        .run(move |root| {
            let (from, to) = (RootedPath::parse(&from)?, RootedPath::parse(&to)?);
            let (done, outcome) = match action {
                Arrange::Copy => ("Copied", root.copy(&from, &to, Overwrite::No, largest)?),
                Arrange::CopyOver => ("Copied", root.copy(&from, &to, Overwrite::Yes, largest)?),
                Arrange::Move => ("Moved", root.rename(&from, &to, Overwrite::No)?),
                Arrange::MoveOver => ("Moved", root.rename(&from, &to, Overwrite::Yes)?),
            };
            let over = match outcome {
                WriteResult::Created => "",
                WriteResult::Existed => ", which was replaced",
            };
            Ok(format!("{done} {from} to {to}{over}"))
        })
        .await
}
