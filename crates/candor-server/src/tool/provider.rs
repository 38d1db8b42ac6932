//! Where a server's tools come from: a list, something that is called, or a type of one's own.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use candor_protocol::Principal;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;

use super::{Tool, ToolSet};
use crate::provider::{Provider, ProviderError};

/// What [`Server::tools_from`](crate::Server::tools_from) takes: the single source of a server's tools, for MCP and for REST.
///
/// | shape | |
/// |---|---|
/// | `Vec<Arc<dyn Tool>>` | used as it is, and checked when the server is built |
/// | a closure that returns such a list, or a `Result` of one | called on every request |
/// | an async closure that returns the same | called and awaited on every request |
/// | a [`Provider<ToolSet>`](Provider) | asked on every request, and told for whom |
/// | a type that implements this trait | the same |
///
/// Of what is called nothing is kept: who wants a cache keeps an `Arc<ToolSet>` and gives it again. Of what is called, a tool
/// that cannot be used (its schema cannot be compiled, another has its name, its preview is not there) is listed and its calls are
/// refused with the reason, which the log has too; the others are served ([`ToolSet::provided`]). A provider that fails is another thing:
/// callers learn that something failed, the log says what.
///
/// A list:
///
/// ```
/// # use candor_server::{hints::Hints, tool::{JsonTool, Tool, ToolError}, Server};
/// # use std::sync::Arc;
/// # fn hello() -> Arc<dyn Tool> { Arc::new(JsonTool::open("hello", |_, _| async { Ok::<_, ToolError>("Hello!") }).hints(Hints::READS)) }
/// let tools: Vec<Arc<dyn Tool>> = vec![hello()];
/// let engine = Server::new("greeter", "1.0.0").tools_from(tools).build()?;
/// # Ok::<(), candor_server::BuildError>(())
/// ```
///
/// A closure, which may fail:
///
/// ```
/// # use candor_server::{hints::Hints, tool::{JsonTool, Tool, ToolError}, Server};
/// # use std::sync::Arc;
/// # fn hello() -> Arc<dyn Tool> { Arc::new(JsonTool::open("hello", |_, _| async { Ok::<_, ToolError>("Hello!") }).hints(Hints::READS)) }
/// # fn read() -> std::io::Result<Vec<Arc<dyn Tool>>> { Ok(vec![hello()]) }
/// let engine = Server::new("greeter", "1.0.0").tools_from(|| vec![hello()]).build()?;
/// let engine = Server::new("greeter", "1.0.0").tools_from(|| read()).build()?;
/// # Ok::<(), candor_server::BuildError>(())
/// ```
///
/// An async closure. One that has captured something hands each future its own: `move || { let pool = pool.clone(); async move { … } }`.
///
/// ```
/// # use candor_server::{hints::Hints, tool::{JsonTool, Tool, ToolError}, Server};
/// # use std::sync::Arc;
/// # fn hello() -> Arc<dyn Tool> { Arc::new(JsonTool::open("hello", |_, _| async { Ok::<_, ToolError>("Hello!") }).hints(Hints::READS)) }
/// # async fn fetch() -> std::io::Result<Vec<Arc<dyn Tool>>> { Ok(vec![hello()]) }
/// let engine = Server::new("greeter", "1.0.0").tools_from(async || vec![hello()]).build()?;
/// let engine = Server::new("greeter", "1.0.0").tools_from(fetch).build()?;
/// # Ok::<(), candor_server::BuildError>(())
/// ```
///
/// A type of one's own, here with a set for each principal:
///
/// ```
/// # use candor_server::{protocol::Principal, tool::{ProviderError, ToolSet, ToolsProvider}, BoxFuture, Server};
/// # use std::{collections::HashMap, sync::Arc};
/// struct Teams(HashMap<Principal, Arc<ToolSet>>);
///
/// impl ToolsProvider for Teams {
///     fn provide<'a>(&'a self, principal: &'a Principal) -> BoxFuture<'a, Result<Arc<ToolSet>, ProviderError>> {
///         Box::pin(async { Ok(self.0.get(principal).cloned().unwrap_or_default()) })
///     }
/// }
/// let engine = Server::new("teams", "1.0.0").tools_from(Teams(HashMap::new())).build()?;
/// # Ok::<(), candor_server::BuildError>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not provide tools",
    note = "give a `Vec<Arc<dyn Tool>>`, a closure without arguments that returns one (or a `Result` of one, or a future of \
            either), or implement `ToolsProvider`",
    note = "if tools depend on the caller, wrap a closure that takes a `&Principal` with `provider_fn` or `async_provider_fn`"
)]
pub trait ToolsProvider<Shape = shape::Own>: Send + Sync + 'static {
    /// The tools of this principal, now.
    fn provide<'a>(
        &'a self,
        principal: &'a Principal,
    ) -> BoxFuture<'a, Result<Arc<ToolSet>, ProviderError>>;

    /// A list that never changes.
    #[doc(hidden)]
    fn fixed(&self) -> Option<Vec<Arc<dyn Tool>>> {
        None
    }
}

/// Tells the shapes of providers apart, so that the compiler finds the one that is meant. Nobody has to name them.
pub mod shape {
    /// A type that implements [`ToolsProvider`](super::ToolsProvider) itself.
    #[derive(Debug)]
    pub enum Own {}
    /// A [`Provider<ToolSet>`](super::Provider).
    #[derive(Debug)]
    pub enum Set {}
    /// A list.
    #[derive(Debug)]
    pub enum List {}
    /// Something that is called.
    #[derive(Debug)]
    pub enum Called {}
    /// Something that is called and awaited.
    #[derive(Debug)]
    pub enum Awaited {}
}

/// What a provider that is called may return: tools, or why there are none.
#[diagnostic::on_unimplemented(
    message = "a provider of tools cannot return `{Self}`",
    note = "return a `Vec<Arc<dyn Tool>>`, or a `Result` of one"
)]
pub trait IntoTools {
    /// The tools.
    fn into_tools(self) -> Result<Vec<Arc<dyn Tool>>, ProviderError>;
}

impl IntoTools for Vec<Arc<dyn Tool>> {
    fn into_tools(self) -> Result<Vec<Arc<dyn Tool>>, ProviderError> {
        Ok(self)
    }
}

impl<E: fmt::Display> IntoTools for Result<Vec<Arc<dyn Tool>>, E> {
    fn into_tools(self) -> Result<Vec<Arc<dyn Tool>>, ProviderError> {
        self.map_err(ProviderError::new)
    }
}

fn set(tools: impl IntoTools) -> Result<Arc<ToolSet>, ProviderError> {
    ToolSet::provided(tools.into_tools()?).map(Arc::new).map_err(ProviderError::new)
}

impl<P: Provider<ToolSet>> ToolsProvider<shape::Set> for P {
    fn provide<'a>(
        &'a self,
        principal: &'a Principal,
    ) -> BoxFuture<'a, Result<Arc<ToolSet>, ProviderError>> {
        Provider::provide(self, principal)
    }
}

impl ToolsProvider<shape::List> for Vec<Arc<dyn Tool>> {
    fn provide<'a>(
        &'a self,
        _: &'a Principal,
    ) -> BoxFuture<'a, Result<Arc<ToolSet>, ProviderError>> {
        std::future::ready(set(self.clone())).boxed()
    }

    fn fixed(&self) -> Option<Vec<Arc<dyn Tool>>> {
        Some(self.clone())
    }
}

impl<F, L> ToolsProvider<shape::Called> for F
where
    F: Fn() -> L + Send + Sync + 'static,
    L: IntoTools,
{
    fn provide<'a>(
        &'a self,
        _: &'a Principal,
    ) -> BoxFuture<'a, Result<Arc<ToolSet>, ProviderError>> {
        std::future::ready(set(self())).boxed()
    }
}

impl<F, R> ToolsProvider<shape::Awaited> for F
where
    F: Fn() -> R + Send + Sync + 'static,
    R: Future<Output: IntoTools> + Send + 'static,
{
    fn provide<'a>(
        &'a self,
        _: &'a Principal,
    ) -> BoxFuture<'a, Result<Arc<ToolSet>, ProviderError>> {
        self().map(set).boxed()
    }
}

/// A provider whose shape is known, as all of them are kept.
pub(crate) struct Shaped<P, Shape>(P, PhantomData<fn() -> Shape>);

impl<P, Shape> Shaped<P, Shape> {
    pub(crate) fn new(provider: P) -> Self {
        Self(provider, PhantomData)
    }
}

impl<P: ToolsProvider<Shape>, Shape: 'static> Provider<ToolSet> for Shaped<P, Shape> {
    fn provide<'a>(
        &'a self,
        principal: &'a Principal,
    ) -> BoxFuture<'a, Result<Arc<ToolSet>, ProviderError>> {
        self.0.provide(principal)
    }
}
