//! A real folder, confined.
//!
//! A [`Root`] is a folder that nothing leads out of. A [`RootedPath`] names what is in it, and has been checked. Every operation is
//! a method of the root, in a file of its own:
//!
//! | file | holds |
//! |---|---|
//! | `place` | [`RootedPath`]: the names from the root on, parsed from paths and URIs |
//! | `root` | [`Root`]: the folder, and whether hidden names are shown |
//! | `error` | [`FileError`]: what went wrong, with the next step |
//! | `sys` | system calls: one name in one open folder |
//! | `walk` | the way to a place, step by step; follows links inside the root only |
//! | `entry` | [`Root::entry`]: what is at a place |
//! | `list`, `window` | [`Root::page`]: a folder page by page, in constant memory |
//! | `read` | [`Root::read`], [`Root::read_text`], [`Root::head`] |
//! | `media` | [`media_type`]: the type of a file's content |
//! | `write`, `draft` | [`Root::replace`], [`Root::create`], [`Root::append`], [`Root::copy`]: whole files or nothing |
//! | `arrange` | [`Root::delete`], [`Root::make_folder`], [`Root::rename`] |
//! | `foresee` | [`Root::would_delete`], [`Root::would_write`] and so on: what these would find, without a change |
//! | `search`, `glob`, `excerpt` | [`Root::search`]: names and lines inside a place |
//! | `directory`, `told` | [`Directory`]: the folder as resources, and its errors for callers |
//! | `watch`, `interest`, `rounds` | detects changes, by events of the system and by checks in turn |
//!
//! Every operation blocks, and may run on many threads at once.

mod arrange;
mod directory;
mod draft;
mod entry;
mod error;
mod excerpt;
mod foresee;
mod glob;
mod interest;
mod list;
mod media;
mod place;
mod read;
mod root;
mod rounds;
mod search;
mod sys;
mod told;
mod walk;
mod watch;
mod window;
mod write;

pub use directory::Directory;
pub use entry::{Entry, FileId, Kind};
pub use error::FileError;
pub use glob::{Glob, GlobError};
pub use list::Page;
pub use media::{is_text, media_type, media_type_by_name};
pub use place::{MOST_BYTES, MOST_NAMES, PathError, RootedPath, deceives};
pub use root::Root;
pub use search::{Bounds, Match, Query, SearchResult, Stop};
pub use window::WINDOW;
pub use write::{Overwrite, WriteResult};
