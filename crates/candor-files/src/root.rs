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
/// Cloning is cheap, and clones see the same folder. Every operation blocks; call them where that is allowed.
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
    /// Opens a folder. Links on the way to it are followed, now and never again: what is opened stays the root, even
    /// if it is moved.
    pub fn open(path: impl AsRef<Path>) -> io::Result<Self> {
        let path = path.as_ref().canonicalize()?;
        let top = Arc::new(Dir::open_ambient_dir(&path, ambient_authority())?);
        Ok(Self {
            inner: Arc::new(Inner { path, top, windows: Windows::default() }),
            hidden: false,
        })
    }

    /// Whether names that begin with a dot are shown and reachable. If not, which is how a root begins, they are
    /// neither listed nor found, not by a link either.
    #[must_use]
    pub fn with_hidden(self, hidden: bool) -> Self {
        let inner = &self.inner;
        // What is remembered of listings holds for one answer to this question.
        let inner =
            Inner { path: inner.path.clone(), top: inner.top.clone(), windows: Windows::default() };
        Self { inner: Arc::new(inner), hidden }
    }

    /// Where the folder was when it was opened. For the program's own people; no error says it.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.inner.path
    }

    /// Whether names that begin with a dot are shown.
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
