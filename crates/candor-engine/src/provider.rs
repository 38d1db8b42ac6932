//! Providers: the tools and prompts of a principal, determined on every request.

use std::fmt;
use std::sync::Arc;

use candor_protocol::Principal;
use futures_util::future::BoxFuture;

/// Returns a principal's tools (`Provider<ToolSet>`) or its prompts (`Provider<PromptSet>`).
///
/// The server queries it on every request, so its answer may change at any time. Tell clients about a change with
/// [`Changes`](crate::Changes). Returning the same set again costs nothing: the set caches its encoded list.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not provide `{T}`",
    note = "wrap a closure with `provider_fn` or `async_provider_fn`, or implement `Provider<{T}>`"
)]
pub trait Provider<T>: Send + Sync + 'static {
    /// Returns what this principal may see and use.
    fn provide<'a>(
        &'a self,
        principal: &'a Principal,
    ) -> BoxFuture<'a, Result<Arc<T>, ProviderError>>;
}

/// Why a provider failed. The text goes to the log, never to a client.
#[derive(Debug)]
pub struct ProviderError(String);

impl ProviderError {
    /// Creates an error from a text for the log.
    pub fn new(problem: impl fmt::Display) -> Self {
        Self(problem.to_string())
    }
}

impl fmt::Display for ProviderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ProviderError {}

/// Makes a provider from a closure.
///
/// ```
/// # use candor_server::tool::{provider_fn, ToolSet};
/// # use std::sync::Arc;
/// # fn sets() -> (Arc<ToolSet>, Arc<ToolSet>) { (Arc::default(), Arc::default()) }
/// let (everyone, staff) = sets();
/// let provider = provider_fn(move |principal| {
///     Ok(if principal.as_str() == "alice" { staff.clone() } else { everyone.clone() })
/// });
/// ```
pub fn provider_fn<T, F>(provide: F) -> impl Provider<T>
where
    T: Send + Sync + 'static,
    F: Fn(&Principal) -> Result<Arc<T>, ProviderError> + Send + Sync + 'static,
{
    struct FromFn<F>(F);

    impl<T, F> Provider<T> for FromFn<F>
    where
        T: Send + Sync + 'static,
        F: Fn(&Principal) -> Result<Arc<T>, ProviderError> + Send + Sync + 'static,
    {
        fn provide<'a>(
            &'a self,
            principal: &'a Principal,
        ) -> BoxFuture<'a, Result<Arc<T>, ProviderError>> {
            Box::pin(std::future::ready((self.0)(principal)))
        }
    }

    FromFn(provide)
}

/// Makes a provider from a closure that returns a future.
pub fn async_provider_fn<T, F, R>(provide: F) -> impl Provider<T>
where
    T: Send + Sync + 'static,
    F: Fn(Principal) -> R + Send + Sync + 'static,
    R: Future<Output = Result<Arc<T>, ProviderError>> + Send + 'static,
{
    struct FromAsyncFn<F>(F);

    impl<T, F, R> Provider<T> for FromAsyncFn<F>
    where
        T: Send + Sync + 'static,
        F: Fn(Principal) -> R + Send + Sync + 'static,
        R: Future<Output = Result<Arc<T>, ProviderError>> + Send + 'static,
    {
        fn provide<'a>(
            &'a self,
            principal: &'a Principal,
        ) -> BoxFuture<'a, Result<Arc<T>, ProviderError>> {
            Box::pin((self.0)(principal.clone()))
        }
    }

    FromAsyncFn(provide)
}

/// Where a server gets a set from.
pub(crate) enum Source<T: Send + Sync + 'static> {
    /// Always the same set: no future to box on every call.
    Fixed(Arc<T>),
    Provided(Box<dyn Provider<T>>),
}

impl<T: Send + Sync + 'static> Source<T> {
    pub(crate) async fn get(&self, principal: &Principal) -> Result<Arc<T>, ProviderError> {
        match self {
            Self::Fixed(set) => Ok(set.clone()),
            Self::Provided(provider) => provider.provide(principal).await,
        }
    }

    /// Returns true if the set may change, which clients are informed of.
    pub(crate) fn may_change(&self) -> bool {
        matches!(self, Self::Provided(_))
    }
}
