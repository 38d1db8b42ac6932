//! Tool sources: a list, a function, or a type of your own.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use candor_protocol::Principal;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;

use super::{Tool, ToolSet};
use crate::provider::{Provider, ProviderError};

/// What `Server::tools_from` takes: the single source of a server's tools, for MCP and for REST.
///
/// | shape | |
/// |---|---|
/// | `Vec<Arc<dyn Tool>>` | used as it is, and checked when the server is built |
/// | a closure that returns such a list, or a `Result` of one | called on every request |
/// | an async closure that returns the same | called and awaited on every request |
/// | a [`Provider<ToolSet>`](Provider) | called on every request, with the principal |
/// | a type that implements this trait | the same |
///
/// The server does not store what a function returns: for a cache, store an `Arc<ToolSet>` and return it again. In such a list, a
/// tool that cannot be used (its schema cannot be compiled, another has its name, its preview is missing) is listed. Its calls are
/// refused with the reason, which the log has too. The server serves the other tools ([`ToolSet::provided`]). If the function
/// itself fails, callers learn only that something failed, and the log has the reason.
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
/// An async closure. If it captures a value, each future needs its own: `move || { let pool = pool.clone(); async move { … } }`.
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
/// A type of your own, here with a set for each principal:
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
    /// Returns the current tools of this principal.
    fn provide<'a>(
        &'a self,
        principal: &'a Principal,
    ) -> BoxFuture<'a, Result<Arc<ToolSet>, ProviderError>>;

    /// Returns a list that never changes, if the source is one.
    #[doc(hidden)]
    fn fixed(&self) -> Option<Vec<Arc<dyn Tool>>> {
        None
    }
}

/// Tells the shapes of tool sources apart, so that the compiler finds the right one. You never need to name them.
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
    /// A function.
    #[derive(Debug)]
    pub enum Called {}
    /// An async function.
    #[derive(Debug)]
    pub enum Awaited {}
}

/// What a function may return: tools, or the reason why there are none.
#[diagnostic::on_unimplemented(
    message = "a provider of tools cannot return `{Self}`",
    note = "return a `Vec<Arc<dyn Tool>>`, or a `Result` of one"
)]
pub trait IntoTools {
    /// Returns the tools.
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

/// A tool source whose shape is known, in the form that the server stores.
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
