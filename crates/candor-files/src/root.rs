//! The folder that everything stays in.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fmt, io};

use cap_std::ambient_authority;
use cap_std::fs::Dir;

use crate::place::RootedPath;
use crate::walk::OpenFolder;
use crate::window::Windows;

/// A folder that nothing leads out of: not `..`, not an absolute path, not a link, not a folder that is swapped for a
/// link while an operation runs.
///
/// Cloning is cheap, and clones share the folder. Every operation blocks, so call it where that is allowed.
///
/// ```no_run
/// use candor_files::{RootedPath, Root};
///
/// let root = Root::open("notes")?;
/// let page = root.page(&RootedPath::root(), None, 100)?;
/// for entry in &page.entries {
///     println!("{} {}", entry.kind.as_str(), entry.place);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Root {
    inner: Arc<Inner>,
    hidden: bool,
}

struct Inner {
    path: PathBuf,
    top: Arc<Dir>,
    windows: Windows,
}

impl Root {
    /// Opens a folder. Follows the links on the way to it once: the opened folder stays the root, even if it is moved.
    pub fn open(path: impl AsRef<Path>) -> io::Result<Self> {
        let path = path.as_ref().canonicalize()?;
        let top = Arc::new(Dir::open_ambient_dir(&path, ambient_authority())?);
        Ok(Self {
            inner: Arc::new(Inner { path, top, windows: Windows::default() }),
            hidden: false,
        })
    }

    /// Sets whether names that begin with a dot are shown and reachable. By default they are neither listed nor found, not even by
    /// a link.
    #[must_use]
    pub fn with_hidden(self, hidden: bool) -> Self {
        let inner = &self.inner;
        // A cached listing is valid for one of the two settings.
        let inner =
            Inner { path: inner.path.clone(), top: inner.top.clone(), windows: Windows::default() };
        Self { inner: Arc::new(inner), hidden }
    }

    /// Returns where the folder was when it was opened. This is for the program itself: no error contains it.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.inner.path
    }

    /// Returns true if names that begin with a dot are shown.
    #[must_use]
    pub fn shows_hidden(&self) -> bool {
        self.hidden
    }

    pub(crate) fn top(&self) -> OpenFolder {
        OpenFolder { folder: self.inner.top.clone(), place: RootedPath::root() }
    }

    pub(crate) fn windows(&self) -> &Windows {
        &self.inner.windows
    }
}

impl fmt::Debug for Root {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Root")
            .field("path", &self.inner.path)
            .field("hidden", &self.hidden)
            .finish()
    }
}
