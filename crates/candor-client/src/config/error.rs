//! Errors in configuration files.

use std::fmt;
use std::path::PathBuf;

use candor_protocol::shown::shown;

/// A problem with a configuration file. Its text is safe on a terminal and contains no values of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConfigError {
    /// A file is unreadable, is not JSON, or has no object where servers belong.
    File {
        /// The file.
        file: PathBuf,
        /// The position in it, as a JSON Pointer.
        pointer: String,
        /// What is wrong there.
        reason: String,
    },
    /// A server's entry is invalid, or one of its variables has no value.
    Entry {
        /// The server.
        name: String,
        /// The file.
        file: PathBuf,
        /// The position in it, as a JSON Pointer.
        pointer: String,
        /// What is wrong there.
        reason: String,
    },
    /// No file has a server of this name.
    NotFound {
        /// The name.
        name: String,
        /// The most similar name that a file has.
        like: Option<String>,
        /// Problems of files that may contain it.
        unread: Vec<ConfigError>,
    },
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { file, pointer, reason } => {
                let file = file.to_string_lossy();
                write!(f, "{}{}: {}", shown(&file), PointerSuffix(pointer), shown(reason))
            }
            Self::Entry { name, file, pointer, reason } => {
                let (name, file) = (shown(name), file.to_string_lossy());
                write!(f, "{name} in {}{}: {}", shown(&file), PointerSuffix(pointer), shown(reason))
            }
            Self::NotFound { name, like, unread } => {
                write!(f, "no configuration file of a host has a server {}", shown(name))?;
                if let Some(like) = like {
                    write!(f, ". Did you mean {}?", shown(like))?;
                }
                unread.iter().try_for_each(|problem| write!(f, "; not read: {problem}"))
            }
        }
    }
}

impl std::error::Error for ConfigError {}

/// A pointer after the name of a file. It is empty for the whole file.
struct PointerSuffix<'a>(&'a str);

impl fmt::Display for PointerSuffix<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() { Ok(()) } else { write!(f, ", at {}", shown(self.0)) }
    }
}

/// Returns the JSON Pointer of a path of members.
pub(super) fn pointer<'a>(members: impl IntoIterator<Item = &'a str>) -> String {
    let escaped = |name: &str| format!("/{}", name.replace('~', "~0").replace('/', "~1"));
    members.into_iter().map(escaped).collect()
}
