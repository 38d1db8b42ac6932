//! Providers: who may see what, asked anew on every request.

use std::fmt;
use std::sync::Arc;

use candor_protocol::Principal;
use futures_util::future::BoxFuture;

/// Gives a principal its tools (`Provider<ToolSet>`) or its prompts (`Provider<PromptSet>`).
///
/// Asked on every request, so what it answers may change at any time; tell clients so with
/// [`Changes`](crate::Changes). A set that is given again costs nothing: it keeps its own written list.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not provide `{T}`",
    note = "wrap a closure with `provider_fn` or `async_provider_fn`, or implement `Provider<{T}>`"
)]
pub trait Provider<T>: Send + Sync + 'static {
    /// What this principal may see and use.
    fn provide<'a>(
        &'a self,
        principal: &'a Principal,
    ) -> BoxFuture<'a, Result<Arc<T>, ProviderError>>;
}

/// Why a provider has no answer. The text goes to the log, never to a client.
#[derive(Debug)]
pub struct ProviderError(String);

impl ProviderError {
    /// A failure, in words for the log.
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

/// Makes a provider of a closure.
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

/// Makes a provider of a closure that answers with a future.
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

/// Where an engine gets a set from.
pub(crate) enum Source<T: Send + Sync + 'static> {
    /// Always the same: no future to box on every call.
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

    /// Whether clients should be ready for changes.
    pub(crate) fn may_change(&self) -> bool {
        matches!(self, Self::Provided(_))
    }
}
