//! Resources: a tree of data that can be listed, described, read and watched.
//!
//! [`Resources`] is the one trait behind it. [`ResourceSet`] implements it for resources that are known when the server starts, and
//! for URI templates. A folder, a database or a calendar implements it itself, in a few lines. The server checks every answer
//! against the protocol's rules (`rules`) before a client gets it.

mod contents;
mod erased;
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
use crate::error::ToolError;

pub use contents::{AsJson, AsText, Contents, IntoContents, ReadTarget};
pub use set::ResourceSet;
pub use template::{TemplateError, Variables};
pub(crate) use tree::Tree;
pub use tree::{Children, ListStart, ResolvedResource, ResourceFailure};

/// A tree of resources: a folder, a database, a calendar.
///
/// Only two methods are required. The others have defaults that offer nothing. The methods may be written as `async fn`.
///
/// ```
/// use candor_server::protocol::{types::Resource, Principal};
/// use candor_server::resource::{Contents, Listing, Offers, Page, Resources};
/// use candor_server::{tool::ToolError, Ctx};
///
/// /// `day:///1` to `day:///7`, inside `day:///`.
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
    /// Returns its name for the log.
    fn name(&self) -> &str {
        std::any::type_name::<Self>()
    }

    /// Returns the prefix of all its URIs: a scheme (`db:`) or the URI of a root (`file:///srv/docs`). If several providers match,
    /// the server queries the one with the longest prefix first.
    fn prefix(&self) -> &str {
        ""
    }

    /// Returns what the server declares because of this provider.
    fn offers(&self) -> Offers {
        Offers::default()
    }

    /// Takes the handle for reporting changes. Called once, before the first request, for providers that report changes on their
    /// own.
    fn attach(&self, _changes: &Changes) {}

    /// Returns what a resource is, without its content, or `None` if this principal has no such resource. The server calls it
    /// before every other operation on a resource, so a principal that gets `None` has no access to it.
    fn metadata(
        &self,
        uri: &str,
        principal: &Principal,
    ) -> impl Future<Output = Result<Option<Resource>, ToolError>> + Send;

    /// Returns a page of the default list, where clients begin. By default it is empty.
    fn list(
        &self,
        _page: Page<'_>,
        _principal: &Principal,
    ) -> impl Future<Output = Result<Listing, ToolError>> + Send {
        async { Ok(Listing::default()) }
    }

    /// Returns a page of a resource's direct children. Called only for resources whose metadata says that they can be listed.
    /// `None` then breaks the contract.
    fn children(
        &self,
        _uri: &str,
        _page: Page<'_>,
        _principal: &Principal,
    ) -> impl Future<Output = Result<Option<Listing>, ToolError>> + Send {
        async { Ok(None) }
    }

    /// Returns the content of a resource: text, bytes, a value, or contents made by hand. Returns `None` if it is gone. A resource
    /// that can be listed may include children, but only those that `ctx.principal()` may see: the server does not check them one
    /// by one.
    fn read(
        &self,
        uri: &str,
        ctx: Ctx,
    ) -> impl Future<Output = Result<Option<Contents>, ToolError>> + Send;

    /// Begins to watch a resource, until the guard is dropped. Report its changes with [`Changes::resource`]. Called once per
    /// subscription, and only for resources whose metadata says that they can be watched. `None` then breaks the contract.
    fn watch(
        &self,
        _uri: &str,
        _changes: &Changes,
    ) -> impl Future<Output = Result<Option<WatchGuard>, ToolError>> + Send {
        async { Ok(None) }
    }

    /// Returns the templates that this principal may use.
    fn templates(
        &self,
        _principal: &Principal,
    ) -> impl Future<Output = Result<Vec<ResourceTemplate>, ToolError>> + Send {
        async { Ok(Vec::new()) }
    }

    /// Returns proposals for a variable of one of its templates, or `None` if the template is not its own.
    fn complete(
        &self,
        _asked: &Completing<'_>,
        _principal: &Principal,
    ) -> impl Future<Output = Result<Option<Vec<String>>, ToolError>> + Send {
        async { Ok(None) }
    }
}

/// What a provider can offer at all. The capabilities of a resource count only within it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Offers {
    /// Some of its resources list their children.
    pub children: bool,
    /// Some of its resources can be watched.
    pub watching: bool,
    /// Its default list may change, and it reports that with [`Changes::resources`].
    pub changes: bool,
    /// It completes variables of its templates.
    pub completion: bool,
}

/// The part of a list that a client asks for.
#[derive(Debug, Clone, Copy)]
pub struct Page<'a> {
    /// Where the previous page ended: the [`Listing::next`] of that page. The cursor is signed, so only this server can have made
    /// it.
    pub after: Option<&'a str>,
    /// The maximum number of resources to return.
    pub limit: usize,
}

/// A page of resources.
#[derive(Debug, Clone, Default)]
pub struct Listing {
    /// The resources, in a stable order.
    pub resources: Vec<Resource>,
    /// Where the next page begins, in a format of the provider's choice. `None` if this is the last page.
    pub next: Option<String>,
}

impl Listing {
    /// Returns a list of one page.
    #[must_use]
    pub fn whole(resources: Vec<Resource>) -> Self {
        Self { resources, next: None }
    }

    /// Returns a page of a complete list.
    #[must_use]
    pub fn paged(mut all: Vec<Resource>, page: Page<'_>) -> Self {
        let start = page.after.and_then(|after| after.parse().ok()).unwrap_or(0).min(all.len());
        let end = start.saturating_add(page.limit).min(all.len());
        let next = (end < all.len()).then(|| end.to_string());
        all.truncate(end);
        Self { resources: all.split_off(start), next }
    }
}

/// Guard of a watch, which ends when it is dropped. Holds what must live as long as the watch.
pub struct WatchGuard {
    _guard: Option<Box<dyn Any + Send + Sync>>,
}

impl WatchGuard {
    /// Returns a guard that holds nothing, because the code that changes the resource reports it.
    #[must_use]
    pub fn told() -> Self {
        Self { _guard: None }
    }

    /// Returns a guard that watches as long as this value lives.
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

/// A variable of a template that a user is filling in.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Completing<'a> {
    /// The template, as it was listed.
    pub template: &'a str,
    /// The variable.
    pub variable: &'a str,
    /// What has been typed so far.
    pub typed: &'a str,
    /// The values of the other variables so far.
    pub decided: &'a BTreeMap<String, String>,
}
