//! What a resource is, without its content: from `resources/metadata`, or from what else a server without that method shows.

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

/// What is known of a resource, without its content.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ResourceDescription {
    /// The resource.
    pub resource: Resource,
    /// The answer of `resources/metadata`, if the description does not come from there: an error that may mean that the server does not
    /// have the method, or that it refuses this resource.
    pub refused: Option<Error>,
    /// What was read, if only a read described it. Its contents may have other URIs.
    pub read: Option<Contents>,
    /// Only a read shows what is beneath it: the server does not list that.
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
    /// The server may not have the method, or refuses this resource.
    Doubtful(Error),
    /// The server has the method, and this is its answer.
    Refused(Error),
}

impl Client {
    /// Returns what a resource is, without its content: from `resources/metadata` if the server has that method, otherwise from the
    /// list, or else by reading it.
    ///
    /// A container that reads as its children alone has no metadata of its own then: the result has the requested URI, and says that
    /// it can be listed if the server lists its children.
    pub async fn metadata(&self, uri: &str) -> Result<Resource, Error> {
        Ok(self.describe(uri).await?.resource)
    }

    /// Returns what [`Client::metadata`] does, and the error of `resources/metadata` if it leaves in doubt whether the server has that method.
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
        // A server that has the method describes what it lists, and then its error about this resource is an answer.
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
            // What the server says about metadata is nearer to the question.
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

    /// Describes a resource by what a read of it returns: its own content, or proof that it is a container.
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

/// Returns true if an error says that it is about this resource.
fn is_about(error: &ErrorObject, uri: &str) -> bool {
    let data = error.data.as_ref().map(|data| serde_json::from_str(data.get()));
    let data: Option<serde_json::Value> = data.and_then(Result::ok);
    let named = data.as_ref().and_then(|data| data.get("uri")).and_then(serde_json::Value::as_str);
    error.code() == code::RESOURCE_NOT_FOUND || named.is_some_and(|named| is_same_uri(named, uri))
}

/// Returns true if an error may mean that the server does not know the method. Some SDKs answer unknown methods with other codes than
/// -32601: the Python SDK with -32602, others with -32600, -32603 or no result that can be read.
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

/// What a content says of its resource.
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
