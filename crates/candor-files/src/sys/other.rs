//! Other systems, through cap-std. It stays in the folder that it gets, and each call here passes one name. Between the check of a
//! name and its use, a link may replace it. cap-std still does not let it lead out of the folder.

use std::fs::File;
use std::io;

use cap_std::fs::{Dir, FileType, Metadata, OpenOptions};

use super::{Look, Seen};
use crate::entry::Kind;

/// Names are Unicode here. Other names cannot come from the file system.
fn text(name: &[u8]) -> io::Result<&str> {
    std::str::from_utf8(name).map_err(|_| io::ErrorKind::NotFound.into())
}

fn kind_of(file_type: FileType) -> Seen {
    if file_type.is_symlink() {
        Seen::Link
    } else if file_type.is_dir() {
        Seen::Real(Kind::Folder)
    } else {
        Seen::Real(Kind::File)
    }
}

fn look_of(metadata: &Metadata) -> Look {
    let seen = kind_of(metadata.file_type());
    Look {
        seen,
        id: None,
        size: if seen == Seen::Real(Kind::File) { metadata.len() } else { 0 },
        modified: metadata.modified().ok().map(cap_std::time::SystemTime::into_std),
        mode: if metadata.permissions().readonly() { 0o444 } else { 0o666 },
        owner: (0, 0),
    }
}

pub(crate) fn look(folder: &Dir, name: &[u8]) -> io::Result<Look> {
    Ok(look_of(&folder.symlink_metadata(text(name)?)?))
}

pub(crate) fn look_at_folder(folder: &Dir) -> io::Result<Look> {
    Ok(look_of(&folder.dir_metadata()?))
}

pub(crate) fn look_at_file(file: &File) -> io::Result<Look> {
    Ok(look_of(&Metadata::from_file(file)?))
}

pub(crate) fn enter(folder: &Dir, name: &[u8]) -> io::Result<Option<Dir>> {
    if look(folder, name)?.is(Kind::Folder) {
        folder.open_dir(text(name)?).map(Some)
    } else {
        Ok(None)
    }
}

pub(crate) fn open_to_list(folder: &Dir, name: Option<&[u8]>) -> io::Result<Dir> {
    match name {
        Some(name) => enter(folder, name)?.ok_or_else(|| io::ErrorKind::NotADirectory.into()),
        None => folder.try_clone(),
    }
}

fn open(folder: &Dir, name: &[u8], options: &OpenOptions) -> io::Result<File> {
    Ok(folder.open_with(text(name)?, options)?.into_std())
}

pub(crate) fn open_to_read(folder: &Dir, name: &[u8]) -> io::Result<File> {
    open(folder, name, OpenOptions::new().read(true))
}

pub(crate) fn open_to_append(folder: &Dir, name: &[u8]) -> io::Result<File> {
    open(folder, name, OpenOptions::new().append(true))
}

pub(crate) fn create(folder: &Dir, name: &[u8], _private: bool) -> io::Result<File> {
    open(folder, name, OpenOptions::new().append(true).create_new(true))
}

pub(crate) fn set_permissions(_file: &File, _like: &Look) -> io::Result<()> {
    Ok(())
}

pub(crate) fn set_owner(_file: &File, _like: &Look) {}

pub(crate) fn may_write(_folder: &Dir, _name: &[u8]) -> io::Result<()> {
    Ok(())
}

pub(crate) fn read_link(folder: &Dir, name: &[u8]) -> io::Result<Option<Vec<u8>>> {
    if look(folder, name)?.seen != Seen::Link {
        return Ok(None);
    }
    let target = folder.read_link_contents(text(name)?)?;
    let target = target.to_str().ok_or(io::ErrorKind::NotFound)?;
    Ok(Some(target.replace('\\', "/").into_bytes()))
}

pub(crate) fn make_folder(folder: &Dir, name: &[u8]) -> io::Result<()> {
    folder.create_dir(text(name)?)
}

pub(crate) fn remove_file(folder: &Dir, name: &[u8]) -> io::Result<()> {
    folder.remove_file(text(name)?)
}

pub(crate) fn remove_folder(folder: &Dir, name: &[u8]) -> io::Result<()> {
    folder.remove_dir(text(name)?)
}

pub(crate) fn rename(from: (&Dir, &[u8]), to: (&Dir, &[u8])) -> io::Result<()> {
    from.0.rename(text(from.1)?, to.0, text(to.1)?)
}

pub(crate) fn rename_to_nothing(
    from: (&Dir, &[u8]),
    to: (&Dir, &[u8]),
    is_folder: bool,
) -> io::Result<()> {
    if is_folder {
        to.0.create_dir(text(to.1)?)?;
        to.0.remove_dir(text(to.1)?)?;
        return rename(from, to);
    }
    from.0.hard_link(text(from.1)?, to.0, text(to.1)?)?;
    remove_file(from.0, from.1)
}

pub(crate) fn read_names(folder: &Dir, mut each: impl FnMut(&[u8], Seen)) -> io::Result<()> {
    for entry in folder.entries()? {
        let entry = entry?;
        if let Some(name) = entry.file_name().to_str() {
            each(name.as_bytes(), kind_of(entry.file_type()?));
        }
    }
    Ok(())
}
