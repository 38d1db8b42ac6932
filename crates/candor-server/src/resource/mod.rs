//! Resources: what can be listed, read and watched.

mod contents;
mod set;
mod template;

use candor_protocol::Principal;
use candor_protocol::types::{ReadResourceResult, Resource, ResourceTemplate};
use futures_util::future::BoxFuture;

use crate::ctx::Ctx;
use crate::provider::ProviderError;
use crate::tool::ToolError;

pub use contents::{AsJson, AsText, Asked, IntoContents};
pub use set::ResourceSet;
pub use template::{TemplateError, Variables};

/// A source of resources.
pub trait Resources: Send + Sync + 'static {
    /// The resources that this principal may see.
    fn list<'a>(
        &'a self,
        principal: &'a Principal,
    ) -> BoxFuture<'a, Result<Vec<Resource>, ProviderError>>;

    /// The templates that this principal may use.
    fn templates<'a>(
        &'a self,
        _principal: &'a Principal,
    ) -> BoxFuture<'a, Result<Vec<ResourceTemplate>, ProviderError>> {
        Box::pin(std::future::ready(Ok(Vec::new())))
    }

    /// What a resource holds; `None` if this principal has no such resource.
    fn read<'a>(
        &'a self,
        uri: &'a str,
        ctx: Ctx,
    ) -> BoxFuture<'a, Result<Option<ReadResourceResult>, ToolError>>;

    /// Whether clients are told when this resource changes.
    fn can_watch(&self, _uri: &str) -> bool {
        false
    }

    /// Whether there is any resource that can be watched: only then the capability is declared.
    fn watches(&self) -> bool {
        false
    }

    /// Whether the list can change while the server runs.
    fn may_change(&self) -> bool {
        false
    }
}
