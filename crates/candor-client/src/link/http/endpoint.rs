//! A server behind a URL: its address, the headers of each request, and the connection pool.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use http::{Method, Request, Response, StatusCode, Uri};
use http_body_util::Full;
use hyper::body::Incoming as Body;
use hyper_util::client::legacy::Client as Pool;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};

use super::tokens::{Bearer, TokenSource, UNSENDABLE, header_of};
use crate::connect::ClientLimits;
use crate::error::Error;

#[cfg(feature = "tls")]
type Connector = hyper_rustls::HttpsConnector<HttpConnector>;
#[cfg(not(feature = "tls"))]
type Connector = HttpConnector;

/// A server behind a URL, and the connections to it.
#[derive(Debug, Clone)]
pub(crate) struct Endpoint {
    pool: Pool<Connector, Full<Bytes>>,
    uri: Uri,
    headers: HeaderMap,
    /// The source of each request's token. `None` if there is no token, or a fixed one among the headers.
    tokens: Option<Arc<TokenSource>>,
}

impl Endpoint {
    pub(crate) fn new(
        url: &str,
        bearer: &Bearer,
        own: &[(String, String)],
        limits: &ClientLimits,
    ) -> Result<Self, Error> {
        let unreachable = |why: String| Error::Unreachable { target: without_secrets(url), why };
        let uri: Uri =
            url.parse().map_err(|error| unreachable(format!("it is not a URL: {error}")))?;
        match (uri.scheme_str(), uri.host()) {
            (Some("http"), Some(_)) => {}
            (Some("https"), Some(_)) if cfg!(feature = "tls") => {}
            (Some("https"), Some(_)) => {
                return Err(unreachable("this build has no TLS (feature `tls`)".to_owned()));
            }
            _ => return Err(unreachable("a URL here begins with http:// or https://".to_owned())),
        }
        if uri.authority().is_some_and(|authority| authority.as_str().contains('@')) {
            return Err(unreachable(
                "a URL here has no user in it; send a bearer token".to_owned(),
            ));
        }
        let mut headers = HeaderMap::new();
        for (name, value) in own {
            let bad = |_: &dyn std::error::Error| {
                unreachable(format!("{name:?} cannot be sent as a header"))
            };
            let header = HeaderName::try_from(name.as_str()).map_err(|e| bad(&e))?;
            let mut value = HeaderValue::try_from(value.as_str()).map_err(|e| bad(&e))?;
            // Headers that the host sets may contain secrets.
            value.set_sensitive(true);
            headers.append(header, value);
        }
        let tokens = match bearer {
            Bearer::None => None,
            Bearer::Fixed(token) => {
                let value = header_of(token).ok_or_else(|| unreachable(UNSENDABLE.to_owned()))?;
                headers.insert(AUTHORIZATION, value);
                None
            }
            Bearer::From(tokens) => Some(tokens.clone()),
        };
        Ok(Self { pool: pool(limits)?, uri, headers, tokens })
    }

    pub(super) fn request(&self, method: Method, body: Vec<u8>) -> Request<Full<Bytes>> {
        let mut request = Request::new(Full::new(Bytes::from(body)));
        *request.method_mut() = method;
        *request.uri_mut() = self.uri.clone();
        request.headers_mut().clone_from(&self.headers);
        request
    }

    /// Sends a request. If the server refuses its token with 401, it did not process the request. The client resends the request
    /// once if the host has another token.
    pub(super) async fn send(
        &self,
        mut request: Request<Full<Bytes>>,
    ) -> Result<Response<Body>, Error> {
        let Some(tokens) = &self.tokens else { return self.send_once(request).await };
        let token = tokens.header(None).await?;
        request.headers_mut().insert(AUTHORIZATION, token.clone());
        let mut again = request.clone();
        let response = self.send_once(request).await?;
        if response.status() != StatusCode::UNAUTHORIZED {
            return Ok(response);
        }
        let fresh = tokens.header(Some(&token)).await?;
        if fresh == token {
            return Ok(response);
        }
        again.headers_mut().insert(AUTHORIZATION, fresh);
        self.send_once(again).await
    }

    async fn send_once(&self, request: Request<Full<Bytes>>) -> Result<Response<Body>, Error> {
        self.pool.request(request).await.map_err(|error| {
            let why = cause(&error);
            if error.is_connect() {
                Error::Unreachable { target: without_secrets(&self.uri.to_string()), why }
            } else {
                Error::Lost { why, sent: true }
            }
        })
    }
}

#[cfg(feature = "tls")]
fn pool(limits: &ClientLimits) -> Result<Pool<Connector, Full<Bytes>>, Error> {
    let tls = hyper_rustls::HttpsConnectorBuilder::new().with_native_roots();
    let tls = tls.map_err(|error| Error::Unreachable {
        target: "TLS".to_owned(),
        why: format!("the system's certificates cannot be read: {error}"),
    })?;
    Ok(pooled(tls.https_or_http().enable_http1().wrap_connector(connector(limits))))
}

#[cfg(not(feature = "tls"))]
fn pool(limits: &ClientLimits) -> Result<Pool<Connector, Full<Bytes>>, Error> {
    Ok(pooled(connector(limits)))
}

fn connector(limits: &ClientLimits) -> HttpConnector {
    let mut connector = HttpConnector::new();
    connector.enforce_http(false);
    connector.set_nodelay(true);
    connector.set_connect_timeout(Some(limits.connect));
    connector
}

fn pooled(connector: Connector) -> Pool<Connector, Full<Bytes>> {
    Pool::builder(TokioExecutor::new())
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(Duration::from_secs(20))
        .build(connector)
}

/// Returns a URL for errors, which end up in logs. The user part, the query and the fragment may contain credentials.
fn without_secrets(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let host = match authority.rsplit_once('@') {
        Some((_, host)) => format!("…@{host}"),
        None => authority.to_owned(),
    };
    let between = if scheme.is_empty() { "" } else { "://" };
    let path = match path.find(['?', '#']) {
        Some(at) => format!("{}…", &path[..=at]),
        None => path.to_owned(),
    };
    format!("{scheme}{between}{host}{path}")
}

/// Returns the root cause of an error. The errors around it tell a user nothing useful.
fn cause(error: &dyn std::error::Error) -> String {
    let mut last = error;
    while let Some(source) = last.source() {
        last = source;
    }
    last.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_hide_credentials() {
        for (url, seen) in [
            ("http://a.example:1/mcp", "http://a.example:1/mcp"),
            ("http://ann:s3cret@a.example/mcp?key=s3cret", "http://…@a.example/mcp?…"),
            ("https://a.example#s3cret", "https://a.example#…"),
            ("no address", "no address"),
        ] {
            assert_eq!(without_secrets(url), seen);
        }
        let refused = Endpoint::new(
            "ftp://ann:s3cret@a/?s3cret",
            &Bearer::None,
            &[],
            &ClientLimits::default(),
        );
        let told = refused.unwrap_err().to_string();
        assert!(!told.contains("s3cret"), "{told}");
        let program = crate::Program::new("run").arg("s3cret").env("KEY", "s3cret");
        assert!(!format!("{program} {program:?}").contains("s3cret"), "{program:?}");
    }
}
