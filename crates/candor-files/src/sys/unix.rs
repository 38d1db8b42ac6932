//! Unix, with the `…at` system calls: each takes a folder's descriptor and one name.

use std::fs::File;
use std::io;
use std::time::{Duration, SystemTime};

use cap_std::fs::Dir;
use rustix::fs::{self, AtFlags, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use super::{NameKind, NameStatus};
use crate::entry::{FileId, Kind};

/// Enough to find names in a folder, without the permission to read it.
#[cfg(any(target_os = "linux", target_os = "android", target_os = "freebsd"))]
const PASSAGE: OFlags = OFlags::PATH;
#[cfg(not(any(target_os = "linux", target_os = "android", target_os = "freebsd")))]
const PASSAGE: OFlags = OFlags::RDONLY;

fn kind_of(file_type: FileType) -> NameKind {
    match file_type {
        FileType::Symlink => NameKind::Link,
        FileType::Directory => NameKind::Real(Kind::Folder),
        FileType::Fifo => NameKind::Real(Kind::Pipe),
        FileType::Socket => NameKind::Real(Kind::Socket),
        FileType::CharacterDevice => NameKind::Real(Kind::CharDevice),
        FileType::BlockDevice => NameKind::Real(Kind::BlockDevice),
        FileType::RegularFile | FileType::Unknown => NameKind::Real(Kind::File),
    }
}

#[allow(clippy::unnecessary_cast, reason = "the fields have other types on other systems")]
fn look_of(stat: &Stat) -> NameStatus {
    let seen = kind_of(FileType::from_raw_mode(stat.st_mode));
    let nanos = Duration::from_nanos(stat.st_mtime_nsec as u64);
    let seconds = Duration::from_secs((stat.st_mtime as i64).unsigned_abs());
    let modified = if (stat.st_mtime as i64) < 0 {
        SystemTime::UNIX_EPOCH.checked_sub(seconds)
    } else {
        SystemTime::UNIX_EPOCH.checked_add(seconds)
    };
    let id = FileId {
        device: stat.st_dev as u64,
        inode: stat.st_ino as u64,
        changed: (stat.st_ctime as i64, stat.st_ctime_nsec as u32),
    };
    NameStatus {
        seen,
        id: Some(id),
        size: if seen == NameKind::Real(Kind::File) { stat.st_size as u64 } else { 0 },
        modified: modified.and_then(|t| t.checked_add(nanos)),
        mode: Mode::from_raw_mode(stat.st_mode).bits() as u32,
        owner: (stat.st_uid as u32, stat.st_gid as u32),
    }
}

pub(crate) fn look(folder: &Dir, name: &[u8]) -> io::Result<NameStatus> {
    Ok(look_of(&fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?))
}

pub(crate) fn look_at_folder(folder: &Dir) -> io::Result<NameStatus> {
    Ok(look_of(&fs::fstat(folder)?))
}

pub(crate) fn look_at_file(file: &File) -> io::Result<NameStatus> {
    Ok(look_of(&fs::fstat(file)?))
}

fn open(folder: &Dir, name: &[u8], flags: OFlags, mode: Mode) -> rustix::io::Result<File> {
    let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    loop {
        match fs::openat(folder, name, flags, mode) {
            Err(Errno::INTR) => {}
            result => return result.map(File::from),
        }
    }
}

/// Opens a folder to find names in it. `None` if the name is something else, such as a link.
pub(crate) fn enter(folder: &Dir, name: &[u8]) -> io::Result<Option<Dir>> {
    match open(folder, name, PASSAGE | OFlags::DIRECTORY, Mode::empty()) {
        Ok(file) => Ok(Some(Dir::from_std_file(file))),
        // Systems differ in the error for a link.
        Err(Errno::NOTDIR | Errno::LOOP | Errno::MLINK) => Ok(None),
        Err(e) => Err(e.into()),
    }
}

/// Opens a folder to read its names: the one with this name, or `folder` itself.
pub(crate) fn open_to_list(folder: &Dir, name: Option<&[u8]>) -> io::Result<Dir> {
    let name = name.unwrap_or(b".");
    let file = open(folder, name, OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty())?;
    Ok(Dir::from_std_file(file))
}

/// Opens a file to read, without waiting for the other end of a pipe. The caller checks again what it has opened.
pub(crate) fn open_to_read(folder: &Dir, name: &[u8]) -> io::Result<File> {
    Ok(open(folder, name, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY, Mode::empty())?)
}

/// Opens a file to write at its end. The caller checks again what it has opened.
pub(crate) fn open_to_append(folder: &Dir, name: &[u8]) -> io::Result<File> {
    let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::NONBLOCK | OFlags::NOCTTY;
    Ok(open(folder, name, flags, Mode::empty())?)
}

/// Creates a new file, to write at its end. A `private` one is for its owner alone, until its permissions are set.
pub(crate) fn create(folder: &Dir, name: &[u8], private: bool) -> io::Result<File> {
    let mode = Mode::from_raw_mode(if private { 0o600 } else { 0o666 });
    let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE | OFlags::EXCL;
    Ok(open(folder, name, flags, mode)?)
}

/// Gives a file the permissions of another one, except those that let a program run as another user.
pub(crate) fn set_permissions(file: &File, like: &NameStatus) -> io::Result<()> {
    #[allow(clippy::unnecessary_cast, reason = "narrower on other systems")]
    let mode = Mode::from_raw_mode((like.mode & 0o777) as fs::RawMode);
    match fs::fchmod(file, mode) {
        // The file system has no permissions. The file is not open to more users than before.
        Err(Errno::PERM | Errno::NOTSUP | Errno::NOSYS) => Ok(()),
        result => Ok(result?),
    }
}

/// Gives a file to the owner of another one, if the system allows that. What a server that runs as root replaces should still
/// belong to its user.
pub(crate) fn set_owner(file: &File, like: &NameStatus) {
    let (user, group) = like.owner;
    let _ = fs::fchown(file, Some(fs::Uid::from_raw(user)), Some(fs::Gid::from_raw(group)));
}

/// Checks that this process may write to the entry. Replacing it by a rename would not check that.
pub(crate) fn may_write(folder: &Dir, name: &[u8]) -> io::Result<()> {
    Ok(fs::accessat(folder, name, fs::Access::WRITE_OK, AtFlags::EACCESS)?)
}

pub(crate) fn read_link(folder: &Dir, name: &[u8]) -> io::Result<Option<Vec<u8>>> {
    match fs::readlinkat(folder, name, Vec::new()) {
        Ok(target) => Ok(Some(target.into_bytes())),
        Err(Errno::INVAL) => Ok(None),
        Err(e) => Err(e.into()),
    }
}

pub(crate) fn make_folder(folder: &Dir, name: &[u8]) -> io::Result<()> {
    Ok(fs::mkdirat(folder, name, Mode::from_raw_mode(0o777))?)
}

pub(crate) fn remove_file(folder: &Dir, name: &[u8]) -> io::Result<()> {
    Ok(fs::unlinkat(folder, name, AtFlags::empty())?)
}

pub(crate) fn remove_folder(folder: &Dir, name: &[u8]) -> io::Result<()> {
    Ok(fs::unlinkat(folder, name, AtFlags::REMOVEDIR)?)
}

/// Renames, and replaces the entry that has the new name.
pub(crate) fn rename(from: (&Dir, &[u8]), to: (&Dir, &[u8])) -> io::Result<()> {
    Ok(fs::renameat(from.0, from.1, to.0, to.1)?)
}

/// Renames, unless an entry has the new name. The step that takes the name also checks that.
pub(crate) fn rename_to_nothing(
    from: (&Dir, &[u8]),
    to: (&Dir, &[u8]),
    is_folder: bool,
) -> io::Result<()> {
    #[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
    match fs::renameat_with(from.0, from.1, to.0, to.1, fs::RenameFlags::NOREPLACE) {
        // An old kernel, or a file system that cannot do it. A folder that is moved into itself is also "invalid", and fails again
        // below.
        Err(Errno::NOSYS | Errno::INVAL | Errno::NOTSUP) => {}
        result => return Ok(result?),
    }
    rename_by_claiming(from, to, is_folder)
}

/// First takes the new name, which fails if it exists, and then gives up the old one.
pub(crate) fn rename_by_claiming(
    from: (&Dir, &[u8]),
    to: (&Dir, &[u8]),
    is_folder: bool,
) -> io::Result<()> {
    if is_folder {
        // A rename replaces an empty folder, and no other process can have made this one.
        fs::mkdirat(to.0, to.1, Mode::RWXU)?;
        return rename(from, to).inspect_err(|_| {
            let _ = remove_folder(to.0, to.1);
        });
    }
    fs::linkat(from.0, from.1, to.0, to.1, AtFlags::empty())?;
    remove_file(from.0, from.1)
}

/// Calls `each` with every name in a folder and its kind, as the folder has it, in any order. The folder must be open for listing.
/// Each call starts at its beginning.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(crate) fn read_names(folder: &Dir, mut each: impl FnMut(&[u8], NameKind)) -> io::Result<()> {
    // A name has at most 255 bytes: the buffer holds at least a hundred of them, and the entries are read in place.
    let mut buffer = Vec::with_capacity(32 * 1024);
    fs::seek(folder, fs::SeekFrom::Start(0))?;
    let mut entries = fs::RawDir::new(folder, buffer.spare_capacity_mut());
    while let Some(entry) = entries.next() {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if name != b"." && name != b".." {
            each(name, kind_of(entry.file_type()));
        }
    }
    Ok(())
}

/// Calls `each` with every name in a folder and its kind, as the folder has it, in any order.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(crate) fn read_names(folder: &Dir, mut each: impl FnMut(&[u8], NameKind)) -> io::Result<()> {
    for entry in fs::Dir::read_from(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if name != b"." && name != b".." {
            each(name, kind_of(entry.file_type()));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rename_by_claiming_never_replaces_a_name() {
        let path = std::env::temp_dir().join(format!("candor-files-claim-{}", std::process::id()));
        std::fs::create_dir_all(path.join("folder/kept")).unwrap();
        std::fs::write(path.join("file"), "file").unwrap();
        let top = Dir::open_ambient_dir(&path, cap_std::ambient_authority()).unwrap();
        for (from, to, is_folder) in
            [("file", "file2", false), ("folder", "folder2", true), ("file2", "file", false)]
        {
            let (from, to) = ((&top, from.as_bytes()), (&top, to.as_bytes()));
            rename_by_claiming(from, to, is_folder).unwrap();
            assert!(look(&top, from.1).is_err() && look(&top, to.1).is_ok());
        }
        assert!(path.join("folder2/kept").is_dir());
        for (from, is_folder) in [("file", false), ("folder2", true)] {
            for to in ["folder2", "file"] {
                let taken =
                    rename_by_claiming((&top, from.as_bytes()), (&top, to.as_bytes()), is_folder);
                assert_eq!(taken.unwrap_err().kind(), io::ErrorKind::AlreadyExists);
            }
        }
        assert!(path.join("file").is_file() && path.join("folder2/kept").is_dir());
        std::fs::remove_dir_all(path).unwrap();
    }
}
