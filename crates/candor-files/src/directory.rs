//! A real folder as a tree of resources.

use std::borrow::Cow;
use std::io;
use std::path::{Component, Path};
use std::sync::Arc;

use candor_server::protocol::Principal;
use candor_server::protocol::json::Object;
use candor_server::protocol::names::extension;
use candor_server::protocol::time::rfc3339;
use candor_server::protocol::types::{
    Annotations, ReadResourceResult, Resource, ResourceCapabilities, ResourceContents,
    ResourceTemplate,
};
use candor_server::resource::{Completing, Contents, Listing, Offers, Page, Resources, WatchGuard};
use candor_server::tool::ToolError;
use candor_server::{Changes, Ctx};
use percent_encoding::{NON_ALPHANUMERIC, percent_decode_str, percent_encode};

use crate::entry::{Entry, Facts, Kind};
use crate::error::FileError;
use crate::media::{is_text, media_type_by_name};
use crate::place::{RootedPath, encoded_after};
use crate::root::Root;
use crate::watch::Watcher;

/// Default for the maximum size of a file that is read, in bytes.
const LARGEST: u64 = 4 * 1024 * 1024;

/// Limits for reading a folder: the number of its children, the size of each, and the size of all together.
const READ_ALONG: usize = 50;
const READ_ALONG_EACH: u64 = 64 * 1024;
const READ_ALONG_BYTES: usize = 512 * 1024;
/// Maximum number of children to examine for this.
const LOOKED_AT: usize = 1000;

/// Maximum number of proposals for a path that a user types.
const PROPOSED: usize = 1000;

/// A folder as resources: its entries, their metadata, their content, and their changes.
///
/// Nothing leads out of it: see [`Root`]. Names that begin with a dot are hidden by default.
///
/// The system reports changes of what is watched. Every two seconds the server also checks it, because not every file system
/// reports changes. The checks take at most a twentieth of one core, so among tens of thousands of watched files each has its turn
/// less often.
///
/// ```no_run
/// use candor_files::Directory;
/// use candor_server::Server;
///
/// let server = Server::new("notes", "1.0.0").resources(Directory::open("notes")?);
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// Its URIs are those of the files themselves (`file:///home/ann/notes/today.md`). If clients should not see where the folder is,
/// or if a server has several folders, give it a URI of its own:
///
/// ```no_run
/// # use candor_files::Directory;
/// let docs = Directory::open("/srv/docs/v2")?.at("docs:///");
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct Directory {
    root: Root,
    uris: Uris,
    largest: u64,
    watcher: Arc<Watcher>,
}

impl Clone for Directory {
    /// Returns the same folder for another server, whose own clients learn of the changes that they watch.
    fn clone(&self) -> Self {
        let watcher = Arc::new(Watcher::new(self.root.clone()));
        Self { watcher, ..self.same() }
    }
}

impl Directory {
    /// Opens a folder.
    pub fn open(path: impl AsRef<Path>) -> io::Result<Self> {
        Ok(Self::of(Root::open(path)?))
    }

    /// Returns the resources of a folder that is already open.
    #[must_use]
    pub fn of(root: Root) -> Self {
        let uris = Uris::of_path(root.path());
        let watcher = Arc::new(Watcher::new(root.clone()));
        Self { root, uris, largest: LARGEST, watcher }
    }

    /// Sets the URI of the root. The URIs of everything in it begin with it.
    #[must_use]
    pub fn at(mut self, uri: &str) -> Self {
        self.uris = Uris::of_root(uri);
        self
    }

    /// Sets whether names that begin with a dot are shown and can be read. By default they are not.
    #[must_use]
    pub fn hidden(mut self, shown: bool) -> Self {
        self.root = self.root.with_hidden(shown);
        self.watcher = Arc::new(Watcher::new(self.root.clone()));
        self
    }

    /// Sets the maximum size of a file that is read, in bytes. Default: 4 MiB. Larger ones are listed and described, but not read.
    #[must_use]
    pub fn largest(mut self, bytes: u64) -> Self {
        self.largest = bytes;
        self
    }

    /// Returns the URI of the folder itself.
    #[must_use]
    pub fn uri(&self) -> &str {
        &self.uris.root
    }

    /// Returns the URI of a place in it.
    #[must_use]
    pub fn uri_of(&self, place: &RootedPath) -> String {
        self.uris.of(place)
    }

    fn same(&self) -> Self {
        let (root, uris) = (self.root.clone(), self.uris.clone());
        Self { root, uris, largest: self.largest, watcher: self.watcher.clone() }
    }

    /// Runs blocking code where that is allowed.
    async fn blocking<T: Send + 'static>(
        &self,
        run: impl FnOnce(&Self) -> Result<T, ToolError> + Send + 'static,
    ) -> Result<T, ToolError> {
        let this = self.same();
        tokio::task::spawn_blocking(move || run(&this)).await?
    }

    fn resource(&self, entry: &Entry) -> Resource {
        let name = match entry.place.name() {
            Some(name) => String::from_utf8_lossy(name).into_owned(),
            None => self.root_name(),
        };
        let media = self.root.media_type(entry, self.largest);
        described(self.uris.of(&entry.place), name, &media, entry.facts())
    }

    /// Returns the last name of the root, as clients see it.
    fn root_name(&self) -> String {
        let root = &self.uris.root;
        // A colon separates names only if there is no slash: `docs:v2`, but `file:///srv/12:30`.
        let (_, last) =
            root.rsplit_once('/').or_else(|| root.rsplit_once(':')).unwrap_or(("", root));
        match last {
            "" => "/".to_owned(),
            last => percent_decode_str(last).decode_utf8_lossy().into_owned(),
        }
    }

    fn listing(&self, place: &RootedPath, page: Page<'_>) -> Result<Listing, FileError> {
        let after = page.after.map(|after| percent_decode_str(after).collect::<Vec<u8>>());
        // Directly from names to resources: a large folder has ten thousand of them.
        let mut stem = self.uris.of(place);
        if !stem.ends_with('/') {
            stem.push('/');
        }
        let mut resources = Vec::with_capacity(page.limit.min(1024));
        let next = self.root.each_child(place, after.as_deref(), page.limit, |name, facts| {
            let by_name = match facts.kind {
                Kind::File => media_type_by_name(name),
                other => other.media_type().map(Cow::Borrowed),
            };
            let media = by_name.unwrap_or_else(|| {
                self.root.media_type(&facts.at(place.child(name)), self.largest)
            });
            let uri = encoded_after(&stem, name);
            let name = String::from_utf8_lossy(name).into_owned();
            resources.push(described(uri, name, &media, facts));
        })?;
        let next = next.map(|name| percent_encode(&name, NON_ALPHANUMERIC).to_string());
        Ok(Listing { resources, next })
    }

    fn read_file(&self, uri: &str, entry: &Entry) -> Result<ReadResourceResult, FileError> {
        let bytes = self.root.read(&entry.place, self.largest)?;
        let mime_type = self.root.media_type(entry, self.largest);
        Ok(ReadResourceResult::new(vec![contents(uri, mime_type, bytes)]))
    }

    /// Reads the small text files of a folder, within the limits. Reports whether that is all of it.
    fn read_folder(&self, place: &RootedPath) -> Result<ReadResourceResult, FileError> {
        let listed = self.root.page(place, None, LOOKED_AT)?;
        let mut complete = listed.next.is_none();
        let mut read = Vec::new();
        let mut left = READ_ALONG_BYTES;
        for entry in &listed.entries {
            let small = entry.kind == Kind::File && entry.size <= READ_ALONG_EACH;
            let text = (small && read.len() < READ_ALONG)
                .then(|| self.root.read_text(&entry.place, READ_ALONG_EACH).ok())
                .flatten()
                .filter(|text| text.len() <= left);
            match text {
                None => complete = false,
                Some(text) => {
                    left -= text.len();
                    let Resource { uri, name, mime_type, annotations, capabilities, .. } =
                        self.resource(entry);
                    let mut child = ResourceContents::new(uri);
                    child.name = Some(name);
                    child.mime_type = mime_type;
                    child.annotations = annotations;
                    child.capabilities = capabilities;
                    child.text = Some(text);
                    read.push(child);
                }
            }
        }
        let mut result = ReadResourceResult::new(read);
        let said = Object::new().with("subset", &!complete);
        result.meta = Some(Object::new().with(extension::RESOURCE, &said));
        Ok(result)
    }

    /// Returns paths that begin with the typed text: entries of the folder that it names.
    fn proposals(&self, typed: &str) -> Vec<String> {
        let (folder, begun) = typed.rsplit_once('/').unwrap_or(("", typed));
        let Ok(place) = RootedPath::from_uri_path(folder) else {
            return Vec::new();
        };
        let begun: Vec<u8> = percent_decode_str(begun).collect();
        // In the order of names, those with this beginning come right after the exact one.
        let exact = place.join(&begun).ok().and_then(|place| self.root.entry(&place).ok());
        let after = Some(&*begun).filter(|begun| !begun.is_empty());
        let Ok(listed) = self.root.page(&place, after, PROPOSED) else {
            return Vec::new();
        };
        let path = |entry: &Entry| {
            let path = entry.place.to_uri_path();
            if entry.kind == Kind::Folder { path + "/" } else { path }
        };
        let fitting = |e: &&Entry| e.place.name().is_some_and(|name| name.starts_with(&begun));
        let fitting = listed.entries.iter().take_while(fitting);
        exact.iter().chain(fitting).map(path).collect()
    }
}

/// Returns an entry as a resource.
fn described(uri: String, name: String, media: &str, facts: Facts) -> Resource {
    // Member by member: a resource is too large to be moved through a chain of calls.
    let mut resource = Resource::new(uri, name);
    resource.mime_type = Some(media.to_owned());
    resource.annotations = facts.modified.and_then(rfc3339).map(|time| {
        let mut annotations = Annotations::new();
        annotations.last_modified = Some(time);
        annotations
    });
    let mut capabilities = ResourceCapabilities::new();
    capabilities.list = Some(facts.kind == Kind::Folder);
    capabilities.subscribe = Some(matches!(facts.kind, Kind::File | Kind::Folder));
    resource.capabilities = Some(capabilities);
    if facts.kind == Kind::File {
        resource.size = Some(facts.size.into());
    }
    resource
}

/// Returns text if the bytes are text, and bytes if not.
fn contents(uri: &str, mime_type: impl Into<String>, bytes: Vec<u8>) -> ResourceContents {
    if is_text(&bytes) {
        let text = String::from_utf8(bytes).unwrap_or_default();
        return ResourceContents::of_text(uri, mime_type, text);
    }
    ResourceContents::of_bytes(uri, mime_type, &bytes)
}

/// Converts a result for clients. What does not exist, or must not be seen, is `None`.
fn found<T>(result: Result<T, FileError>) -> Result<Option<T>, ToolError> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(
            FileError::NotFound(_)
            | FileError::NoFolder(_)
            | FileError::NotAFolder(_)
            | FileError::LeadsNowhere(_),
        ) => Ok(None),
        Err(error) => Err(error.told()),
    }
}

impl Resources for Directory {
    fn name(&self) -> &str {
        "Directory"
    }

    fn prefix(&self) -> &str {
        &self.uris.root
    }

    fn offers(&self) -> Offers {
        Offers { children: true, watching: true, changes: true, completion: true }
    }

    fn attach(&self, changes: &Changes) {
        self.watcher.watch_list(changes);
    }

    async fn metadata(&self, uri: &str, _: &Principal) -> Result<Option<Resource>, ToolError> {
        let Some(place) = self.uris.place(uri) else {
            return Ok(None);
        };
        self.blocking(move |this| found(this.root.entry(&place).map(|entry| this.resource(&entry))))
            .await
    }

    /// Returns the folder itself, then its direct children: enough for clients that do not know trees.
    async fn list(&self, page: Page<'_>, _: &Principal) -> Result<Listing, ToolError> {
        let (after, limit) = (page.after.map(str::to_owned), page.limit);
        self.blocking(move |this| {
            let place = RootedPath::root();
            let mut listing = Listing::default();
            let is_first = after.is_none();
            if is_first {
                listing
                    .resources
                    .extend(found(this.root.entry(&place))?.map(|e| this.resource(&e)));
            }
            let left = limit.saturating_sub(listing.resources.len()).max(1);
            let page = Page { after: after.as_deref(), limit: left };
            match this.listing(&place, page) {
                Ok(children) => {
                    listing.resources.extend(children.resources);
                    listing.next = children.next;
                }
                // A root that cannot be listed now does not hide the rest of the server's list.
                Err(error) if is_first => tracing::warn!(%error, "a root cannot be listed"),
                Err(error) => return Err(error.told()),
            }
            Ok(listing)
        })
        .await
    }

    async fn children(
        &self,
        uri: &str,
        page: Page<'_>,
        _: &Principal,
    ) -> Result<Option<Listing>, ToolError> {
        let Some(place) = self.uris.place(uri) else {
            return Ok(None);
        };
        let (after, limit) = (page.after.map(str::to_owned), page.limit);
        self.blocking(move |this| {
            let page = Page { after: after.as_deref(), limit };
            // It existed a moment ago; a folder that has just vanished counts as empty.
            Ok(Some(found(this.listing(&place, page))?.unwrap_or_default()))
        })
        .await
    }

    async fn read(&self, uri: &str, _: Ctx) -> Result<Option<Contents>, ToolError> {
        let Some(place) = self.uris.place(uri) else {
            return Ok(None);
        };
        let uri = uri.to_owned();
        let read = self.blocking(move |this| {
            let Some(entry) = found(this.root.entry(&place))? else {
                return Ok(None);
            };
            found(match entry.kind {
                Kind::Folder => this.read_folder(&place),
                _ => this.read_file(&uri, &entry),
            })
        });
        Ok(read.await?.map(Contents::from))
    }

    async fn watch(&self, uri: &str, changes: &Changes) -> Result<Option<WatchGuard>, ToolError> {
        let Some(place) = self.uris.place(uri) else {
            return Ok(None);
        };
        let (uri, changes) = (uri.to_owned(), changes.clone());
        let watch = self.blocking(move |this| Ok(this.watcher.watch(place, uri, changes)));
        Ok(Some(WatchGuard::while_held(watch.await?)))
    }

    async fn templates(&self, _: &Principal) -> Result<Vec<ResourceTemplate>, ToolError> {
        let mut template = ResourceTemplate::new(self.uris.template(), self.root_name());
        template.description = Some("A file or folder by its path".to_owned());
        Ok(vec![template])
    }

    async fn complete(
        &self,
        asked: &Completing<'_>,
        _: &Principal,
    ) -> Result<Option<Vec<String>>, ToolError> {
        if asked.template != self.uris.template() || asked.variable != "path" {
            return Ok(None);
        }
        let typed = asked.typed.to_owned();
        self.blocking(move |this| Ok(Some(this.proposals(&typed)))).await
    }
}

/// The mapping between places and URIs.
#[derive(Debug, Clone)]
struct Uris {
    /// The URI of the root.
    root: String,
    /// The prefix of every path inside it; ends with a slash.
    stem: String,
}

impl Uris {
    fn of_root(uri: &str) -> Self {
        let trimmed = uri.trim_end_matches('/');
        if trimmed.ends_with(':') {
            // `file:///`: the slash is the path.
            return Self { root: uri.to_owned(), stem: uri.to_owned() };
        }
        Self { root: trimmed.to_owned(), stem: format!("{trimmed}/") }
    }

    fn of_path(path: &Path) -> Self {
        let names = path.components().filter_map(|part| match part {
            Component::Normal(name) => Some(name.as_encoded_bytes()),
            _ => None,
        });
        let place = names.fold(RootedPath::root(), |place, name| place.child(name));
        Self::of_root(&format!("file:///{}", place.to_uri_path()))
    }

    fn of(&self, place: &RootedPath) -> String {
        if place.is_root() {
            return self.root.clone();
        }
        place.after(&self.stem)
    }

    fn template(&self) -> String {
        format!("{}{{+path}}", self.stem)
    }

    fn place(&self, uri: &str) -> Option<RootedPath> {
        if uri == self.root {
            return Some(RootedPath::root());
        }
        let path = uri.strip_prefix(&self.stem)?;
        // A query or a fragment names another resource.
        if path.contains(['?', '#']) {
            return None;
        }
        RootedPath::from_uri_path(path).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_and_uris_convert_both_ways() {
        for (root, at_root, child) in [
            ("file:///", "file:///", "file:///a%20b/c"),
            ("file:///srv/docs", "file:///srv/docs", "file:///srv/docs/a%20b/c"),
            ("docs://v2/", "docs://v2", "docs://v2/a%20b/c"),
        ] {
            let uris = Uris::of_root(root);
            let place = RootedPath::parse("a b/c").unwrap();
            assert_eq!(uris.of(&RootedPath::root()), at_root);
            assert_eq!(uris.of(&place), child);
            assert_eq!(uris.place(child), Some(place.clone()));
            assert_eq!(uris.place(at_root), Some(RootedPath::root()));
            assert_eq!(uris.place(&format!("{child}/")), Some(place));
            for other in ["a%20b/../c", "a?b", "a#b", "%2e%2e/x", "a%2fb", "a//b", "%00"] {
                assert_eq!(uris.place(&format!("{}{other}", uris.stem)), None, "{other}");
            }
        }
        let uris = Uris::of_path(Path::new("/home/a b/ü"));
        assert_eq!(uris.root, "file:///home/a%20b/%C3%BC");
        assert_eq!(Uris::of_path(Path::new("/")).root, "file:///");
    }
}
