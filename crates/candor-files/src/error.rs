//! Errors of files, in words for the caller. They name the place and the next step, but never the location of the root or the
//! message of the operating system.

use std::{fmt, io};

use crate::entry::Kind;
use crate::place::RootedPath;

/// Why an operation failed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FileError {
    /// Nothing is here, or nothing that may be seen.
    NotFound(RootedPath),
    /// The folder of this place does not exist.
    NoFolder(RootedPath),
    /// A link that leads to nothing, or in circles.
    LeadsNowhere(RootedPath),
    /// A link on the way leads out of the root.
    LeadsOut(RootedPath),
    /// A file is needed, and this is something else.
    NotAFile(RootedPath, Kind),
    /// A folder is needed, and this, or something on the way, is something else.
    NotAFolder(RootedPath),
    /// Larger than the caller's limit.
    TooLarge {
        /// The file.
        place: RootedPath,
        /// Its size in bytes.
        size: u64,
        /// The limit in bytes.
        limit: u64,
    },
    /// Text is needed, and these bytes are not text.
    NotText(RootedPath),
    /// Something has this name already.
    Exists(RootedPath),
    /// A folder that is not empty.
    NotEmpty(RootedPath),
    /// A folder cannot be moved into itself.
    IntoItself(RootedPath),
    /// The file is write-protected.
    ReadOnly(RootedPath),
    /// The operating system does not allow it.
    Denied(RootedPath),
    /// The root cannot be deleted, moved or replaced.
    IsRoot,
    /// Anything else.
    Io(RootedPath, io::ErrorKind),
}

impl FileError {
    /// Returns a stable code for this kind of error.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::NotFound(_) => "not_found",
            Self::NoFolder(_) => "no_folder",
            Self::LeadsNowhere(_) => "leads_nowhere",
            Self::LeadsOut(_) => "leads_out",
            Self::NotAFile(..) => "not_a_file",
            Self::NotAFolder(_) => "not_a_folder",
            Self::TooLarge { .. } => "too_large",
            Self::NotText(_) => "not_text",
            Self::Exists(_) => "exists",
            Self::NotEmpty(_) => "not_empty",
            Self::IntoItself(_) => "into_itself",
            Self::ReadOnly(_) => "read_only",
            Self::Denied(_) => "denied",
            Self::IsRoot => "is_root",
            Self::Io(..) => "io",
        }
    }

    /// Converts an error of the operating system at this place.
    pub(crate) fn from_io(place: &RootedPath, error: &io::Error) -> Self {
        use io::ErrorKind as E;
        let place = place.clone();
        match error.kind() {
            E::NotFound => Self::NotFound(place),
            E::PermissionDenied => Self::Denied(place),
            E::AlreadyExists => Self::Exists(place),
            E::NotADirectory => Self::NotAFolder(place),
            E::IsADirectory => Self::NotAFile(place, Kind::Folder),
            E::DirectoryNotEmpty => Self::NotEmpty(place),
            E::ReadOnlyFilesystem => Self::ReadOnly(place),
            kind => Self::Io(place, kind),
        }
    }
}

/// Returns a function for `map_err`, for errors at this place.
pub(crate) fn at(place: &RootedPath) -> impl Fn(io::Error) -> FileError + '_ {
    move |error| FileError::from_io(place, &error)
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotFound(p) if p.is_hidden() => write!(
                f,
                "`{p}` does not exist here; names that begin with a dot may be hidden in this folder"
            ),
            Self::NotFound(p) => {
                write!(f, "`{p}` does not exist; list the folder to see what does")
            }
            Self::NoFolder(p) => {
                write!(f, "the folder that `{p}` should be in does not exist; make it first")
            }
            Self::LeadsNowhere(p) => write!(f, "`{p}` is a link that leads nowhere"),
            Self::LeadsOut(p) => {
                write!(f, "`{p}` leads out of this folder by a link, and is not followed there")
            }
            Self::NotAFile(p, Kind::Folder) => {
                write!(f, "`{p}` is a folder, not a file; name a file in it")
            }
            Self::NotAFile(p, kind) => write!(f, "`{p}` is {}, not a file", kind.summary()),
            Self::NotAFolder(p) => write!(f, "`{p}` is not a folder, or leads through a file"),
            Self::TooLarge { place, size, limit } => {
                write!(f, "`{place}` is too large: {size} bytes, and {limit} are allowed")
            }
            Self::NotText(p) => write!(f, "`{p}` is not text; read it as bytes"),
            Self::Exists(p) => {
                write!(
                    f,
                    "`{p}` exists already; choose another name, or use the action that replaces it"
                )
            }
            Self::NotEmpty(p) => write!(
                f,
                "the folder `{p}` is not empty (some of it may be hidden); delete what it holds first"
            ),
            Self::IntoItself(p) => write!(f, "the folder `{p}` cannot be moved into itself"),
            Self::ReadOnly(p) => write!(f, "`{p}` is write-protected"),
            Self::Denied(p) => write!(f, "this program is not permitted to do that to `{p}`"),
            Self::IsRoot => {
                f.write_str("the root folder itself cannot be deleted, moved or replaced")
            }
            Self::Io(p, kind) => write!(f, "`{p}`: {kind}"),
        }
    }
}

impl std::error::Error for FileError {}
