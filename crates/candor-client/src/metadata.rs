//! The metadata of a resource: from `resources/metadata`, or from other methods if the server lacks that one.

use candor_protocol::names::method;
use candor_protocol::rpc::{ErrorObject, code};
use candor_protocol::types::{
    Resource, ResourceCapabilities, ResourceContents, ResourceMetadataResult,
};

use crate::client::{Client, read};
use crate::error::Error;
use crate::members::quoted;
use crate::resources::{Contents, about, is_missing_method};
use crate::session::{OutgoingRequest, Session};
use crate::uri::is_same_uri;

/// The metadata of a resource, and how the client found it.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ResourceDescription {
    /// The resource.
    pub resource: Resource,
    /// The error of `resources/metadata`, if the description comes from elsewhere. It may mean that the server lacks the method, or
    /// that it refuses this resource.
    pub refused: Option<Error>,
    /// The contents, if only a read described the resource. They may have other URIs.
    pub read: Option<Contents>,
    /// Only a read shows the children, because the server does not list them.
    pub(crate) opens_by_read: bool,
}

impl From<Resource> for ResourceDescription {
    fn from(resource: Resource) -> Self {
        Self { resource, refused: None, read: None, opens_by_read: false }
    }
}

/// Why `resources/metadata` describes nothing.
enum MetadataFailure {
    /// The server does not have the method.
    Missing,
    /// The server may lack the method, or it refuses this resource.
    Doubtful(Error),
    /// The server has the method, and this is its answer.
    Refused(Error),
}

impl Client {
    /// Returns the metadata of a resource: from `resources/metadata` if the server has that method, otherwise from the list, or
    /// else from a read.
    ///
    /// If a read of a container returns only its children, the container has no metadata of its own. The result then has the
    /// requested URI. It says that the resource can be listed if the server lists its children.
    pub async fn metadata(&self, uri: &str) -> Result<Resource, Error> {
        Ok(self.describe(uri).await?.resource)
    }

    /// Returns what [`Client::metadata`] does, and the error of `resources/metadata` if it is unclear whether the server has that
    /// method.
    pub async fn describe(&self, uri: &str) -> Result<ResourceDescription, Error> {
        let session = self.need_resources().await?;
        let refused = match self.ask_metadata(&session, uri).await {
            Ok(resource) => return Ok(resource.into()),
            Err(MetadataFailure::Refused(error)) => return Err(error),
            Err(MetadataFailure::Doubtful(error)) => Some(error),
            Err(MetadataFailure::Missing) => None,
        };
        let listed = self.resources().await.unwrap_or_default();
        let is_it = |resource: &&Resource| is_same_uri(&resource.uri, uri);
        // A server with the method also describes the resources that it lists. If it does, its error about this resource is a real
        // answer.
        if let Some(refused) = &refused
            && let Some(other) = listed.iter().find(|resource| !is_it(resource))
        {
            match self.ask_metadata(&session, &other.uri).await {
                Ok(_) => return Err(refused.clone()),
                Err(MetadataFailure::Doubtful(_)) => session.note_no_metadata(),
                Err(_) if session.has_metadata() => return Err(refused.clone()),
                Err(_) => {}
            }
        }
        let described = match listed.iter().find(is_it) {
            Some(found) => Ok(found.clone().into()),
            None => self.describe_contents(uri).await,
        };
        match (described, refused) {
            // The server's error about the metadata answers the question more directly than that of a read.
            (Err(Error::Server(_) | Error::Protocol(_)), Some(refused)) => Err(refused),
            (described, refused) => {
                described.map(|described| ResourceDescription { refused, ..described })
            }
        }
    }

    async fn ask_metadata(
        &self,
        session: &Session,
        uri: &str,
    ) -> Result<Resource, MetadataFailure> {
        if session.lacks_metadata() {
            return Err(MetadataFailure::Missing);
        }
        let answer = self.ask(OutgoingRequest::new(method::RESOURCES_METADATA, about(uri))).await;
        let error = match answer.and_then(|answer| read::<ResourceMetadataResult>(&answer)) {
            Ok(answer) => {
                session.note_metadata();
                return Ok(answer.resource);
            }
            Err(error) => error,
        };
        if matches!(&error, Error::Server(error) if is_about(error, uri)) {
            session.note_metadata();
        }
        let is_unknown = match &error {
            Error::Server(error) => error.code() == code::METHOD_NOT_FOUND,
            error => is_missing_method(error) && !session.has_metadata(),
        };
        if is_unknown {
            session.note_no_metadata();
            return Err(MetadataFailure::Missing);
        }
        let promised = session.has_metadata() || session.has_resource_extension();
        match !promised && may_be_unknown(&error) {
            true => Err(MetadataFailure::Doubtful(error)),
            false => Err(MetadataFailure::Refused(error)),
        }
    }

    /// Describes a resource by the result of a read: its own content, or evidence that it is a container.
    async fn describe_contents(&self, uri: &str) -> Result<ResourceDescription, Error> {
        let contents = self.read(uri).await?;
        let own = contents.own().next().cloned();
        if let Some(own) = own {
            let own = described(own);
            return Ok(ResourceDescription { read: Some(contents), ..own.into() });
        }
        let mut resource = Resource::new(uri, uri);
        let has_others = !contents.all().is_empty();
        match self.first_children(uri).await? {
            Some(children) if !children.is_empty() || !has_others => {
                let mut can = ResourceCapabilities::new();
                can.list = Some(true);
                resource.capabilities = Some(can);
                Ok(ResourceDescription { read: Some(contents), ..resource.into() })
            }
            _ if has_others => Ok(ResourceDescription {
                read: Some(contents),
                opens_by_read: true,
                ..resource.into()
            }),
            _ => {
                let uri = quoted(uri);
                Err(Error::protocol(format!("it describes, lists and reads nothing of {uri}")))
            }
        }
    }
}

/// Returns true if an error is about this resource.
fn is_about(error: &ErrorObject, uri: &str) -> bool {
    let data = error.data.as_ref().map(|data| serde_json::from_str(data.get()));
    let data: Option<serde_json::Value> = data.and_then(Result::ok);
    let named = data.as_ref().and_then(|data| data.get("uri")).and_then(serde_json::Value::as_str);
    error.code() == code::RESOURCE_NOT_FOUND || named.is_some_and(|named| is_same_uri(named, uri))
}

/// Returns true if an error may mean that the server does not know the method. Some SDKs answer unknown methods with other codes
/// than -32601: the Python SDK with -32602, others with -32600, -32603 or an unreadable result.
fn may_be_unknown(error: &Error) -> bool {
    match error {
        Error::Server(error) => matches!(
            error.code(),
            code::INVALID_REQUEST | code::INVALID_PARAMS | code::INTERNAL_ERROR | -32000
        ),
        Error::Http { status, .. } => matches!(status, 400 | 404 | 405 | 422 | 501),
        Error::Protocol(_) => true,
        _ => false,
    }
}

/// Returns the metadata of the resource in a content.
pub(crate) fn described(content: ResourceContents) -> Resource {
    let name = content.name.unwrap_or_else(|| content.uri.clone());
    let mut resource = Resource::new(content.uri, name);
    resource.title = content.title;
    resource.description = content.description;
    resource.mime_type = content.mime_type;
    resource.size = content.size;
    resource.icons = content.icons;
    resource.annotations = content.annotations;
    resource.capabilities = content.capabilities;
    resource.meta = content.meta;
    resource
}
