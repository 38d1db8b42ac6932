//! Bearer tokens: a fixed one, or a source that the client asks again if the server refuses a token.

use std::fmt;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use http::header::HeaderValue;
use tokio::sync::Mutex;

use crate::error::Error;

type TokenFn = Box<dyn Fn() -> BoxFuture<'static, Result<String, String>> + Send + Sync>;

/// The source of a request's token.
#[derive(Clone, Default)]
pub(crate) enum Bearer {
    #[default]
    None,
    Fixed(String),
    From(Arc<TokenSource>),
}

/// The host's function for tokens, and the current token.
pub(crate) struct TokenSource {
    get: TokenFn,
    /// Locked while the client asks the host, so that requests that need a new token at the same time share one answer.
    current: Mutex<Option<HeaderValue>>,
}

impl TokenSource {
    pub(crate) fn new(get: TokenFn) -> Arc<Self> {
        Arc::new(Self { get, current: Mutex::new(None) })
    }

    /// Returns the current token. Asks the host if there is none yet, or if the server refused the current one.
    pub(super) async fn header(&self, refused: Option<&HeaderValue>) -> Result<HeaderValue, Error> {
        let mut current = self.current.lock().await;
        if let Some(token) = current.as_ref().filter(|token| Some(*token) != refused) {
            return Ok(token.clone());
        }
        // If the host fails, the next request asks again.
        *current = None;
        let token = (self.get)().await.map_err(|why| Error::NoToken { why })?;
        let header =
            header_of(&token).ok_or_else(|| Error::NoToken { why: UNSENDABLE.to_owned() })?;
        Ok(current.insert(header).clone())
    }
}

pub(super) const UNSENDABLE: &str = "the bearer token has characters that cannot be sent";

/// Returns the value of `Authorization` for this token. Debug output does not show it.
pub(super) fn header_of(token: &str) -> Option<HeaderValue> {
    let mut value = HeaderValue::try_from(format!("Bearer {token}")).ok()?;
    value.set_sensitive(true);
    Some(value)
}

impl fmt::Debug for TokenSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TokenSource").finish_non_exhaustive()
    }
}
