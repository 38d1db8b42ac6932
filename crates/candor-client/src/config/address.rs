//! Where a server is, according to its URL: on this machine, on its network, or public.

use std::net::IpAddr;

/// The last labels of host names on this machine or its network.
const HERE: [&str; 4] = ["localhost", "local", "internal", "lan"];

/// Returns true if the host of a URL is this machine.
#[must_use]
pub fn is_local(url: &str) -> bool {
    is_loopback(host(url))
}

/// Returns true if the host of a URL is a public name, and https proves it. Any other host may be on this machine or its network.
#[must_use]
pub fn is_public(url: &str) -> bool {
    let name = host(url).trim_end_matches('.');
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '.';
    let top = name.rsplit_once('.').map(|(_, top)| top.to_ascii_lowercase());
    url.starts_with("https://")
        && name.chars().all(plain)
        // Numbers are addresses in any notation: 127.1 is one.
        && top.is_some_and(|top| {
            top.starts_with(|c: char| c.is_ascii_alphabetic()) && !HERE.contains(&&*top)
        })
}

/// Returns the host of a URL, without its port.
#[must_use]
pub fn host(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    // The text before an @ is not the host: in localhost:1@evil.example, the host is evil.example.
    let authority = authority.rsplit('@').next().unwrap_or_default();
    match authority.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => host,
        _ => authority,
    }
}

/// Returns true if a host is this machine.
#[must_use]
pub fn is_loopback(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || address.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::{is_local, is_public};

    #[test]
    fn only_loopback_urls_are_local() {
        for url in
            ["http://127.0.0.1:1/mcp", "http://127.9.9.9", "http://[::1]:1", "http://localhost/x"]
        {
            assert!(is_local(url), "{url}");
        }
        for url in [
            "http://127.0.0.1.evil.example/",
            "http://10.0.0.1",
            "http://localhost.example",
            "http://[::2]",
            "http://localhost:1@evil.example/",
            "http://127.0.0.1@evil.example/",
        ] {
            assert!(!is_local(url), "{url}");
        }
    }

    #[test]
    fn only_https_urls_with_a_public_host_name_are_public() {
        for url in ["https://a.example/mcp", "https://A.Example.:8443", "https://xn--a.xn--p1ai/"] {
            assert!(is_public(url), "{url}");
        }
        for url in [
            "http://a.example/mcp",
            "https://localhost/",
            "https://localhost./",
            "https://a.localhost/",
            "https://printer.LOCAL/",
            "https://wiki/",
            "https://127.0.0.1/",
            "https://127.1/",
            "https://0x7f.0x1/",
            "https://2130706433/",
            "https://10.0.0.1:1/",
            "https://169.254.169.254/latest",
            "https://[::1]/",
            "https://[::ffff:10.0.0.1]/",
            "https://[fe80::1]/",
            "https://a.example@127.0.0.1/",
            "https://",
        ] {
            assert!(!is_public(url), "{url}");
        }
    }
}
