//! Host and Origin: only those who mean this server get in.
//!
//! A web page can make a browser send requests to a server on the same machine, under a name of its
//! own choosing (DNS rebinding). The name stands in `Host`, the page's address in `Origin`; both must
//! be ours.

use std::net::IpAddr;

use http::HeaderMap;
use http::header::{HOST, ORIGIN};
use http::request::Parts;

/// The names under which a server may be addressed.
#[derive(Debug, Clone, Default)]
pub enum AllowedHosts {
    /// `localhost` and loopback addresses, with any port.
    #[default]
    Loopback,
    /// These, as `name` (any port) or `name:port`. Pages may come from them too.
    Listed(Vec<String>),
    /// All: for a server behind something that checks for it.
    Any,
}

impl AllowedHosts {
    /// Checks a request's `Host` and, if there is one, its `Origin`: a page must come from the very host and port
    /// that it addresses.
    pub(super) fn check(&self, request: &Parts) -> Result<(), &'static str> {
        let host = match (only(&request.headers, HOST)?, request.uri.authority()) {
            (Some(host), _) => host,
            // HTTP/2 names the host in the request line.
            (None, Some(authority)) => authority.as_str(),
            (None, None) => return Err("the request names no Host"),
        };
        if !self.allows(host) {
            return Err("this Host is not served here");
        }
        match only(&request.headers, ORIGIN)? {
            None => Ok(()),
            Some(origin) => match origin.split_once("://") {
                Some(("http" | "https", from))
                    if from.eq_ignore_ascii_case(host) || self.lists(from) =>
                {
                    Ok(())
                }
                _ => Err("this Origin may not use the server"),
            },
        }
    }

    fn allows(&self, host: &str) -> bool {
        match self {
            Self::Any => true,
            Self::Loopback => is_loopback(name_of(host)),
            Self::Listed(_) => self.lists(host),
        }
    }

    fn lists(&self, host: &str) -> bool {
        match self {
            Self::Listed(hosts) => hosts
                .iter()
                .any(|h| h.eq_ignore_ascii_case(host) || h.eq_ignore_ascii_case(name_of(host))),
            Self::Any => true,
            Self::Loopback => false,
        }
    }
}

/// The value of a header that may be there once.
fn only(headers: &HeaderMap, name: http::HeaderName) -> Result<Option<&str>, &'static str> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (None, _) => Ok(None),
        (Some(value), None) => value
            .to_str()
            .map(Some)
            .map_err(|_| "Host and Origin are plain text"),
        (Some(_), Some(_)) => Err("Host and Origin may be sent once"),
    }
}

/// A host without its port.
fn name_of(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port))
            if port.bytes().all(|b| b.is_ascii_digit())
                && (name.starts_with('[') == name.ends_with(']')) =>
        {
            name
        }
        _ => host,
    }
}

fn is_loopback(name: &str) -> bool {
    let address = name
        .strip_prefix('[')
        .and_then(|n| n.strip_suffix(']'))
        .unwrap_or(name);
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
        hosts
            .check(&request.body(()).unwrap().into_parts().0)
            .is_ok()
    }

    #[test]
    fn by_default_only_this_machine_is_meant() {
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
                passes(
                    &hosts,
                    &[("host", host), ("origin", &format!("http://{host}"))]
                ),
                "{host}"
            );
        }
        for host in [
            "evil.example.com",
            "localhost.evil.com",
            "127.0.0.1.evil.com",
            "",
            "[::1",
            "10.0.0.1",
        ] {
            assert!(!passes(&hosts, &[("host", host)]), "{host}");
        }
        assert!(!passes(&hosts, &[]));
    }

    #[test]
    fn a_page_must_come_from_the_host_and_port_that_it_addresses() {
        let hosts = AllowedHosts::Loopback;
        for origin in [
            "null",
            "http://localhost:9",
            "http://evil.com",
            "file://",
            "http://localhost",
            "ftp://localhost:7332",
        ] {
            assert!(
                !passes(&hosts, &[("host", "localhost:7332"), ("origin", origin)]),
                "{origin}"
            );
        }
        assert!(!passes(
            &hosts,
            &[
                ("host", "localhost"),
                ("origin", "http://localhost"),
                ("origin", "http://evil.com")
            ]
        ));
        assert!(!passes(
            &hosts,
            &[("host", "localhost"), ("host", "localhost")]
        ));
    }

    #[test]
    fn listed_hosts_may_be_named_with_or_without_port() {
        let hosts = AllowedHosts::Listed(vec!["mcp.example.org".into(), "other:81".into()]);
        assert!(passes(
            &hosts,
            &[
                ("host", "mcp.example.org:443"),
                ("origin", "https://mcp.example.org")
            ]
        ));
        assert!(passes(&hosts, &[("host", "other:81")]));
        assert!(!passes(&hosts, &[("host", "other:82")]));
        assert!(!passes(&hosts, &[("host", "localhost")]));
    }
}
