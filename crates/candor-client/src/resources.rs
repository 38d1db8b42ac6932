//! Resources: their lists, children and contents.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use candor_protocol::json::{Object, raw};
use candor_protocol::names::{extension, method};
use candor_protocol::rpc::code;
use candor_protocol::types::{ReadResourceResult, Resource, ResourceContents, ResourceTemplate};

use crate::client::{Client, read};
use crate::error::Error;
use crate::session::Session;
use crate::uri::is_same_uri;

/// The contents of a resource: one content, several formats of it, or several resources.
///
/// ```no_run
/// # async fn example(client: &candor_client::Client) -> Result<(), candor_client::Error> {
/// let report = client.read("report:///2026").await?;
/// for format in report.formats() {
///     println!("{format:?}");
/// }
/// # Ok(()) }
/// ```
#[derive(Debug, Clone)]
pub struct Contents {
    uri: String,
    all: Vec<ResourceContents>,
}

impl Contents {
    /// Returns all contents.
    #[must_use]
    pub fn all(&self) -> &[ResourceContents] {
        &self.all
    }

    /// Returns the formats of the requested resource. An older server may send other resources with it, or only others. If it sends
    /// only others, the first content counts.
    #[must_use]
    pub fn formats(&self) -> Vec<&ResourceContents> {
        let own: Vec<_> = self.own().collect();
        match own.is_empty() {
            false => own,
            true => self.all.iter().take(1).collect(),
        }
    }

    /// Returns the contents with the requested URI, in any spelling.
    pub(crate) fn own(&self) -> impl Iterator<Item = &ResourceContents> {
        self.all.iter().filter(|content| is_same_uri(&content.uri, &self.uri))
    }

    /// Returns the preferred format: `types` are media types in order of preference, such as `text/*` for all text. Without a
    /// match, returns the first format.
    #[must_use]
    pub fn preferred(&self, types: &[&str]) -> Option<&ResourceContents> {
        let found = types.iter().find_map(|wanted| self.format(wanted));
        found.or(self.formats().first().copied())
    }

    /// Returns the first format of this media type, such as `text/*` for all text.
    #[must_use]
    pub fn format(&self, wanted: &str) -> Option<&ResourceContents> {
        self.formats().into_iter().find(|content| {
            content.mime_type.as_deref().is_some_and(|given| is_kind_of(given, wanted))
        })
    }

    /// Returns the contents of the children, if the server sent them with a listable resource. They may be incomplete; see
    /// [`Client::children`].
    #[must_use]
    pub fn others(&self) -> Vec<&ResourceContents> {
        self.all.iter().filter(|content| !is_same_uri(&content.uri, &self.uri)).collect()
    }
}

fn is_kind_of(given: &str, wanted: &str) -> bool {
    let given = given.split(';').next().unwrap_or(given).trim();
    match wanted.strip_suffix("/*") {
        Some(kind) => given.split('/').next().is_some_and(|g| g.eq_ignore_ascii_case(kind)),
        None => given.eq_ignore_ascii_case(wanted) || wanted == "*/*",
    }
}

/// Returns the bytes of a content, from its text or its blob.
pub fn bytes_of(content: &ResourceContents) -> Result<Cow<'_, [u8]>, Error> {
    match (&content.text, &content.blob) {
        (Some(text), _) => Ok(Cow::Borrowed(text.as_bytes())),
        (None, Some(blob)) => {
            let bytes =
                BASE64.decode(blob).map_err(|e| Error::protocol(format!("its blob: {e}")))?;
            Ok(Cow::Owned(bytes))
        }
        (None, None) => Err(Error::protocol("a content has neither text nor blob")),
    }
}

impl Client {
    /// Returns the resources that the server lists, all pages.
    pub async fn resources(&self) -> Result<Vec<Resource>, Error> {
        self.need_resources().await?;
        self.list(method::RESOURCES_LIST, "resources", &Object::new()).await
    }

    /// Returns the resource templates of the server, all pages.
    pub async fn templates(&self) -> Result<Vec<ResourceTemplate>, Error> {
        self.need_resources().await?;
        let listed =
            self.list(method::RESOURCES_TEMPLATES_LIST, "resourceTemplates", &Object::new()).await;
        match listed {
            Err(error) if is_missing_method(&error) => Ok(Vec::new()),
            listed => listed,
        }
    }

    /// Returns the direct children of a resource, all pages, or `None` if the server cannot list children.
    ///
    /// The resource must have `capabilities.list`; otherwise servers return an error.
    pub async fn children(&self, uri: &str) -> Result<Option<Vec<Resource>>, Error> {
        let session = self.need_resources().await?;
        for method in ways_to_list(&session) {
            let listed: Vec<Resource> = match self.list(method, "resources", &about(uri)).await {
                Ok(listed) => listed,
                Err(error) if is_missing_method(&error) => continue,
                Err(error) => return Err(error),
            };
            if method != method::RESOURCES_LIST || self.is_scoped(&listed).await? {
                return Ok(Some(listed));
            }
        }
        Ok(None)
    }

    /// Reads the content of a resource.
    pub async fn read(&self, uri: &str) -> Result<Contents, Error> {
        self.need_resources().await?;
        let (answer, _) = self.kept_or_asked(method::RESOURCES_READ, about(uri)).await?;
        let all = read::<ReadResourceResult>(&answer)?.contents;
        Ok(Contents { uri: uri.to_owned(), all })
    }

    /// Returns the first direct children of a resource, up to a page, or `None` if the server cannot list children.
    pub(crate) async fn first_children(&self, uri: &str) -> Result<Option<Vec<Resource>>, Error> {
        let session = self.need_resources().await?;
        for method in ways_to_list(&session) {
            let listed = match self.first_entries(method, about(uri)).await {
                Ok(listed) => listed,
                Err(error) if is_missing_method(&error) => continue,
                Err(error) => return Err(error),
            };
            if method != method::RESOURCES_LIST || self.is_scoped(&listed).await? {
                return Ok(Some(listed));
            }
        }
        Ok(None)
    }

    pub(crate) async fn need_resources(&self) -> Result<std::sync::Arc<Session>, Error> {
        let session = self.session().await?;
        match session.capabilities.resources {
            Some(_) => Ok(session),
            None => Err(Error::Unsupported("resources".to_owned())),
        }
    }
}

/// Returns the methods that list children, the best first. Any server with resources may support the first one.
pub(crate) fn ways_to_list(session: &Session) -> Vec<&'static str> {
    let mut ways = Vec::new();
    if session.scopes_lists() != Some(false) {
        ways.push(method::RESOURCES_LIST);
    }
    let skills = session.extension(extension::SKILLS);
    if skills.is_some_and(|skills| skills.read("directoryRead").ok().flatten() == Some(true)) {
        ways.push(method::DIRECTORY_READ);
    }
    ways
}

pub(crate) fn is_missing_method(error: &Error) -> bool {
    matches!(error, Error::Server(error) if error.code() == code::METHOD_NOT_FOUND)
        || matches!(error, Error::Http { status: 404 | 405, .. })
}

/// Returns the parameters of a request about one resource.
pub(crate) fn about(uri: &str) -> Object {
    let mut params = Object::new();
    params.set("uri", raw(uri));
    params
}
