//! Checks of `Host` and `Origin`: only requests that address this server are accepted.
//!
//! A web page can make a browser send requests to a server on the same machine, under a host name of its choice (DNS rebinding).
//! `Host` has that name, and `Origin` has the page's address. Both must belong to this server. Forwarded headers are ignored,
//! because any client can send them.

use std::fmt;
use std::net::IpAddr;

use http::header::{HOST, ORIGIN};
use http::request::Parts;
use http::{HeaderMap, Uri};

/// The host names that a server accepts.
#[derive(Debug, Clone, Default)]
pub enum AllowedHosts {
    /// `localhost` and loopback addresses, with any port. A page must come from exactly the host and port that it addresses.
    #[default]
    Loopback,
    /// Loopback, and the URL under which a proxy publishes the server. Pages of that URL's origin may use it.
    Public(PublicUrl),
    /// All, for a server that authenticates its callers.
    Any,
}

/// The URL under which a proxy publishes a server: `https://example.org/tools`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicUrl {
    scheme: String,
    /// The host, and the port unless it is the scheme's default.
    authority: String,
    prefix: String,
}

/// A text that is not such a URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicUrlError(String);

impl fmt::Display for PublicUrlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} is not a URL like https://example.org or https://example.org/tools", self.0)
    }
}

impl std::error::Error for PublicUrlError {}

impl PublicUrl {
    /// Parses a URL of scheme `http` or `https`, with an optional path.
    pub fn parse(text: &str) -> Result<Self, PublicUrlError> {
        let refuse = || PublicUrlError(text.to_owned());
        let uri: Uri = text.parse().map_err(|_| refuse())?;
        let scheme =
            uri.scheme_str().filter(|s| matches!(*s, "http" | "https")).ok_or_else(refuse)?;
        let authority = uri.authority().filter(|a| !a.as_str().contains('@')).ok_or_else(refuse)?;
        if uri.query().is_some() || text.contains('#') {
            return Err(refuse());
        }
        Ok(Self {
            scheme: scheme.to_owned(),
            authority: plain(scheme, authority.as_str()).to_ascii_lowercase(),
            prefix: uri.path().trim_end_matches('/').to_owned(),
        })
    }

    /// Returns the path in front of the server's own, without a trailing slash. Empty if there is none.
    #[must_use]
    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    fn is_host(&self, host: &str) -> bool {
        plain(&self.scheme, host).eq_ignore_ascii_case(&self.authority)
    }

    fn is_origin(&self, scheme: &str, host: &str) -> bool {
        scheme == self.scheme && self.is_host(host)
    }
}

impl fmt::Display for PublicUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}{}", self.scheme, self.authority, self.prefix)
    }
}

/// Removes the default port of a scheme from a host.
fn plain<'a>(scheme: &str, host: &'a str) -> &'a str {
    let implied = if scheme == "https" { ":443" } else { ":80" };
    host.strip_suffix(implied).unwrap_or(host)
}

impl AllowedHosts {
    /// Checks a request's `Host` and, if they are present, the host of its target and its `Origin`. Pages of `origins` may use the
    /// server, too. Returns why the request is refused.
    pub(super) fn check(&self, request: &Parts, origins: &[String]) -> Result<(), &'static str> {
        // A request line may also name a host, which overrides `Host` (RFC 9112, 3.2.2). Both must be valid.
        let named = request.uri.authority().map(http::uri::Authority::as_str);
        let hosts = [only(&request.headers, HOST)?, named];
        let mut hosts = hosts.into_iter().flatten();
        let (Some(host), other) = (hosts.next(), hosts.next()) else {
            return Err("the request names no Host");
        };
        let origin = only(&request.headers, ORIGIN)?;
        let public = match self {
            Self::Any => return Ok(()),
            Self::Loopback => None,
            Self::Public(url) => Some(url),
        };
        let is_ours = |host: &str| is_loopback(host) || public.is_some_and(|url| url.is_host(host));
        if !is_ours(host) || other.is_some_and(|other| !is_ours(other)) {
            return Err("this Host is not served here");
        }
        let origin = origin.filter(|origin| !origins.iter().any(|allowed| allowed == origin));
        match origin.map(|origin| origin.split_once("://")) {
            None => Ok(()),
            // A proxy may send a `Host` that differs from the one that the page addresses.
            Some(Some((scheme, from))) if public.is_some_and(|url| url.is_origin(scheme, from)) => {
                Ok(())
            }
            Some(Some(("http" | "https", from)))
                if from.eq_ignore_ascii_case(host)
                    && other.is_none_or(|other| from.eq_ignore_ascii_case(other)) =>
            {
                Ok(())
            }
            Some(_) => Err("this Origin may not use the server"),
        }
    }
}

/// Returns the value of a header that may occur once.
fn only(headers: &HeaderMap, name: http::HeaderName) -> Result<Option<&str>, &'static str> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (None, _) => Ok(None),
        (Some(value), None) => {
            value.to_str().map(Some).map_err(|_| "Host and Origin are plain text")
        }
        (Some(_), Some(_)) => Err("Host and Origin may be sent once"),
    }
}

/// Returns true if a host, with or without a port, is this machine.
fn is_loopback(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port))
            if port.bytes().all(|b| b.is_ascii_digit())
                && (name.starts_with('[') == name.ends_with(']')) =>
        {
            name
        }
        _ => host,
    };
    let address = name.strip_prefix('[').and_then(|n| n.strip_suffix(']')).unwrap_or(name);
    name.eq_ignore_ascii_case("localhost")
        || address.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::Request;

    fn passes(hosts: &AllowedHosts, headers: &[(&str, &str)]) -> bool {
        let mut request = Request::builder();
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        hosts.check(&request.body(()).unwrap().into_parts().0, &[]).is_ok()
    }

    #[test]
    fn only_loopback_hosts_are_accepted_by_default() {
        let hosts = AllowedHosts::Loopback;
        for host in [
            "localhost",
            "localhost:7332",
            "127.0.0.1:1",
            "127.9.9.9",
            "[::1]:80",
            "[::1]",
            "LOCALHOST",
        ] {
            assert!(passes(&hosts, &[("host", host)]), "{host}");
            assert!(
                passes(&hosts, &[("host", host), ("origin", &format!("http://{host}"))]),
                "{host}"
            );
        }
        for host in
            ["evil.example.com", "localhost.evil.com", "127.0.0.1.evil.com", "", "[::1", "10.0.0.1"]
        {
            assert!(!passes(&hosts, &[("host", host)]), "{host}");
        }
        assert!(!passes(&hosts, &[]));
    }

    #[test]
    fn origin_of_another_host_or_port_is_refused() {
        let hosts = AllowedHosts::Loopback;
        for origin in [
            "null",
            "http://localhost:9",
            "http://evil.com",
            "file://",
            "http://localhost",
            "ftp://localhost:7332",
        ] {
            assert!(!passes(&hosts, &[("host", "localhost:7332"), ("origin", origin)]), "{origin}");
        }
        assert!(!passes(
            &hosts,
            &[("host", "localhost"), ("origin", "http://localhost"), ("origin", "http://evil.com")]
        ));
        assert!(!passes(&hosts, &[("host", "localhost"), ("host", "localhost")]));
    }

    #[test]
    fn absolute_request_target_must_name_an_allowed_host() {
        let passes = |target: &str, headers: &[(&str, &str)]| {
            let request = Request::builder().uri(target);
            let request =
                headers.iter().fold(request, |all, (name, value)| all.header(*name, *value));
            AllowedHosts::Loopback.check(&request.body(()).unwrap().into_parts().0, &[]).is_ok()
        };
        let ours = ("host", "localhost:7332");
        assert!(passes("http://localhost:7332/mcp", &[ours]));
        assert!(passes("http://localhost:7332/mcp", &[]), "as in HTTP/2");
        assert!(!passes("http://evil.example.com/mcp", &[ours]));
        assert!(!passes("http://evil.example.com/mcp", &[]));
        assert!(!passes("http://localhost:7332/mcp", &[("host", "evil.example.com")]));
        assert!(!passes("http://localhost@evil.example.com/mcp", &[ours]));
        let page = ("origin", "http://localhost:7332");
        assert!(passes("http://localhost:7332/mcp", &[ours, page]));
        assert!(!passes("http://localhost:9/mcp", &[ours, page]), "a page of another port");
    }

    #[test]
    fn public_url_adds_only_its_host_and_origin() {
        let hosts =
            AllowedHosts::Public(PublicUrl::parse("https://mcp.example.org/tools/").unwrap());
        for good in [
            &[("host", "mcp.example.org")][..],
            &[("host", "MCP.example.org:443"), ("origin", "https://mcp.example.org")],
            &[("host", "127.0.0.1:7332"), ("origin", "https://mcp.example.org")],
            &[("host", "localhost:7332")],
        ] {
            assert!(passes(&hosts, good), "{good:?}");
        }
        for bad in [
            &[("host", "evil.org"), ("x-forwarded-host", "mcp.example.org")][..],
            &[("host", "mcp.example.org"), ("origin", "http://mcp.example.org.evil.org")],
            &[("host", "mcp.example.org"), ("origin", "https://localhost:1")],
            &[("host", "mcp.example.org:8443")],
            &[("host", "mcp.example.org"), ("origin", "null")],
        ] {
            assert!(!passes(&hosts, bad), "{bad:?}");
        }
    }

    #[test]
    fn malformed_public_url_is_refused() {
        let url = PublicUrl::parse("https://Example.org:443/a/b/").unwrap();
        assert_eq!((url.to_string().as_str(), url.prefix()), ("https://example.org/a/b", "/a/b"));
        for bad in [
            "example.org",
            "ftp://example.org",
            "https://",
            "https://u@example.org",
            "https://example.org/?q",
            "/x",
        ] {
            assert!(PublicUrl::parse(bad).is_err(), "{bad}");
        }
    }
}
