//! Reads one configuration file, within limits.

use std::fs::{File, Metadata};
use std::io::{self, ErrorKind, Read as _};
use std::path::Path;

use serde_json::Value;

use super::jsonc;

/// The maximum size of a file, in bytes. Claude Code stores more than servers in its file, but rarely a megabyte.
const LARGEST: u64 = 16 * 1024 * 1024;

/// The error for a file of another user. The owner of a file decides which programs start, and any user can leave a file in a
/// shared folder such as /tmp.
const NOT_OURS: &str =
    "the file belongs to another user, who could name any program. Make it your own";

/// Returns the content of a file, or `None` if the file is missing or empty. Errors do not name the file.
pub(super) fn read(path: &Path) -> Result<Option<Value>, String> {
    let file = match open(path) {
        Ok(file) => file,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(error) => return Err(error.to_string()),
    };
    // Check the file that was opened: the path may lead elsewhere by now.
    let found = file.metadata().map_err(|error| error.to_string())?;
    if !found.is_file() {
        return Err("this is not a file".to_owned());
    }
    if !is_trusted(path, &found) {
        return Err(NOT_OURS.to_owned());
    }
    let mut bytes = Vec::new();
    file.take(LARGEST + 1).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    if bytes.len() as u64 > LARGEST {
        return Err(format!("larger than {} MiB", LARGEST / 1024 / 1024));
    }
    let text = String::from_utf8(bytes).map_err(|_| "not UTF-8".to_owned())?;
    if text.trim().is_empty() {
        return Ok(None);
    }
    serde_json::from_str(&jsonc::plain(&text)).map(Some).map_err(|error| error.to_string())
}

/// Opens a file. If it is a pipe, this does not wait for its writer.
#[cfg(unix)]
fn open(path: &Path) -> io::Result<File> {
    use rustix::fs::{Mode, OFlags};
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    Ok(rustix::fs::open(path, flags, Mode::empty())?.into())
}

#[cfg(not(unix))]
fn open(path: &Path) -> io::Result<File> {
    File::open(path)
}

/// Returns true if this user or the system owns the file and the name that leads to it. Another user's link to a file of this user
/// is the other user's choice.
#[cfg(unix)]
fn is_trusted(path: &Path, found: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let me = rustix::process::getuid().as_raw();
    let named = std::fs::symlink_metadata(path);
    may_name_programs(found.uid(), me)
        && named.is_ok_and(|named| may_name_programs(named.uid(), me))
}

#[cfg(not(unix))]
fn is_trusted(_path: &Path, _found: &Metadata) -> bool {
    true
}

/// Returns true for this user and for the system.
#[cfg(unix)]
fn may_name_programs(owner: u32, me: u32) -> bool {
    owner == me || owner == 0
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn file_of_another_user_may_not_name_programs() {
        assert!(may_name_programs(1000, 1000));
        assert!(may_name_programs(0, 1000));
        assert!(!may_name_programs(1001, 1000));
        assert!(!may_name_programs(1000, 0), "the system is careful, too");
    }

    #[test]
    fn config_that_is_not_a_regular_file_is_refused() {
        let folder = std::env::temp_dir().join(format!("candor-trusted-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("file");
        std::fs::write(&path, "{}").unwrap();
        assert_eq!(read(&path), Ok(Some(serde_json::json!({}))));
        let link = folder.join("link");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        assert_eq!(read(&link), Ok(Some(serde_json::json!({}))), "a link of ours");
        assert_eq!(read(&folder.join("none")), Ok(None));
        assert!(read(&folder).is_err());
        let pipe = folder.join("pipe");
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RUSR).unwrap();
        assert!(read(&pipe).is_err(), "and the read does not wait for it");
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
