//! An object-safe form of [`Resources`]: the same methods, with boxed futures.

use candor_protocol::Principal;
use candor_protocol::types::{Resource, ResourceTemplate};
use futures_util::future::BoxFuture;

use super::{Completing, Contents, Listing, Offers, Page, Resources, WatchGuard};
use crate::changes::Changes;
use crate::ctx::Ctx;
use crate::error::ToolError;

type ErasedAnswer<'a, T> = BoxFuture<'a, Result<T, ToolError>>;

pub(super) trait ErasedProvider: Send + Sync {
    fn name(&self) -> &str;
    fn prefix(&self) -> &str;
    fn offers(&self) -> Offers;
    fn attach(&self, changes: &Changes);
    fn metadata<'a>(
        &'a self,
        uri: &'a str,
        who: &'a Principal,
    ) -> ErasedAnswer<'a, Option<Resource>>;
    fn list<'a>(&'a self, page: Page<'a>, who: &'a Principal) -> ErasedAnswer<'a, Listing>;
    fn children<'a>(
        &'a self,
        uri: &'a str,
        page: Page<'a>,
        who: &'a Principal,
    ) -> ErasedAnswer<'a, Option<Listing>>;
    fn read<'a>(&'a self, uri: &'a str, ctx: Ctx) -> ErasedAnswer<'a, Option<Contents>>;
    fn watch<'a>(
        &'a self,
        uri: &'a str,
        changes: &'a Changes,
    ) -> ErasedAnswer<'a, Option<WatchGuard>>;
    fn templates<'a>(&'a self, who: &'a Principal) -> ErasedAnswer<'a, Vec<ResourceTemplate>>;
    fn complete<'a>(
        &'a self,
        asked: &'a Completing<'a>,
        who: &'a Principal,
    ) -> ErasedAnswer<'a, Option<Vec<String>>>;
}

impl<T: Resources> ErasedProvider for T {
    fn name(&self) -> &str {
        Resources::name(self)
    }

    fn prefix(&self) -> &str {
        Resources::prefix(self)
    }

    fn offers(&self) -> Offers {
        Resources::offers(self)
    }

    fn attach(&self, changes: &Changes) {
        Resources::attach(self, changes);
    }

    fn metadata<'a>(
        &'a self,
        uri: &'a str,
        who: &'a Principal,
    ) -> ErasedAnswer<'a, Option<Resource>> {
        Box::pin(Resources::metadata(self, uri, who))
    }

    fn list<'a>(&'a self, page: Page<'a>, who: &'a Principal) -> ErasedAnswer<'a, Listing> {
        Box::pin(Resources::list(self, page, who))
    }

    fn children<'a>(
        &'a self,
        uri: &'a str,
        page: Page<'a>,
        who: &'a Principal,
    ) -> ErasedAnswer<'a, Option<Listing>> {
        Box::pin(Resources::children(self, uri, page, who))
    }

    fn read<'a>(&'a self, uri: &'a str, ctx: Ctx) -> ErasedAnswer<'a, Option<Contents>> {
        Box::pin(Resources::read(self, uri, ctx))
    }

    fn watch<'a>(
        &'a self,
        uri: &'a str,
        changes: &'a Changes,
    ) -> ErasedAnswer<'a, Option<WatchGuard>> {
        Box::pin(Resources::watch(self, uri, changes))
    }

    fn templates<'a>(&'a self, who: &'a Principal) -> ErasedAnswer<'a, Vec<ResourceTemplate>> {
        Box::pin(Resources::templates(self, who))
    }

    fn complete<'a>(
        &'a self,
        asked: &'a Completing<'a>,
        who: &'a Principal,
    ) -> ErasedAnswer<'a, Option<Vec<String>>> {
        Box::pin(Resources::complete(self, asked, who))
    }
}
