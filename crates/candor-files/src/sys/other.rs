//! Other systems, through cap-std. It stays in the folder that it gets, and each call here passes one name. Between the check of a
//! name and its use, a link may replace it. cap-std still does not let it lead out of the folder.

use std::fs::File;
use std::io;

use cap_std::fs::{Dir, FileType, Metadata, OpenOptions};

use super::{NameKind, NameStatus};
use crate::entry::Kind;

/// Names are Unicode here. Other names cannot come from the file system.
fn text(name: &[u8]) -> io::Result<&str> {
    std::str::from_utf8(name).map_err(|_| io::ErrorKind::NotFound.into())
}

fn kind_of(file_type: FileType) -> NameKind {
    if file_type.is_symlink() {
        NameKind::Link
    } else if file_type.is_dir() {
        NameKind::Real(Kind::Folder)
    } else {
        NameKind::Real(Kind::File)
    }
}

fn look_of(metadata: &Metadata) -> NameStatus {
    let seen = kind_of(metadata.file_type());
    NameStatus {
        seen,
        id: None,
        size: if seen == NameKind::Real(Kind::File) { metadata.len() } else { 0 },
        modified: metadata.modified().ok().map(cap_std::time::SystemTime::into_std),
        mode: if metadata.permissions().readonly() { 0o444 } else { 0o666 },
        owner: (0, 0),
    }
}

pub(crate) fn look(folder: &Dir, name: &[u8]) -> io::Result<NameStatus> {
    Ok(look_of(&folder.symlink_metadata(text(name)?)?))
}

pub(crate) fn look_at_folder(folder: &Dir) -> io::Result<NameStatus> {
    Ok(look_of(&folder.dir_metadata()?))
}

pub(crate) fn look_at_file(file: &File) -> io::Result<NameStatus> {
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

pub(crate) fn set_permissions(_file: &File, _like: &NameStatus) -> io::Result<()> {
    Ok(())
}

pub(crate) fn set_owner(_file: &File, _like: &NameStatus) {}

pub(crate) fn may_write(_folder: &Dir, _name: &[u8]) -> io::Result<()> {
    Ok(())
}

pub(crate) fn read_link(folder: &Dir, name: &[u8]) -> io::Result<Option<Vec<u8>>> {
    if look(folder, name)?.seen != NameKind::Link {
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

pub(crate) fn read_names(folder: &Dir, mut each: impl FnMut(&[u8], NameKind)) -> io::Result<()> {
    for entry in folder.entries()? {
        let entry = entry?;
        if let Some(name) = entry.file_name().to_str() {
            each(name.as_bytes(), kind_of(entry.file_type()?));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};

    use super::*;

    #[test]
    fn portable_calls_create_read_rename_list_and_remove() {
        let path = std::env::temp_dir().join(format!("candor-files-other-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        let top = Dir::open_ambient_dir(&path, cap_std::ambient_authority()).unwrap();
        make_folder(&top, b"folder").unwrap();
        create(&top, b"file", true).unwrap().write_all(b"one").unwrap();
        assert_eq!(
            create(&top, b"file", true).unwrap_err().kind(),
            io::ErrorKind::AlreadyExists,
            "it replaces no file"
        );
        open_to_append(&top, b"file").unwrap().write_all(b"two").unwrap();

        let mut file = open_to_read(&top, b"file").unwrap();
        assert_eq!(look_at_file(&file).unwrap().size, 6);
        let mut text = String::new();
        file.read_to_string(&mut text).unwrap();
        assert_eq!(text, "onetwo");
        assert!(look(&top, b"file").unwrap().is(Kind::File));
        assert!(enter(&top, b"file").unwrap().is_none());
        assert!(read_link(&top, b"file").unwrap().is_none());

        let folder = enter(&top, b"folder").unwrap().unwrap();
        assert!(look_at_folder(&folder).unwrap().is(Kind::Folder));
        rename_to_nothing((&top, b"file"), (&folder, b"moved"), false).unwrap();
        rename_to_nothing((&top, b"folder"), (&top, b"renamed"), true).unwrap();
        let taken = rename_to_nothing((&folder, b"moved"), (&top, b"renamed"), false);
        assert_eq!(taken.unwrap_err().kind(), io::ErrorKind::AlreadyExists);

        let mut names = Vec::new();
        let listed = open_to_list(&top, None).unwrap();
        read_names(&listed, |name, kind| names.push((name.to_vec(), kind))).unwrap();
        assert_eq!(names, [(b"renamed".to_vec(), NameKind::Real(Kind::Folder))]);

        let folder = open_to_list(&top, Some(b"renamed")).unwrap();
        remove_file(&folder, b"moved").unwrap();
        remove_folder(&top, b"renamed").unwrap();
        assert!(look(&top, b"renamed").is_err());
        std::fs::remove_dir_all(path).unwrap();
    }
}
