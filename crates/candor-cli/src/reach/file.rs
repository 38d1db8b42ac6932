//! One file of a host: read within bounds, and understood or complained about.

use std::fs::{self, File};
use std::io::{ErrorKind, Read as _};
use std::path::Path;

use serde_json::Value;

use super::jsonc;

/// Claude Code keeps more than servers in its file; that is seldom a megabyte.
const LARGEST: u64 = 16 * 1024 * 1024;

/// What a file holds. `None`: there is none. Errors do not name the file.
pub(super) fn read(path: &Path) -> Result<Option<Value>, String> {
    let found = match fs::metadata(path) {
        Ok(found) => found,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(error) => return Err(error.to_string()),
    };
    // Nobody waits for a pipe that nobody writes to.
    if !found.is_file() {
        return Err("this is not a file".to_owned());
    }
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(LARGEST + 1).read_to_end(&mut bytes));
    read.map_err(|error| error.to_string())?;
    if bytes.len() as u64 > LARGEST {
        return Err(format!("larger than {} MiB", LARGEST / 1024 / 1024));
    }
    let text = String::from_utf8(bytes).map_err(|_| "not UTF-8".to_owned())?;
    if text.trim().is_empty() {
        return Ok(None);
    }
    serde_json::from_str(&jsonc::plain(&text)).map(Some).map_err(|error| error.to_string())
}

/// Whether whoever owns this file may name programs that we start. In a folder that all may write to, such as /tmp, anybody could have
/// left one for us.
#[cfg(unix)]
pub(super) fn is_trusted(path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let me = rustix::process::getuid().as_raw();
    // What cannot be looked at cannot be read either; that is told elsewhere.
    fs::metadata(path).map_or(true, |found| may_name_programs(found.uid(), me))
}

#[cfg(not(unix))]
pub(super) fn is_trusted(_path: &Path) -> bool {
    true
}

/// Ourselves, and the system.
#[cfg(unix)]
fn may_name_programs(owner: u32, me: u32) -> bool {
    owner == me || owner == 0
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn what_belongs_to_others_is_not_believed() {
        assert!(may_name_programs(1000, 1000));
        assert!(may_name_programs(0, 1000));
        assert!(!may_name_programs(1001, 1000));
        assert!(!may_name_programs(1000, 0), "the system is careful, too");
    }

    #[test]
    fn what_we_wrote_is_ours() {
        let path = std::env::temp_dir().join(format!("candor-trusted-{}", std::process::id()));
        fs::write(&path, "{}").unwrap();
        assert!(is_trusted(&path));
        fs::remove_file(&path).unwrap();
    }
}
