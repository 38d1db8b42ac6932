//! Resources from a list and closures.

use std::collections::HashSet;
use std::sync::Arc;

use candor_protocol::Principal;
use candor_protocol::types::{Resource, ResourceContents, ResourceTemplate};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use super::template::Template;
use super::{Resources, TemplateError, Variables};
use crate::ctx::Ctx;
use crate::provider::ProviderError;
use crate::tool::ToolError;

type Read<A> =
    dyn Fn(A, Ctx) -> BoxFuture<'static, Result<Vec<ResourceContents>, ToolError>> + Send + Sync;

/// A template, in both forms, and how to read what it matches.
type Family = (ResourceTemplate, Template, Arc<Read<(String, Variables)>>);

/// Resources that are known when the server starts, and families of them.
///
/// ```
/// use candor_server::protocol::types::{Resource, ResourceContents};
/// use candor_server::resource::ResourceSet;
///
/// let resources = ResourceSet::new().resource(Resource::new("memo:///today", "today"), |uri, _ctx| async move {
///     Ok(vec![ResourceContents::of_text(uri, "text/plain", "Buy milk")])
/// });
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
    pub fn resource<F, R>(mut self, resource: Resource, read: F) -> Self
    where
        F: Fn(String, Ctx) -> R + Send + Sync + 'static,
        R: Future<Output = Result<Vec<ResourceContents>, ToolError>> + Send + 'static,
    {
        self.resources.push((resource, Arc::new(move |uri, ctx| read(uri, ctx).boxed())));
        self
    }

    /// Adds a family of resources and how to read one of them.
    pub fn template<F, R>(
        mut self,
        template: ResourceTemplate,
        read: F,
    ) -> Result<Self, TemplateError>
    where
        F: Fn(String, Variables, Ctx) -> R + Send + Sync + 'static,
        R: Future<Output = Result<Vec<ResourceContents>, ToolError>> + Send + 'static,
    {
        let parsed = Template::parse(&template.uri_template)?;
        self.templates.push((
            template,
            parsed,
            Arc::new(move |(uri, variables), ctx| read(uri, variables, ctx).boxed()),
        ));
        Ok(self)
    }

    /// Lets clients watch a resource; say with [`Changes::resource`](crate::Changes::resource) when it changes.
    #[must_use]
    pub fn watched(mut self, uri: impl Into<String>) -> Self {
        self.watched.insert(uri.into());
        self
    }
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
    ) -> BoxFuture<'a, Result<Option<Vec<ResourceContents>>, ToolError>> {
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
