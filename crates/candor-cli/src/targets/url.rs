//! Parses words that look like an address. Any other word is a name.

use candor_client::config::{is_loopback, redact};

use crate::width::cut;

/// The path of the MCP endpoint on servers of this framework, and on most others.
const PATH: &str = "/mcp";

/// Returns the URL that a word means; `None` if it is not an address.
///
/// `http://host` is the server at `/mcp` there, `:7332` the one on this machine; any other path is kept as it is.
pub(super) fn read(word: &str) -> Result<Option<String>, String> {
    let Some((scheme, rest)) = split(word) else { return Ok(None) };
    let given = cut(&redact::url(word), 80);
    let refused = |why: &str| Err(format!("{given}: {why}"));
    if scheme != "http" && scheme != "https" {
        return refused(
            "only http:// and https:// are supported; to start a program, write -- PROGRAM ARGS…",
        );
    }
    if word.contains(|c: char| c.is_whitespace() || c.is_control()) {
        return refused("an address has no spaces");
    }
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    if authority.contains('@') {
        return refused(
            "a name and a password do not belong in an address. Use --bearer-file FILE or --header 'NAME: VALUE'",
        );
    }
    if let Some((before, _)) = path.split_once('#') {
        // Users paste the address of the console. Its fragment is a token, and its query may hold one: do not repeat them.
        let before = before.split('?').next().unwrap_or_default();
        let meant = if before.is_empty() || before == "/" { PATH } else { before };
        let page = cut(&format!("{scheme}://{authority}{before}"), 80);
        return Err(format!(
            "{page}#…: this is the address of a page. Its server is {scheme}://{authority}{meant}"
        ));
    }
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => (host, Some(port)),
        _ => (authority, None),
    };
    if host.is_empty() {
        return refused("it has no host");
    }
    if port.is_some_and(|port| !matches!(port.parse::<u16>(), Ok(1..)) || port.starts_with('+')) {
        return refused("a port is a number from 1 to 65535");
    }
    let path = if path.is_empty() || path.starts_with('?') {
        format!("{PATH}{path}")
    } else {
        path.to_owned()
    };
    Ok(Some(format!("{scheme}://{authority}{path}")))
}

/// Returns the scheme and what follows it. An address on this machine needs no scheme: `:7332`, `localhost:7332/mcp`.
fn split(word: &str) -> Option<(String, String)> {
    if let Some((scheme, rest)) = word.split_once("://") {
        return Some((scheme.to_ascii_lowercase(), rest.to_owned()));
    }
    let end = word.find(['/', '?', '#']).unwrap_or(word.len());
    let (host, port) = word[..end].rsplit_once(':')?;
    let local = match host {
        "" => "127.0.0.1",
        _ if is_loopback(host) => host,
        _ => return None,
    };
    Some(("http".to_owned(), format!("{local}:{port}{}", &word[end..])))
}

#[cfg(test)]
mod tests {
    use super::read;

    fn url(word: &str) -> String {
        read(word).unwrap().unwrap_or_else(|| panic!("{word} is an address"))
    }

    #[test]
    fn bare_origin_gets_the_mcp_path() {
        assert_eq!(url("http://127.0.0.1:7332"), "http://127.0.0.1:7332/mcp");
        assert_eq!(url("https://example.com"), "https://example.com/mcp");
        assert_eq!(url("http://[::1]:80?x=1"), "http://[::1]:80/mcp?x=1");
        assert_eq!(url("HTTP://[::1]"), "http://[::1]/mcp");
        for as_it_is in ["http://a/", "https://a.example/v1/mcp/", "http://a:1/x?y=z"] {
            assert_eq!(url(as_it_is), as_it_is);
        }
    }

    #[test]
    fn local_address_needs_no_scheme() {
        assert_eq!(url(":7332"), "http://127.0.0.1:7332/mcp");
        assert_eq!(url(":7332/other"), "http://127.0.0.1:7332/other");
        assert_eq!(url("localhost:7332"), "http://localhost:7332/mcp");
        assert_eq!(url("127.0.0.1:7332"), "http://127.0.0.1:7332/mcp");
        assert_eq!(url("[::1]:7332"), "http://[::1]:7332/mcp");
    }

    #[test]
    fn other_words_are_server_names() {
        for name in
            ["github", "my-server", "7332", "a.b", "", "name:tag", "example.com:80", "./server"]
        {
            assert_eq!(read(name), Ok(None), "{name}");
        }
    }

    #[test]
    fn invalid_address_is_refused_with_a_reason() {
        for (word, why) in [
            ("ftp://a", "only http://"),
            ("file:///etc", "only http://"),
            ("http://", "no host"),
            ("http:///mcp", "no host"),
            ("http://:80", "no host"),
            (":", "a port"),
            (":0", "a port"),
            (":65536", "a port"),
            ("localhost:+1", "a port"),
            ("http://a:b:c", "a port"),
            ("http://a b", "no spaces"),
            ("http://a/\u{1b}[2J", r"\u{1b}"),
            ("http://ann:secret@a", "do not belong"),
        ] {
            let problem = read(word).unwrap_err();
            assert!(problem.contains(why), "{word}: {problem}");
            assert!(!problem.contains("secret"), "{problem}");
        }
    }

    #[test]
    fn console_address_is_refused_with_the_server_address() {
        let problem = read("http://127.0.0.1:7332/#token=abc").unwrap_err();
        assert!(problem.contains("Its server is http://127.0.0.1:7332/mcp"), "{problem}");
        assert!(!problem.contains("abc"), "a token is not repeated: {problem}");
        let problem = read("http://127.0.0.1:7332/mcp?api_key=abc#x").unwrap_err();
        assert!(!problem.contains("abc"), "a query is not repeated: {problem}");
    }
}
