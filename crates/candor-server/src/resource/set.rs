//! Resources from a list and closures.

use std::collections::HashSet;
use std::sync::Arc;

use candor_protocol::Principal;
use candor_protocol::types::{ReadResourceResult, Resource, ResourceTemplate};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use super::template::Template;
use super::{Asked, IntoContents, Resources, TemplateError, Variables};
use crate::ctx::Ctx;
use crate::provider::ProviderError;
use crate::tool::ToolError;

type Read<A> =
    dyn Fn(A, Ctx) -> BoxFuture<'static, Result<ReadResourceResult, ToolError>> + Send + Sync;

/// A template, in both forms, and how to read what it matches.
type Family = (ResourceTemplate, Template, Arc<Read<(String, Variables)>>);

/// Resources that are known when the server starts, and families of them.
///
/// ```
/// use candor_server::protocol::types::Resource;
/// use candor_server::resource::ResourceSet;
///
/// let today = Resource::new("memo:///today", "today");
/// let resources = ResourceSet::new().resource(today, |_uri, _ctx| async { Ok("Buy milk") });
/// ```
#[derive(Default)]
pub struct ResourceSet {
    resources: Vec<(Resource, Arc<Read<String>>)>,
    templates: Vec<Family>,
    watched: HashSet<String>,
}

impl ResourceSet {
    /// No resources yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a resource and how to read it.
    #[must_use]
    pub fn resource<F, R, C>(mut self, resource: Resource, read: F) -> Self
    where
        F: Fn(String, Ctx) -> R + Send + Sync + 'static,
        R: Future<Output = Result<C, ToolError>> + Send + 'static,
        C: IntoContents + 'static,
    {
        let mime_type = resource.mime_type.clone();
        let read = move |uri: String, ctx| {
            let (reading, mime_type) = (read(uri.clone(), ctx), mime_type.clone());
            shaped(reading, uri, mime_type).boxed()
        };
        self.resources.push((resource, Arc::new(read)));
        self
    }

    /// Adds a family of resources and how to read one of them.
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
        self.templates.push((template, parsed, Arc::new(read)));
        Ok(self)
    }

    /// Lets clients watch a resource; say with [`Changes::resource`](crate::Changes::resource) when it changes.
    #[must_use]
    pub fn watched(mut self, uri: impl Into<String>) -> Self {
        self.watched.insert(uri.into());
        self
    }
}

/// From what a handler returns to contents.
async fn shaped<C: IntoContents>(
    reading: impl Future<Output = Result<C, ToolError>>,
    uri: String,
    mime_type: Option<String>,
) -> Result<ReadResourceResult, ToolError> {
    let mime_type = mime_type.as_deref();
    reading.await?.into_contents(Asked { uri: &uri, mime_type })
}

impl Resources for ResourceSet {
    fn list<'a>(&'a self, _: &'a Principal) -> BoxFuture<'a, Result<Vec<Resource>, ProviderError>> {
        let resources = self.resources.iter().map(|(resource, _)| resource.clone()).collect();
        Box::pin(std::future::ready(Ok(resources)))
    }

    fn templates<'a>(
        &'a self,
        _: &'a Principal,
    ) -> BoxFuture<'a, Result<Vec<ResourceTemplate>, ProviderError>> {
        let templates = self.templates.iter().map(|(template, ..)| template.clone()).collect();
        Box::pin(std::future::ready(Ok(templates)))
    }

    fn read<'a>(
        &'a self,
        uri: &'a str,
        ctx: Ctx,
    ) -> BoxFuture<'a, Result<Option<ReadResourceResult>, ToolError>> {
        if let Some((_, read)) = self.resources.iter().find(|(resource, _)| resource.uri == uri) {
            return read(uri.to_owned(), ctx).map(|r| r.map(Some)).boxed();
        }
        for (_, template, read) in &self.templates {
            if let Some(variables) = template.matches(uri) {
                return read((uri.to_owned(), variables), ctx).map(|r| r.map(Some)).boxed();
            }
        }
        Box::pin(std::future::ready(Ok(None)))
    }

    fn can_watch(&self, uri: &str) -> bool {
        self.watched.contains(uri)
    }

    fn watches(&self) -> bool {
        !self.watched.is_empty()
    }
}
