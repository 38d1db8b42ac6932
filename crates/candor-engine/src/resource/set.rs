//! Resources from a list and closures, with folders.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use candor_protocol::Principal;
use candor_protocol::types::{ReadResourceResult, Resource, ResourceTemplate};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use super::template::Template;
use super::{
    Contents, IntoContents, Listing, Offers, Page, ReadTarget, Resources, TemplateError, Variables,
    WatchGuard,
};
use crate::changes::Changes;
use crate::ctx::Ctx;
use crate::error::ToolError;

/// The maximum number of children that a read of their folder returns. The list has all of them.
const READ_ALONG: usize = 50;

type ReadFn<A> =
    dyn Fn(A, Ctx) -> BoxFuture<'static, Result<ReadResourceResult, ToolError>> + Send + Sync;

/// A template in both forms, and the handler for the URIs that it matches.
struct Family {
    published: ResourceTemplate,
    template: Template,
    read: Arc<ReadFn<(String, Variables)>>,
}

/// A resource of a set, and its handler.
struct Node {
    resource: Resource,
    /// The index of its folder, if it is inside one.
    parent: Option<usize>,
    /// `None` for a folder: a read returns its children.
    read: Option<Arc<ReadFn<String>>>,
}

/// Resources that are known when the server starts, and templates.
///
/// ```
/// use candor_server::protocol::types::{Resource, ResourceTemplate};
/// use candor_server::resource::ResourceSet;
///
/// let resources = ResourceSet::new()
///     .resource(Resource::new("memo:///today", "today"), |_uri, _ctx| async { Ok("Buy milk") })
///     .folder(
///         Resource::new("memo:///old", "old"),
///         ResourceSet::new()
///             .resource(Resource::new("memo:///old/1", "first"), |_, _| async { Ok("Buy bread") }),
///     )
///     .template(ResourceTemplate::new("memo:///by-date/{date}", "by date"), |_uri, variables, _ctx| async move {
///         Ok(format!("Nothing on {}", variables["date"]))
///     })?;
/// # Ok::<(), candor_server::resource::TemplateError>(())
/// ```
#[derive(Default)]
pub struct ResourceSet {
    nodes: Vec<Node>,
    /// The index of each URI's node.
    places: HashMap<String, usize>,
    families: Vec<Family>,
    watched: HashSet<String>,
}

impl ResourceSet {
    /// Returns a set without resources.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a resource and its handler. If two have the same URI, the first counts.
    #[must_use]
    pub fn resource<F, R, C>(mut self, resource: Resource, read: F) -> Self
    where
        F: Fn(String, Ctx) -> R + Send + Sync + 'static,
        R: Future<Output = Result<C, ToolError>> + Send + 'static,
        C: IntoContents + 'static,
    {
        let read = reading(resource.mime_type.clone(), read);
        self.push(Node { resource, parent: None, read: Some(read) });
        self
    }

    /// Adds a folder: a resource that lists what is inside it. A read returns its first children.
    #[must_use]
    pub fn folder(mut self, folder: Resource, inside: Self) -> Self {
        let place = self.nodes.len();
        self.push(Node { resource: folder.listable(), parent: None, read: None });
        for mut node in inside.nodes {
            node.parent = Some(node.parent.map_or(place, |parent| place + 1 + parent));
            self.push(node);
        }
        self.families.extend(inside.families);
        self.watched.extend(inside.watched);
        self
    }

    /// Adds a template and the handler for the resources that it matches.
    pub fn template<F, R, C>(
        mut self,
        template: ResourceTemplate,
        read: F,
    ) -> Result<Self, TemplateError>
    where
        F: Fn(String, Variables, Ctx) -> R + Send + Sync + 'static,
        R: Future<Output = Result<C, ToolError>> + Send + 'static,
        C: IntoContents + 'static,
    {
        let parsed = Template::parse(&template.uri_template)?;
        let mime_type = template.mime_type.clone();
        let read = move |(uri, variables): (String, Variables), ctx| {
            let (reading, mime_type) = (read(uri.clone(), variables, ctx), mime_type.clone());
            shaped(reading, uri, mime_type).boxed()
        };
        self.families.push(Family { published: template, template: parsed, read: Arc::new(read) });
        Ok(self)
    }

    /// Lets clients watch a resource. Report its changes with [`Changes::resource`].
    #[must_use]
    pub fn watched(mut self, uri: impl Into<String>) -> Self {
        self.watched.insert(uri.into());
        self
    }

    fn push(&mut self, node: Node) {
        let place = self.nodes.len();
        self.places.entry(node.resource.uri.clone()).or_insert(place);
        self.nodes.push(node);
    }

    fn node(&self, uri: &str) -> Option<(usize, &Node)> {
        let place = *self.places.get(uri)?;
        Some((place, &self.nodes[place]))
    }

    /// Returns a resource as it is published.
    fn published(&self, resource: &Resource) -> Resource {
        let resource = resource.clone().definite();
        if self.watched.contains(&resource.uri) { resource.watchable() } else { resource }
    }

    /// Returns the children of a folder, or the top level. If two nodes have the same URI, only the first counts.
    fn inside(&self, parent: Option<usize>) -> impl Iterator<Item = &Node> {
        let counts = |place, node: &Node| self.places.get(&node.resource.uri) == Some(&place);
        let nodes = self.nodes.iter().enumerate();
        nodes
            .filter(move |(place, node)| node.parent == parent && counts(*place, node))
            .map(|(_, node)| node)
    }

    /// Returns a page of a folder's children, or of the top level.
    fn page(&self, parent: Option<usize>, page: Page<'_>) -> Listing {
        let inside = self.inside(parent);
        Listing::paged(inside.map(|node| self.published(&node.resource)).collect(), page)
    }

    /// Reads a folder's first children that have a handler.
    async fn read_along(&self, folder: usize, ctx: Ctx) -> Result<ReadResourceResult, ToolError> {
        let children = self.inside(Some(folder));
        let mut all = Vec::new();
        for (node, read) in children.filter_map(|n| Some((n, n.read.as_ref()?))).take(READ_ALONG) {
            let result = read(node.resource.uri.clone(), ctx.clone()).await?;
            all.extend(result.contents);
        }
        Ok(ReadResourceResult::new(all))
    }
}

/// Wraps the handler of one resource.
fn reading<F, R, C>(mime_type: Option<String>, read: F) -> Arc<ReadFn<String>>
where
    F: Fn(String, Ctx) -> R + Send + Sync + 'static,
    R: Future<Output = Result<C, ToolError>> + Send + 'static,
    C: IntoContents + 'static,
{
    Arc::new(move |uri: String, ctx| {
        let (reading, mime_type) = (read(uri.clone(), ctx), mime_type.clone());
        shaped(reading, uri, mime_type).boxed()
    })
}

/// Converts what a handler returns to contents.
async fn shaped<C: IntoContents>(
    reading: impl Future<Output = Result<C, ToolError>>,
    uri: String,
    mime_type: Option<String>,
) -> Result<ReadResourceResult, ToolError> {
    let mime_type = mime_type.as_deref();
    reading.await?.into_contents(ReadTarget { uri: &uri, mime_type })
}

/// Returns the metadata of a resource that a template matches, without a read: what the template declares for all of them.
fn member(family: &ResourceTemplate, uri: &str) -> Resource {
    let mut resource = Resource::new(uri, family.name.as_str());
    resource.title.clone_from(&family.title);
    resource.description.clone_from(&family.description);
    resource.mime_type.clone_from(&family.mime_type);
    resource.icons.clone_from(&family.icons);
    resource.annotations.clone_from(&family.annotations);
    resource
}

impl Resources for ResourceSet {
    fn offers(&self) -> Offers {
        Offers {
            children: self.nodes.iter().any(|node| node.resource.is_listable()),
            watching: !self.watched.is_empty(),
            ..Offers::default()
        }
    }

    async fn metadata(&self, uri: &str, _: &Principal) -> Result<Option<Resource>, ToolError> {
        if let Some((_, node)) = self.node(uri) {
            return Ok(Some(self.published(&node.resource)));
        }
        let family = self.families.iter().find(|family| family.template.matches(uri).is_some());
        Ok(family.map(|family| self.published(&member(&family.published, uri))))
    }

    async fn list(&self, page: Page<'_>, _: &Principal) -> Result<Listing, ToolError> {
        Ok(self.page(None, page))
    }

    async fn children(
        &self,
        uri: &str,
        page: Page<'_>,
        _: &Principal,
    ) -> Result<Option<Listing>, ToolError> {
        Ok(self.node(uri).map(|(place, _)| self.page(Some(place), page)))
    }

    async fn read(&self, uri: &str, ctx: Ctx) -> Result<Option<Contents>, ToolError> {
        let result = match self.node(uri) {
            Some((_, Node { read: Some(read), .. })) => read(uri.to_owned(), ctx).await?,
            Some((folder, _)) => self.read_along(folder, ctx).await?,
            None => {
                let matching = self
                    .families
                    .iter()
                    .find_map(|family| Some((&family.read, family.template.matches(uri)?)));
                let Some((read, variables)) = matching else {
                    return Ok(None);
                };
                read((uri.to_owned(), variables), ctx).await?
            }
        };
        Ok(Some(result.into()))
    }

    async fn watch(&self, uri: &str, _: &Changes) -> Result<Option<WatchGuard>, ToolError> {
        Ok(self.watched.contains(uri).then(WatchGuard::told))
    }

    async fn templates(&self, _: &Principal) -> Result<Vec<ResourceTemplate>, ToolError> {
        Ok(self.families.iter().map(|family| family.published.clone()).collect())
    }
}
