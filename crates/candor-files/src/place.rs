//! Where something is, relative to the root: a list of checked names. Code with a [`RootedPath`] need not check it again. Nothing
//! here accesses the file system.

use std::fmt;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_encode};

/// Maximum length of a path, in bytes.
pub const MOST_BYTES: usize = 4096;
/// Maximum depth of a path, in names.
pub const MOST_NAMES: usize = 256;

/// The characters to encode in a segment of a URI's path: all except `pchar` of RFC 3986.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~')
    .remove(b'!')
    .remove(b'$')
    .remove(b'&')
    .remove(b'\'')
    .remove(b'(')
    .remove(b')')
    .remove(b'*')
    .remove(b'+')
    .remove(b',')
    .remove(b';')
    .remove(b'=')
    .remove(b':')
    .remove(b'@');

/// A path inside a root: names of raw bytes. None of them is empty, `.` or `..`, or contains NUL or `/`.
///
/// ```
/// use candor_files::RootedPath;
///
/// let place = RootedPath::parse("src//main.rs")?;
/// assert_eq!(place.to_string(), "src/main.rs");
/// assert_eq!(place.name(), Some(&b"main.rs"[..]));
/// assert!(RootedPath::parse("../secret").is_err());
/// # Ok::<(), candor_files::PathError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct RootedPath {
    /// The names with `/` between them. No name contains one, so this loses nothing, and a listing needs one allocation for each
    /// entry instead of two.
    joined: Box<[u8]>,
}

impl RootedPath {
    /// Returns the root itself: no names.
    #[must_use]
    pub fn root() -> Self {
        Self { joined: Box::default() }
    }

    /// Parses a path as users and tools write it: relative, with `/` between names. Accepts `./a`, `a//b` and `a/`, and takes an
    /// empty text for the root.
    pub fn parse(text: &str) -> Result<Self, PathError> {
        let bytes = text.as_bytes();
        if is_absolute(bytes) {
            return Err(PathError::Absolute);
        }
        Self::from_names(bytes.split(|b| *b == b'/').filter(|n| !n.is_empty() && *n != b"."))
    }

    /// Parses the percent-encoded rest of a URI. Splits before it decodes, so an encoded `/` never separates names. A place has one
    /// spelling, so this refuses what [`parse`](Self::parse) tolerates, except a `/` at the end.
    pub fn from_uri_path(path: &str) -> Result<Self, PathError> {
        let path = path.strip_suffix('/').unwrap_or(path);
        if path.is_empty() {
            return Ok(Self::root());
        }
        // Decoding only shortens: at most three characters become one byte.
        if path.len() > 3 * MOST_BYTES {
            return Err(PathError::TooLong);
        }
        let names: Vec<Vec<u8>> = path.split('/').map(decode).collect::<Result<_, _>>()?;
        Self::from_names(names.iter().map(Vec::as_slice))
    }

    /// Returns the path for a URI. [`from_uri_path`](Self::from_uri_path) reads it back, whatever its bytes.
    #[must_use]
    pub fn to_uri_path(&self) -> String {
        self.after("")
    }

    /// Returns the path for a URI, after a stem.
    pub(crate) fn after(&self, stem: &str) -> String {
        let mut path = String::with_capacity(stem.len() + self.joined.len());
        path.push_str(stem);
        for (i, name) in self.names().enumerate() {
            if i > 0 {
                path.push('/');
            }
            path.extend(percent_encode(name, ENCODED));
        }
        path
    }

    fn from_names<'a>(names: impl Iterator<Item = &'a [u8]>) -> Result<Self, PathError> {
        let mut joined = Vec::new();
        for (i, name) in names.enumerate() {
            check_name(name)?;
            if i == MOST_NAMES {
                return Err(PathError::TooDeep);
            }
            if i > 0 {
                joined.push(b'/');
            }
            joined.extend_from_slice(name);
            if joined.len() > MOST_BYTES {
                return Err(PathError::TooLong);
            }
        }
        Ok(Self { joined: joined.into() })
    }

    /// Returns the place of this name in this folder.
    pub fn join(&self, name: impl AsRef<[u8]>) -> Result<Self, PathError> {
        check_name(name.as_ref())?;
        Self::from_names(self.names().chain([name.as_ref()]))
    }

    /// Like [`join`](Self::join), for a name from the file system: the name is valid, and the place exists, however deep it is.
    pub(crate) fn child(&self, name: &[u8]) -> Self {
        debug_assert!(check_name(name).is_ok());
        if self.is_root() {
            return Self { joined: name.into() };
        }
        let mut joined = Vec::with_capacity(self.joined.len() + 1 + name.len());
        joined.extend_from_slice(&self.joined);
        joined.push(b'/');
        joined.extend_from_slice(name);
        Self { joined: joined.into() }
    }

    /// Returns the folder that contains this place; the root has none.
    #[must_use]
    pub fn parent(&self) -> Option<Self> {
        let end = self.joined.len() - self.name()?.len();
        Some(Self { joined: self.joined[..end.saturating_sub(1)].into() })
    }

    /// Returns the last name; the root has none.
    #[must_use]
    pub fn name(&self) -> Option<&[u8]> {
        self.joined.rsplit(|b| *b == b'/').next().filter(|name| !name.is_empty())
    }

    /// Returns the names, from the root on.
    pub fn names(&self) -> impl DoubleEndedIterator<Item = &[u8]> {
        self.joined.split(|b| *b == b'/').filter(|name| !name.is_empty())
    }

    /// Returns true if this is the root.
    #[must_use]
    pub fn is_root(&self) -> bool {
        self.joined.is_empty()
    }

    /// Returns true if any name begins with a dot.
    #[must_use]
    pub fn is_hidden(&self) -> bool {
        self.names().any(|name| name[0] == b'.')
    }

    /// Returns true if this is `other`, or inside it.
    #[must_use]
    pub fn is_within(&self, other: &Self) -> bool {
        other.is_root()
            || self
                .joined
                .strip_prefix(&*other.joined)
                .is_some_and(|rest| rest.first().is_none_or(|b| *b == b'/'))
    }
}

/// Returns true if a path begins at the root of the system, or of a drive.
fn is_absolute(path: &[u8]) -> bool {
    path.starts_with(b"/")
        || (cfg!(windows) && (path.starts_with(b"\\") || path.get(1) == Some(&b':')))
}

/// Returns a name for a URI, after a stem.
pub(crate) fn encoded_after(stem: &str, name: &[u8]) -> String {
    let mut uri = String::with_capacity(stem.len() + name.len());
    uri.push_str(stem);
    uri.extend(percent_encode(name, ENCODED));
    uri
}

fn check_name(name: &[u8]) -> Result<(), PathError> {
    match name {
        b"" | b"." => Err(PathError::Empty),
        b".." => Err(PathError::Parent),
        _ if name.contains(&0) => Err(PathError::Nul),
        _ if name.contains(&b'/') => Err(PathError::Slash),
        _ if cfg!(windows) && name.iter().any(|b| matches!(b, b'\\' | b':')) => {
            Err(PathError::Slash)
        }
        _ => Ok(()),
    }
}

/// Decodes one segment of a URI's path. Refuses an invalid escape instead of taking it literally: two readers must not see two
/// names.
fn decode(segment: &str) -> Result<Vec<u8>, PathError> {
    let mut name = Vec::with_capacity(segment.len());
    let mut bytes = segment.bytes();
    while let Some(byte) = bytes.next() {
        name.push(match byte {
            b'%' => {
                let mut digit = || bytes.next().and_then(|b| char::from(b).to_digit(16));
                let (Some(high), Some(low)) = (digit(), digit()) else {
                    return Err(PathError::Escape);
                };
                u8::try_from(high * 16 + low).expect("two digits")
            }
            b'?' | b'#' => return Err(PathError::Escape),
            other => other,
        });
    }
    Ok(name)
}

/// Text for users. Invalid UTF-8, and characters that could mislead a terminal or a reader (control characters, changes of
/// direction, invisible characters) become escapes. The root is `.`.
impl fmt::Display for RootedPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_root() {
            return f.write_str(".");
        }
        for chunk in self.joined.utf8_chunks() {
            for c in chunk.valid().chars() {
                if deceives(c) {
                    write!(f, "{}", c.escape_unicode())?;
                } else {
                    fmt::Write::write_char(f, c)?;
                }
            }
            for byte in chunk.invalid() {
                write!(f, "\\x{byte:02x}")?;
            }
        }
        Ok(())
    }
}

impl fmt::Debug for RootedPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Place({self})")
    }
}

/// Folders come before their contents, and names are in byte order, as in a listing.
impl Ord for RootedPath {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.names().cmp(other.names())
    }
}

impl PartialOrd for RootedPath {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// Returns true if a character could mislead a terminal or a reader: it controls, changes the direction of text, or is invisible.
#[must_use]
pub fn deceives(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}'
            | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e007f}')
}

/// Why a path is not a [`RootedPath`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PathError {
    /// It is absolute.
    Absolute,
    /// It goes up, with `..`.
    Parent,
    /// It contains a NUL.
    Nul,
    /// A name is empty or `.` where one is needed.
    Empty,
    /// A name contains a separator.
    Slash,
    /// An escape is invalid, or a character needs one.
    Escape,
    /// More than [`MOST_BYTES`].
    TooLong,
    /// More than [`MOST_NAMES`].
    TooDeep,
}

impl PathError {
    /// Returns a stable code for all of these.
    #[must_use]
    pub fn code(&self) -> &'static str {
        "bad_path"
    }
}

impl fmt::Display for PathError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Absolute => f.write_str(
                "the path is absolute; write it relative to this folder, such as `notes/today.md`",
            ),
            Self::Parent => f.write_str(
                "the path contains `..`; write the resolved path, relative to this folder",
            ),
            Self::Nul => f.write_str("the path holds a NUL character; leave it out"),
            Self::Empty => f.write_str("a name in the path is empty or `.`; leave that part out"),
            Self::Slash => f.write_str(
                "a name in the path holds an encoded separator; write `/` itself between names",
            ),
            Self::Escape => f.write_str(
                "the path is not well encoded; write `%25` for `%`, `%3F` for `?` and `%23` for `#`",
            ),
            Self::TooLong => {
                write!(f, "the path is longer than {MOST_BYTES} bytes; begin in a folder nearer to it")
            }
            Self::TooDeep => {
                write!(f, "the path has more than {MOST_NAMES} names; begin in a folder nearer to it")
            }
        }
    }
}

impl std::error::Error for PathError {}

#[cfg(test)]
mod tests;
