//! Resources: a tree of what can be listed, described, read and watched.
//!
//! [`Resources`] is the one trait behind it. [`ResourceSet`] implements it for resources that are known when the server
//! starts and for URI templates; a folder, a database or a calendar implements it itself, in a few lines. Whatever
//! it answers is held to the rules that the protocol has (`rules`) before a client sees it.

mod contents;
mod erased;
mod publish;
mod rules;
mod set;
mod template;
mod tree;
mod uri;

use std::any::Any;
use std::collections::BTreeMap;
use std::fmt;

use candor_protocol::Principal;
use candor_protocol::types::{Resource, ResourceTemplate};

use crate::changes::Changes;
use crate::ctx::Ctx;
use crate::tool::ToolError;

pub use contents::{AsJson, AsText, Contents, IntoContents, ReadTarget};
pub(crate) use publish::Publisher;
pub use set::ResourceSet;
pub use template::{TemplateError, Variables};
pub(crate) use tree::{Children, ListStart, ResourceFailure, Tree};

/// A tree of resources: a folder, a database, a calendar.
///
/// Two methods are enough to be read; the others have defaults that say no. The methods may be written as `async fn`.
///
/// ```
/// use candor_server::protocol::{types::Resource, Principal};
/// use candor_server::resource::{Contents, Listing, Offers, Page, Resources};
/// use candor_server::{tool::ToolError, Ctx};
///
/// /// `day:///1` to `day:///7`, beneath `day:///`.
/// struct Week;
///
/// impl Week {
///     fn day(uri: &str) -> Option<Resource> {
///         let day: u8 = uri.strip_prefix("day:///")?.parse().ok().filter(|day| (1..=7).contains(day))?;
///         Some(Resource::new(uri, format!("day {day}")).of_type("text/plain").definite())
///     }
/// }
///
/// impl Resources for Week {
///     fn prefix(&self) -> &str {
///         "day:"
///     }
///
///     fn offers(&self) -> Offers {
///         Offers { children: true, ..Offers::default() }
///     }
///
///     async fn metadata(&self, uri: &str, _: &Principal) -> Result<Option<Resource>, ToolError> {
///         Ok(match uri {
///             "day:///" => Some(Resource::new(uri, "week").listable()),
///             _ => Self::day(uri),
///         })
///     }
///
///     async fn list(&self, _: Page<'_>, _: &Principal) -> Result<Listing, ToolError> {
///         Ok(Listing::whole(vec![Resource::new("day:///", "week").listable()]))
///     }
///
///     async fn children(&self, _: &str, page: Page<'_>, _: &Principal) -> Result<Option<Listing>, ToolError> {
///         let days = (1..=7).filter_map(|day| Self::day(&format!("day:///{day}"))).collect();
///         Ok(Some(Listing::paged(days, page)))
///     }
///
///     async fn read(&self, uri: &str, _: Ctx) -> Result<Option<Contents>, ToolError> {
///         Ok(Some(format!("Nothing is planned for {uri}").into()))
///     }
/// }
/// ```
pub trait Resources: Send + Sync + 'static {
    /// What the log calls it.
    fn name(&self) -> &str {
        std::any::type_name::<Self>()
    }

    /// What all its URIs begin with: a scheme (`db:`) or the URI of a root (`file:///srv/docs`). Of several providers, the one
    /// with the longest fitting prefix is asked first.
    fn prefix(&self) -> &str {
        ""
    }

    /// What the server declares because of it.
    fn offers(&self) -> Offers {
        Offers::default()
    }

    /// Called once, before the first request: for providers that say by themselves when something changes.
    fn attach(&self, _changes: &Changes) {}

    /// What a resource is, without its content; `None` if this principal has no such resource. Asked before everything else
    /// that is done with a resource, so whom it answers `None` has no way to it.
    fn metadata(
        &self,
        uri: &str,
        principal: &Principal,
    ) -> impl Future<Output = Result<Option<Resource>, ToolError>> + Send;

    /// A page of the default list: where clients begin. By default it is empty.
    fn list(
        &self,
        _page: Page<'_>,
        _principal: &Principal,
    ) -> impl Future<Output = Result<Listing, ToolError>> + Send {
        async { Ok(Listing::default()) }
    }

    /// A page of what stands directly beneath a resource. Asked only for resources whose metadata says that they can be listed;
    /// `None` then is a broken promise.
    fn children(
        &self,
        _uri: &str,
        _page: Page<'_>,
        _principal: &Principal,
    ) -> impl Future<Output = Result<Option<Listing>, ToolError>> + Send {
        async { Ok(None) }
    }

    /// What a resource holds: text, bytes, a value, or contents made by hand. `None` if it is gone. One that can be listed may give
    /// children along: only such as `ctx.principal()` may see, for they are not asked about one by one.
    fn read(
        &self,
        uri: &str,
        ctx: Ctx,
    ) -> impl Future<Output = Result<Option<Contents>, ToolError>> + Send;

    /// Begins to watch a resource, until the guard is dropped; say with [`Changes::resource`] when it changes. Asked once per
    /// subscription, and only for resources whose metadata says that they can be watched; `None` then is a broken promise.
    fn watch(
        &self,
        _uri: &str,
        _changes: &Changes,
    ) -> impl Future<Output = Result<Option<WatchGuard>, ToolError>> + Send {
        async { Ok(None) }
    }

    /// The families of resources that this principal may use.
    fn templates(
        &self,
        _principal: &Principal,
    ) -> impl Future<Output = Result<Vec<ResourceTemplate>, ToolError>> + Send {
        async { Ok(Vec::new()) }
    }

    /// Proposals for a variable of one of its templates; `None` if the template is not its own.
    fn complete(
        &self,
        _asked: &Completing<'_>,
        _principal: &Principal,
    ) -> impl Future<Output = Result<Option<Vec<String>>, ToolError>> + Send {
        async { Ok(None) }
    }
}

/// What a provider can do at all. A resource's own capabilities count only within it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Offers {
    /// Some of its resources list their children.
    pub children: bool,
    /// Some of its resources can be watched.
    pub watching: bool,
    /// Its default list may change, and it says so with [`Changes::resources`].
    pub changes: bool,
    /// It completes variables of its templates.
    pub completion: bool,
}

/// The part of a list that a client asks for.
#[derive(Debug, Clone, Copy)]
pub struct Page<'a> {
    /// Where the page before this one ended: what its [`Listing::next`] was. Nobody but this server can have made it.
    pub after: Option<&'a str>,
    /// How many resources to give at most.
    pub limit: usize,
}

/// A page of resources.
#[derive(Debug, Clone, Default)]
pub struct Listing {
    /// The resources, in an order that stays the same.
    pub resources: Vec<Resource>,
    /// Where the next page begins, in words of the provider; `None` if this is the last.
    pub next: Option<String>,
}

impl Listing {
    /// A list of one page.
    #[must_use]
    pub fn whole(resources: Vec<Resource>) -> Self {
        Self { resources, next: None }
    }

    /// A page of a list that is all here.
    #[must_use]
    pub fn paged(mut all: Vec<Resource>, page: Page<'_>) -> Self {
        let start = page.after.and_then(|after| after.parse().ok()).unwrap_or(0).min(all.len());
        let end = start.saturating_add(page.limit).min(all.len());
        let next = (end < all.len()).then(|| end.to_string());
        all.truncate(end);
        Self { resources: all.split_off(start), next }
    }
}

/// A resource is being watched until this is dropped. Holds whatever has to live as long.
pub struct WatchGuard {
    _guard: Option<Box<dyn Any + Send + Sync>>,
}

impl WatchGuard {
    /// Nothing has to be held: who changes the resource says so.
    #[must_use]
    pub fn told() -> Self {
        Self { _guard: None }
    }

    /// Watched as long as this value lives.
    #[must_use]
    pub fn while_held(guard: impl Send + Sync + 'static) -> Self {
        Self { _guard: Some(Box::new(guard)) }
    }
}

impl fmt::Debug for WatchGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watching").finish_non_exhaustive()
    }
}

/// A variable of a template that somebody is filling in.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Completing<'a> {
    /// The template, as it was listed.
    pub template: &'a str,
    /// The variable.
    pub variable: &'a str,
    /// What has been typed so far.
    pub typed: &'a str,
    /// The other variables so far.
    pub decided: &'a BTreeMap<String, String>,
}
