//! All resources of a server as one tree: finds the provider of a URI, and holds it to its contract.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::erased::ErasedProvider;
use super::{
    Completing, Contents, Listing, Offers, Page, ReadTarget, Resources, WatchGuard, rules, uri,
};
use crate::changes::Changes;
use crate::ctx::Ctx;
use crate::error::ToolError;
use candor_protocol::Principal;
use candor_protocol::types::{
    ReadResourceResult, Resource, ResourceCapabilities, ResourceTemplate,
};

/// The providers of a server.
#[derive(Default)]
pub(crate) struct Tree {
    mounts: Vec<Mount>,
    /// How long a provider may take to answer.
    patience: Duration,
}

struct Mount {
    provider: Box<dyn ErasedProvider>,
    offers: Offers,
    /// The warnings that are in the log already. Each is logged once.
    warned: [AtomicBool; 3],
}

/// What a provider should fix, although its answers are sent.
#[derive(Clone, Copy)]
enum Lint {
    /// Its resources do not declare their capabilities.
    Silent,
    /// Its resources declare capabilities that it does not offer.
    Boasts,
    /// A read of a resource that does not say whether it can be listed returned other URIs, too.
    ManyUris,
}

impl Lint {
    fn summary(self) -> &'static str {
        match self {
            Self::Silent => {
                "a resource omits its capabilities; `Resource::definite` sets `list` and `subscribe` to false"
            }
            Self::Boasts => {
                "a resource claims a capability that `Resources::offers` does not; it is published as false"
            }
            Self::ManyUris => {
                "reading a resource that omits its capabilities returned other URIs, too; this is deprecated: make it \
                 listable, or give one URI"
            }
        }
    }
}

/// A resource, and its provider.
pub struct ResolvedResource<'t> {
    mount: &'t Mount,
    /// Its metadata.
    pub resource: Resource,
}

/// Why a request about a resource failed.
#[derive(Debug)]
pub enum ResourceFailure {
    /// The text is not a URI.
    NoUri(&'static str),
    /// The caller has no such resource.
    NotFound,
    /// The resource has no children to list.
    NotListable,
    /// The resource cannot be watched.
    NotWatchable,
    /// The provider returned an error.
    Failed(ToolError),
    /// The provider broke its contract or timed out. The log has the reason.
    Broken,
}

impl From<ToolError> for ResourceFailure {
    fn from(error: ToolError) -> Self {
        Self::Failed(error)
    }
}

/// Where a page of the default list begins.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ListStart {
    /// The provider that it continues with.
    pub mount: usize,
    /// The position in the provider's list.
    pub after: Option<String>,
}

/// A page of children, and where the next page begins.
pub type Children = (Vec<Resource>, Option<String>);

impl Tree {
    pub(crate) fn mount(&mut self, provider: impl Resources) {
        let provider: Box<dyn ErasedProvider> = Box::new(provider);
        let offers = provider.offers();
        self.mounts.push(Mount { provider, offers, warned: Default::default() });
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.mounts.is_empty()
    }

    /// Returns what all providers together offer.
    pub(crate) fn offers(&self) -> Offers {
        self.mounts.iter().fold(Offers::default(), |all, mount| Offers {
            children: all.children || mount.offers.children,
            watching: all.watching || mount.offers.watching,
            changes: all.changes || mount.offers.changes,
            completion: all.completion || mount.offers.completion,
        })
    }

    pub(crate) fn attach(&self, changes: &Changes) {
        self.mounts.iter().for_each(|mount| mount.provider.attach(changes));
    }

    pub(crate) fn set_patience(&mut self, patience: Duration) {
        self.patience = patience;
    }

    /// Returns the resource of a URI, if this principal has it. Every operation on a resource begins here.
    pub(crate) async fn find(
        &self,
        uri: &str,
        who: &Principal,
    ) -> Result<ResolvedResource<'_>, ResourceFailure> {
        if let Some(problem) = uri::problem(uri) {
            return Err(ResourceFailure::NoUri(problem));
        }
        let mut fitting: Vec<_> =
            self.mounts.iter().filter(|m| uri::covers(m.provider.prefix(), uri)).collect();
        // Stable: of two with the same prefix, the one that was mounted first.
        fitting.sort_by_key(|mount| std::cmp::Reverse(mount.provider.prefix().len()));
        for mount in fitting {
            let resource = self.wait(mount, uri, mount.provider.metadata(uri, who)).await?;
            if let Some(mut resource) = resource {
                mount.hold_to_offers(&mut resource);
                return Ok(ResolvedResource { mount, resource });
            }
        }
        Err(ResourceFailure::NotFound)
    }

    /// Returns a page of the default list: the lists of all providers, one after another.
    pub(crate) async fn list(
        &self,
        start: ListStart,
        limit: usize,
        who: &Principal,
    ) -> Result<(Vec<Resource>, Option<ListStart>), ResourceFailure> {
        let mut listed = Vec::new();
        let ListStart { mount: first, mut after } = start;
        for (number, mount) in self.mounts.iter().enumerate().skip(first) {
            let left = limit.saturating_sub(listed.len());
            if left == 0 {
                return Ok((listed, Some(ListStart { mount: number, after: None })));
            }
            let page = Page { after: after.as_deref(), limit: left };
            let Listing { mut resources, next } =
                self.wait(mount, "", mount.provider.list(page, who)).await?;
            mount.moves_on("", page, next.as_deref())?;
            resources.iter_mut().for_each(|resource| mount.hold_to_offers(resource));
            listed.append(&mut resources);
            if next.is_some() {
                return Ok((listed, Some(ListStart { mount: number, after: next })));
            }
            after = None;
        }
        Ok((listed, None))
    }

    /// Returns a page of a resource's direct children.
    pub(crate) async fn children(
        &self,
        uri: &str,
        page: Page<'_>,
        who: &Principal,
    ) -> Result<Children, ResourceFailure> {
        let ResolvedResource { mount, resource } = self.find(uri, who).await?;
        if !resource.is_listable() {
            return Err(ResourceFailure::NotListable);
        }
        let listing = self.wait(mount, uri, mount.provider.children(uri, page, who)).await?;
        let Some(Listing { mut resources, next }) = listing else {
            return Err(mount.broke(uri, "says that it can be listed, and then is not"));
        };
        mount.moves_on(uri, page, next.as_deref())?;
        if resources.iter().any(|child| child.uri == resource.uri) {
            return Err(mount.broke(uri, "lists itself among its children"));
        }
        resources.iter_mut().for_each(|child| mount.hold_to_offers(child));
        Ok((resources, next))
    }

    /// Begins to watch a resource.
    pub(crate) async fn watch(
        &self,
        uri: &str,
        changes: &Changes,
        who: &Principal,
    ) -> Result<WatchGuard, ResourceFailure> {
        let ResolvedResource { mount, resource } = self.find(uri, who).await?;
        if !resource.is_watchable() {
            return Err(ResourceFailure::NotWatchable);
        }
        self.wait(mount, uri, mount.provider.watch(uri, changes))
            .await?
            .ok_or_else(|| mount.broke(uri, "says that it can be watched, and then is not"))
    }

    pub(crate) async fn templates(
        &self,
        who: &Principal,
    ) -> Result<Vec<ResourceTemplate>, ResourceFailure> {
        let mut all = Vec::new();
        for mount in &self.mounts {
            all.extend(self.wait(mount, "", mount.provider.templates(who)).await?);
        }
        all.iter_mut().for_each(ResourceTemplate::drop_nulls);
        Ok(all)
    }

    /// Returns proposals for a variable of a template, or `None` if no provider knows the template.
    pub(crate) async fn complete(
        &self,
        asked: &Completing<'_>,
        who: &Principal,
    ) -> Result<Option<Vec<String>>, ResourceFailure> {
        for mount in self.mounts.iter().filter(|mount| mount.offers.completion) {
            let proposals = self.wait(mount, "", mount.provider.complete(asked, who)).await?;
            if proposals.is_some() {
                return Ok(proposals);
            }
        }
        Ok(None)
    }

    /// Checks a read result, and completes every content with the metadata of its resource.
    pub(crate) async fn settle(
        &self,
        found: &ResolvedResource<'_>,
        uri: &str,
        contents: Contents,
        who: &Principal,
    ) -> Result<ReadResourceResult, ResourceFailure> {
        let mime_type = found.resource.mime_type.as_deref();
        let mut result = contents.shape(ReadTarget { uri, mime_type })?;
        let broke = |problem: String| found.mount.broke(uri, &problem);
        let now;
        let mut resource = &found.resource;
        if let Err(problem) = rules::check(resource, uri, &result) {
            // The resource may have changed since its metadata was read: a folder may be a file now.
            now = self.find(uri, who).await?.resource;
            if now.is_listable() == resource.is_listable() {
                return Err(broke(problem));
            }
            resource = &now;
            rules::check(resource, uri, &result).map_err(broke)?;
        }
        for content in &mut result.contents {
            if content.uri == uri || content.uri == resource.uri {
                rules::complete(content, resource);
            } else if content.name.is_none() || content.capabilities.is_none() {
                // A child without its full metadata.
                let provider = &found.mount.provider;
                let child =
                    self.wait(found.mount, uri, provider.metadata(&content.uri, who)).await?;
                if let Some(child) = child {
                    rules::complete(content, &child);
                }
            }
            content.drop_nulls();
            found.mount.hold_capabilities(content.capabilities.as_mut());
            rules::measure(content).map_err(broke)?;
        }
        if resource.capabilities.is_none() && result.contents.iter().any(|c| c.uri != uri) {
            found.mount.warn(Lint::ManyUris);
        }
        Ok(result)
    }

    async fn wait<T>(
        &self,
        mount: &Mount,
        uri: &str,
        answer: impl Future<Output = Result<T, ToolError>>,
    ) -> Result<T, ResourceFailure> {
        match tokio::time::timeout(self.patience, answer).await {
            Ok(answered) => Ok(answered?),
            Err(_) => Err(mount.broke(uri, "took too long")),
        }
    }
}

impl ResolvedResource<'_> {
    /// Reads the resource through its provider.
    pub(crate) async fn read(&self, uri: &str, ctx: Ctx) -> Result<Option<Contents>, ToolError> {
        self.mount.provider.read(uri, ctx).await
    }
}

impl Mount {
    fn broke(&self, uri: &str, problem: &str) -> ResourceFailure {
        crate::trace::note(format_args!("the source of {uri:?} broke a rule: {problem}"));
        tracing::error!(
            provider = self.provider.name(),
            uri,
            problem,
            trace_id = crate::trace::id(),
            "a provider of resources broke a rule"
        );
        ResourceFailure::Broken
    }

    fn warn(&self, lint: Lint) {
        if !self.warned[lint as usize].swap(true, Ordering::Relaxed) {
            let problem = lint.summary();
            tracing::warn!(provider = self.provider.name(), problem, "a provider of resources");
        }
    }

    /// Returns an error if the next page begins where this one did: such a list would never end.
    fn moves_on(
        &self,
        uri: &str,
        page: Page<'_>,
        next: Option<&str>,
    ) -> Result<(), ResourceFailure> {
        match next {
            Some(next) if page.after == Some(next) => {
                Err(self.broke(uri, "gives a next page that begins where this one did"))
            }
            _ => Ok(()),
        }
    }

    /// Sets capabilities that the provider does not offer to false.
    fn hold_to_offers(&self, resource: &mut Resource) {
        resource.drop_nulls();
        if resource.capabilities.is_none() {
            self.warn(Lint::Silent);
        }
        self.hold_capabilities(resource.capabilities.as_mut());
    }

    fn hold_capabilities(&self, claimed: Option<&mut ResourceCapabilities>) {
        let Some(claimed) = claimed else {
            return;
        };
        let claims = [
            (&mut claimed.list, self.offers.children),
            (&mut claimed.subscribe, self.offers.watching),
        ];
        for (claim, offered) in claims {
            if *claim == Some(true) && !offered {
                *claim = Some(false);
                self.warn(Lint::Boasts);
            }
        }
    }
}
